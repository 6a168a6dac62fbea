#include "ranks/reading.h"
#include "base/check.h"
#include "codec/json_reply.h"
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
  const vs_rank_face *face;
  const vs_rank_reader *reader;
  opener openers[MOST_OPENERS];
  size_t count;
  _Atomic bool is_over;
  vs_wakeup opened;
};

/* ---- opening */

static vs_status open_and_ask(opener *o, size_t number) {
  const rank_reading *r = o->reading;
  const char *name = vs_rank_files_at(r->files, number);
  VS_TRY(r->face->open(r->face->ctx, name, &o->engine, &o->error));
  VS_TRY(vs_engine_need_pytorch(r->files->host, o->engine, &o->error));
  o->was_asked = true;
  return r->reader->ask(r->reader->ctx, number, name, o->engine, &o->replies, &o->error);
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

static vs_status wait_for(const rank_reading *r, size_t number) {
  const size_t count = vs_rank_files_count(r->files);
  return r->face->wait(r->face->ctx, number, count, vs_rank_files_at(r->files, number));
}

static vs_status take_next(rank_reading *r, size_t number) {
  opener *o = &r->openers[number % r->count];
  VS_TRY(wait_for(r, number));
  if (!o->thread.is_running) read_file(o, number);
  while (o->thread.is_running && !atomic_load(&o->is_open)) {
    vs_wakeup_wait(&r->opened, WAIT_NS);
    VS_TRY(wait_for(r, number));
  }
  const vs_status status = take(o, number);
  atomic_store(&o->is_open, false);
  vs_wakeup_send(&o->taken);
  return status;
}

vs_status vs_rank_files_read(const vs_rank_files *files, const vs_rank_face *face,
                             const vs_rank_reader *reader) {
  const size_t count = vs_rank_files_count(files);
  rank_reading *r = vs_host_alloc(files->host, sizeof *r); /* large for a stack */
  if (r == NULL) return VS_NO_MEMORY;
  memset(r, 0, sizeof *r);
  r->files = files;
  r->face = face;
  r->reader = reader;
  start(r);
  vs_status status = VS_OK;
  for (size_t i = 0; i < count && status == VS_OK; i++) status = take_next(r, i);
  end(r);
  vs_host_free(files->host, r, sizeof *r);
  return status;
}

/* ---- asking */

vs_status vs_rank_ask(const vs_host *host, const char *device, vs_engine *engine, const char *method,
                      const char *more, vs_rank_replies *replies, vs_error *error) {
  const bool is_host = device != NULL && vs_str_equal(vs_str_from(device), VS_STR("host"));
  char params[80];
  vs_buffer bytes = {0};
  VS_ASSERT(replies->count < VS_RANK_MOST_REPLIES);
  vs_format(params, sizeof params, is_host ? "{%s\"device\": \"%s\"}" : "{%s\"device\": %s}", more,
            device == NULL ? "null" : device);
  vs_status status = vs_engine_ask(engine, method, params, &bytes, error);
  if (status == VS_OK)
    status = vs_json_doc_init(&replies->of[replies->count], host, (vs_str){bytes.data, bytes.size}, error);
  if (status == VS_OK) replies->count++;
  vs_buffer_deinit(&bytes);
  return status;
}

static vs_status read_libraries(const vs_host *host, vs_engine *engine, vs_json_doc *reply, vs_error *error) {
  vs_buffer bytes = {.host = host};
  vs_status status = vs_engine_ask(engine, "libraries", NULL, &bytes, error);
  if (status == VS_OK) status = vs_json_doc_init(reply, host, (vs_str){bytes.data, bytes.size}, error);
  vs_buffer_deinit(&bytes);
  return status;
}

vs_status vs_engine_need_pytorch(const vs_host *host, vs_engine *engine, vs_error *error) {
  vs_json_doc reply;
  VS_TRY(read_libraries(host, engine, &reply, error));
  const vs_json root = vs_json_root(&reply);
  const bool is_alone =
      !vs_reply_bool(root, "has_pytorch") && vs_json_count(vs_reply_at(root, "devices")) != 0;
  vs_json_doc_deinit(&reply);
  return is_alone ? vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET,
                            "PyTorch's CUDA allocator was not used: the recording has what libraries took "
                            "from the CUDA driver (vramscope report, vramscope where)")
                  : VS_OK;
}
