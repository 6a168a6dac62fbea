/* Reading the files of ranks: some threads open and ask them, and the caller's thread takes the replies, in the order of the files. */
#include "faces/cli/rank_files.h"
#include "faces/terminal/statusline.h"
#include "os/thread.h"

/* More would only hold more files in memory. */
enum { MOST_OPENERS = 8, WAIT_NS = 1000 * 1000 * 1000 };

typedef struct rank_reading rank_reading;

/* Opens and asks the files number, number + count, ... of a reading with `count` openers, one at a time.
 * Invariant: what it has of a file belongs to the opener while is_open is false, else to the thread that takes. */
typedef struct opener {
  rank_reading *reading;
  size_t number;
  vs_engine *engine;
  vs_rank_replies replies;
  bool was_asked;
  vs_error error;
  vs_status status;
  _Atomic bool is_open;
  vs_wakeup taken;
  vs_thread thread;
} opener;

struct rank_reading {
  const vs_rank_files *files;
  const vs_rank_reader *reader;
  opener openers[MOST_OPENERS];
  size_t count;
  _Atomic bool is_over;
  vs_wakeup opened;
};

/* ---- opening */

static vs_status open_and_ask(opener *o, size_t number) {
  const vs_rank_files *files = o->reading->files;
  const vs_rank_reader *reader = o->reading->reader;
  const char *name = vs_rank_files_at(files, number);
  const vs_intake intake = {.name = vs_str_from(name)};
  VS_TRY(vs_intake_open(files->cli->host, &intake, name, &o->engine, &o->error));
  VS_TRY(vs_engine_need_pytorch(files->cli->host, o->engine, &o->error));
  o->was_asked = true;
  return reader->ask(reader->ctx, number, name, o->engine, &o->replies, &o->error);
}

static void read_file(opener *o, size_t number) {
  o->error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  o->was_asked = false;
  o->status = open_and_ask(o, number);
}

static void forget_file(opener *o) {
  while (o->replies.count > 0) vs_json_doc_deinit(&o->replies.of[--o->replies.count]);
  vs_engine_destroy(o->engine);
  o->engine = NULL;
}

static void read_files(void *ctx) {
  opener *o = ctx;
  rank_reading *r = o->reading;
  for (size_t i = o->number; i < vs_rank_files_count(r->files); i += r->count) {
    while (atomic_load(&o->is_open) && !atomic_load(&r->is_over)) vs_wakeup_wait(&o->taken, WAIT_NS);
    if (atomic_load(&r->is_over)) return;
    read_file(o, i);
    atomic_store(&o->is_open, true);
    vs_wakeup_send(&r->opened);
  }
}

/* One thread for each processor. Without threads the files are opened when they are taken. */
static void start(rank_reading *r) {
  const size_t files = vs_rank_files_count(r->files), processors = vs_thread_processors();
  size_t wanted = processors < MOST_OPENERS ? processors : MOST_OPENERS;
  if (wanted > files) wanted = files;
  r->count = wanted;
  for (size_t i = 0; i < wanted; i++) {
    r->openers[i].reading = r;
    r->openers[i].number = i;
  }
  for (size_t i = 0; i < wanted; i++) {
    opener *o = &r->openers[i];
    if (files > 1 && vs_thread_start(&o->thread, "vs-open", read_files, o) != VS_OK) return;
  }
}

static void end(rank_reading *r) {
  atomic_store(&r->is_over, true);
  for (size_t i = 0; i < r->count; i++) {
    opener *o = &r->openers[i];
    vs_wakeup_send(&o->taken);
    vs_thread_join(&o->thread);
    forget_file(o);
  }
}

/* ---- taking */

/* A file that cannot be read is a row that says why, and the others are read. */
static vs_status take(opener *o, size_t number) {
  const vs_rank_reader *reader = o->reading->reader;
  const char *name = vs_rank_files_at(o->reading->files, number);
  vs_status status = o->status;
  if (status == VS_OK) status = reader->take(reader->ctx, number, name, &o->replies, &o->engine, &o->error);
  forget_file(o);
  if (status == VS_OK || status == VS_NO_MEMORY) return status;
  return reader->fail(reader->ctx, number, name, o->was_asked,
                      o->error.status == VS_OK ? vs_status_text(status) : o->error.text);
}

static vs_status take_next(rank_reading *r, size_t number) {
  opener *o = &r->openers[number % r->count];
  if (!o->thread.is_running) read_file(o, number);
  else
    while (!atomic_load(&o->is_open)) vs_wakeup_wait(&r->opened, WAIT_NS);
  const vs_status status = take(o, number);
  atomic_store(&o->is_open, false);
  vs_wakeup_send(&o->taken);
  return status;
}

static vs_status take_all(rank_reading *r) {
  const size_t count = vs_rank_files_count(r->files);
  vs_statusline line;
  vs_status status = VS_OK;
  vs_statusline_begin(&line, !vs_cli_has(r->files->cli, VS_OPTION_QUIET));
  for (size_t i = 0; i < count && status == VS_OK; i++) {
    char text[300];
    vs_format(text, sizeof text, "file %U of %U: %s", (uint64_t)i + 1, (uint64_t)count,
              vs_rank_files_at(r->files, i));
    vs_statusline_draw(&line, vs_str_from(text));
    status = take_next(r, i);
  }
  vs_statusline_end(&line);
  return status;
}

vs_status vs_rank_files_read(const vs_rank_files *files, const vs_rank_reader *reader) {
  rank_reading *r = vs_host_alloc(files->cli->host, sizeof *r); /* large for a stack */
  if (r == NULL) return VS_NO_MEMORY;
  memset(r, 0, sizeof *r);
  r->files = files;
  r->reader = reader;
  start(r);
  const vs_status status = take_all(r);
  end(r);
  vs_host_free(files->cli->host, r, sizeof *r);
  return status;
}
