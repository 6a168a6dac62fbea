#include "faces/cli/ranks.h"
#include "base/check.h"
#include "base/sort.h"
#include "codec/csv_writer.h"
#include "diff/job.h"
#include "faces/cli/words.h"
#include "faces/terminal/statusline.h"
#include "os/folder.h"

enum { ROWS = 20, OWNERS = 5, ODD_SHOWN = 3 };

/* ---- which files */

typedef struct file_list {
  const vs_cli *cli;
  vs_text names; /* each ends in 0 */
  VS_VEC(size_t) starts;
  const char *folder; /* being listed */
} file_list;

static vs_status add_file(file_list *files, const char *folder, const char *name) {
  VS_TRY(vs_vec_reserve(files->cli->host, &files->starts, 1));
  files->starts.data[files->starts.count++] = files->names.bytes.count;
  if (folder != NULL)
    vs_text_format(&files->names, "%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/");
  vs_text_cstr(&files->names, name);
  vs_text_byte(&files->names, 0);
  return files->names.status;
}

static const char *name_at(const file_list *files, size_t i) {
  return files->names.bytes.data + files->starts.data[i];
}

static bool ends_in(vs_str text, const char *end) {
  const vs_str with = vs_str_from(end);
  return text.size >= with.size && memcmp(text.data + text.size - with.size, with.data, with.size) == 0;
}

/* Snapshots and recordings, by their names; other files of a folder are not looked at. */
static bool is_snapshot(const char *name) {
  static const char *const ends[] = {".pickle", ".pkl", ".vram", ".pickle.gz", ".pkl.gz", ".vram.gz"};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
    if (ends_in(vs_str_from(name), ends[i])) return true;
  return false;
}

static vs_status take_entry(void *ctx, const char *name, vs_folder_kind kind) {
  file_list *files = ctx;
  if (kind == VS_FOLDER_FOLDER || name[0] == '.' || !is_snapshot(name)) return VS_OK;
  return add_file(files, files->folder, name);
}

/* Numbers in names are compared as numbers: rank2 is before rank10. */
static int compare_names(const char *a, const char *b) {
  while (*a != 0 && *b != 0) {
    const bool are_digits = *a >= '0' && *a <= '9' && *b >= '0' && *b <= '9';
    if (!are_digits) {
      if (*a != *b) return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
      a++, b++;
      continue;
    }
    while (*a == '0' && a[1] >= '0' && a[1] <= '9') a++;
    while (*b == '0' && b[1] >= '0' && b[1] <= '9') b++;
    size_t x = 0, y = 0;
    while (a[x] >= '0' && a[x] <= '9') x++;
    while (b[y] >= '0' && b[y] <= '9') y++;
    if (x != y) return x < y ? -1 : 1;
    const int order = memcmp(a, b, x);
    if (order != 0) return order;
    a += x, b += y;
  }
  return *a == *b ? 0 : *a == 0 ? -1 : 1;
}

static bool name_before(const void *ctx, uint32_t a, uint32_t b) {
  const file_list *files = ctx;
  return compare_names(name_at(files, a), name_at(files, b)) < 0;
}

static vs_status stop(void *ctx, const char *name, vs_folder_kind kind) {
  (void)ctx, (void)name, (void)kind;
  return VS_CANCELLED;
}

static bool is_folder(const char *path) {
  const vs_status status = vs_folder_each(path, NULL, stop);
  return status == VS_OK || status == VS_CANCELLED;
}

bool vs_cli_are_ranks(const vs_cli *cli) {
  return cli->line->argument_count > 1 ||
         (cli->line->argument_count == 1 && is_folder(cli->line->arguments[0]));
}

static vs_exit refuse(const char *subject, const char *sentence) {
  vs_error error;
  vs_fail(&error, VS_IO, VS_NO_OFFSET, "%s", sentence);
  return vs_print_error(vs_str_from(subject), &error);
}

/* Files in the order of the command line, those of a folder in the order of their names. */
static vs_exit list_files(file_list *files) {
  for (size_t i = 0; i < files->cli->line->argument_count; i++) {
    const char *path = files->cli->line->arguments[i];
    if (!is_folder(path)) {
      if (add_file(files, NULL, path) != VS_OK) return VS_EXIT_NO_MEMORY;
      continue;
    }
    const size_t before = files->starts.count;
    files->folder = path;
    if (vs_folder_each(path, files, take_entry) != VS_OK) return refuse(path, "the folder cannot be read");
    if (files->starts.count == before)
      return refuse(
          path,
          "the folder has no snapshots (.pickle, .pkl, .vram, or with .gz); folders in it are not searched");
  }
  return VS_EXIT_OK;
}

static vs_status sort_files(const file_list *files, uint32_t *order) {
  for (size_t i = 0; i < files->starts.count; i++) order[i] = (uint32_t)i;
  return files->cli->line->argument_count > 1
             ? VS_OK
             : vs_sort_rows(files->cli->host, order, files->starts.count, name_before, files);
}

/* ---- reading them */

typedef struct reading {
  vs_cli *cli;
  file_list files;
  VS_VEC(uint32_t) order;
  vs_statusline line;
  vs_job job;
  bool has_failed;
} reading;

static void show(reading *r, size_t number, const char *name) {
  char text[300];
  vs_format(text, sizeof text, "file %U of %U: %s", (uint64_t)number + 1, (uint64_t)r->files.starts.count,
            name);
  vs_statusline_draw(&r->line, vs_str_from(text));
}

/* The reply to a method about one device. */
static vs_status ask(reading *r, vs_engine *engine, const char *method, const char *more, vs_json_doc *reply,
                     vs_error *error) {
  const char *device = r->cli->line->values[VS_OPTION_DEVICE];
  const bool is_host = device != NULL && vs_str_equal(vs_str_from(device), VS_STR("host"));
  char params[80];
  vs_buffer bytes = {0};
  vs_format(params, sizeof params, is_host ? "{%s\"device\": \"%s\"}" : "{%s\"device\": %s}", more,
            device == NULL ? "null" : device);
  vs_status status = vs_engine_ask(engine, method, params, &bytes, error);
  if (status == VS_OK)
    status = vs_json_doc_init(reply, r->cli->host, (vs_str){bytes.data, bytes.size}, error);
  vs_buffer_deinit(&bytes);
  return status;
}

static vs_status add_engine(reading *r, vs_engine *engine, const char *name, vs_error *error) {
  vs_json_doc inventory, report;
  VS_TRY(ask(r, engine, "inventory", "", &inventory, error));
  vs_status status = ask(r, engine, "report", "\"top\": 1, ", &report, error);
  if (status == VS_OK) {
    status = vs_job_add(&r->job, vs_str_from(name), vs_json_root(&inventory), vs_json_root(&report));
    vs_json_doc_deinit(&report);
  }
  vs_json_doc_deinit(&inventory);
  return status;
}

static vs_status read_file(reading *r, const char *name, vs_error *error) {
  const vs_intake intake = {.name = vs_str_from(name)};
  vs_engine *engine = NULL;
  VS_TRY(vs_intake_open(r->cli->host, &intake, name, &engine, error));
  const vs_status status = add_engine(r, engine, name, error);
  vs_engine_destroy(engine);
  return status;
}

/* A file that cannot be read is a row that says why, and the others are read. */
static vs_status add_rank(reading *r, size_t number) {
  const char *name = name_at(&r->files, r->order.data[number]);
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  show(r, number, name);
  const vs_status status = read_file(r, name, &error);
  if (status == VS_OK || status == VS_NO_MEMORY) return status;
  r->has_failed = true;
  return vs_job_add_failed(&r->job, vs_str_from(name),
                           vs_str_from(error.status == VS_OK ? vs_status_text(status) : error.text));
}

static vs_status read_all(reading *r) {
  vs_status status = vs_vec_reserve(r->cli->host, &r->order, r->files.starts.count);
  if (status == VS_OK) status = sort_files(&r->files, r->order.data);
  vs_statusline_begin(&r->line, !vs_cli_has(r->cli, VS_OPTION_QUIET));
  for (size_t i = 0; i < r->files.starts.count && status == VS_OK; i++) status = add_rank(r, i);
  vs_statusline_end(&r->line);
  return status;
}

/* ---- the table */

static void put_change(const vs_screen *screen, vs_text *cell, int64_t bytes) {
  if (bytes == 0) vs_text_byte(cell, '=');
  else vs_text_bytes_change(cell, bytes, screen->unit);
}

static void put_file(const reading *r, vs_table *table, vs_json file, bool is_odd) {
  const vs_screen *screen = &r->cli->screen;
  static const char *const keys[] = {"peak_allocated_bytes", "peak_reserved_bytes", "growth_bytes_per_step"};
  vs_screen_safe(vs_table_cell(table), vs_reply_str(file, "name"));
  if (vs_reply_knows(file, "error")) {
    for (size_t i = 0; i < 5; i++) vs_text_byte(vs_table_cell(table), '-');
    vs_text_cstr(vs_table_cell(table), "not read");
    return;
  }
  for (size_t i = 0; i < 3; i++) vs_words_bytes(screen, vs_table_cell(table), vs_reply_at(file, keys[i]));
  vs_text_u64(vs_table_cell(table), vs_reply_u64(file, "ooms"));
  put_change(screen, vs_table_cell(table), vs_reply_i64(file, "delta_bytes"));
  vs_text_cstr(vs_table_cell(table), is_odd ? "differs" : "");
}

static bool is_odd(vs_json file) { return vs_reply_u64(file, "differing_bytes") != 0; }

/* The odd ranks, then those that were not read, then the others, each in their order. */
static void put_table(const reading *r, vs_json reply) {
  static const vs_column columns[] = {{"file", VS_COLUMN_LEFT},      {"allocated", VS_COLUMN_RIGHT},
                                      {"reserved", VS_COLUMN_RIGHT}, {"growth\na step", VS_COLUMN_RIGHT},
                                      {"ooms", VS_COLUMN_RIGHT},     {"against\nthe median", VS_COLUMN_RIGHT},
                                      {"", VS_COLUMN_LEFT}};
  const vs_json files = vs_reply_at(reply, "files"), odd = vs_reply_at(reply, "odd");
  const size_t count = vs_json_count(files);
  const uint64_t top = vs_words_top(r->cli, ROWS);
  uint64_t shown = 0;
  vs_table table;
  vs_text_byte(&r->cli->screen.text, '\n');
  vs_table_begin(&table, &r->cli->screen, 2, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < vs_json_count(odd) && shown < top; i++, shown++)
    put_file(r, &table, vs_json_at(files, (size_t)vs_json_u64(vs_json_at(odd, i), 0)), true);
  for (unsigned failed = 2; failed-- > 0;)
    for (size_t i = 0; i < count && shown < top; i++) {
      const vs_json file = vs_json_at(files, i);
      if (is_odd(file) || vs_reply_knows(file, "error") != (failed == 1)) continue;
      put_file(r, &table, file, false);
      shown++;
    }
  vs_table_put(&table);
  if (count > shown)
    vs_text_format(&r->cli->screen.text, "  and %U more: see them with --top 0\n", (uint64_t)count - shown);
}

/* Why a rank is odd: the owners in which it differs from the median one. */
static void put_owners(const reading *r, vs_json file, uint64_t others) {
  static const vs_column columns[] = {{"change", VS_COLUMN_RIGHT},
                                      {"median rank", VS_COLUMN_RIGHT},
                                      {"this rank", VS_COLUMN_RIGHT},
                                      {"", VS_COLUMN_NAME}};
  const vs_json rows = vs_reply_at(file, "rows");
  vs_screen *screen = &r->cli->screen;
  vs_text title;
  vs_table table;
  vs_scratch_init(&title, screen);
  vs_text_byte(&title, '\n');
  vs_screen_safe(&title, vs_reply_str(file, "name"));
  if (others != 0) vs_text_format(&title, " and %U more", others);
  vs_text_format(&title, ": how %s from the median rank's\n",
                 others == 0 ? "its peak differs" : "their peaks differ");
  vs_screen_styled(screen, VS_STYLE_TITLE, vs_text_view(&title));
  vs_text_deinit(&title);
  vs_table_begin(&table, screen, 2, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    put_change(screen, vs_table_cell(&table), vs_reply_i64(row, "delta_bytes"));
    vs_words_part(screen, vs_table_cell(&table), vs_reply_at(row, "before"));
    vs_words_part(screen, vs_table_cell(&table), vs_reply_at(row, "after"));
    vs_screen_safe(vs_table_cell(&table), vs_reply_str(row, "owner"));
  }
  vs_table_put(&table);
}

/* How many more of the odd ranks have the same inventory. */
static uint64_t others_like(vs_json files, vs_json odd, uint64_t number) {
  uint64_t count = 0;
  for (size_t i = 0; i < vs_json_count(odd); i++)
    count += vs_reply_u64(vs_json_at(files, (size_t)vs_json_u64(vs_json_at(odd, i), 0)), "same_as") == number;
  return count - 1;
}

static void put_failures(const reading *r, vs_json files) {
  for (size_t i = 0; i < vs_json_count(files); i++) {
    const vs_json file = vs_json_at(files, i);
    if (!vs_reply_knows(file, "error")) continue;
    vs_text_cstr(&r->cli->screen.text, "  ");
    vs_screen_safe(&r->cli->screen.text, vs_reply_str(file, "name"));
    vs_text_cstr(&r->cli->screen.text, ": ");
    vs_screen_safe(&r->cli->screen.text, vs_reply_str(file, "error"));
    vs_text_byte(&r->cli->screen.text, '\n');
  }
}

static void put_text(const reading *r, vs_json reply) {
  const vs_json files = vs_reply_at(reply, "files"), odd = vs_reply_at(reply, "odd");
  vs_words_lines(&r->cli->screen, vs_reply_at(reply, "lines"));
  for (size_t i = 0, shown = 0; i < vs_json_count(odd) && shown < ODD_SHOWN; i++) {
    const uint64_t number = vs_json_u64(vs_json_at(odd, i), 0);
    const vs_json file = vs_json_at(files, (size_t)number);
    if (vs_reply_u64(file, "same_as") != number) continue;
    put_owners(r, file, others_like(files, odd, number));
    shown++;
  }
  put_table(r, reply);
  put_failures(r, files);
}

/* ---- CSV */

static void put_csv(const reading *r, vs_json reply) {
  static const char *const keys[] = {
      "peak_allocated_bytes", "peak_requested_bytes", "peak_reserved_bytes", "growth_bytes_per_step", "ooms",
      "delta_bytes",          "differing_bytes"};
  enum { KEYS = sizeof keys / sizeof *keys };
  const vs_json files = vs_reply_at(reply, "files");
  vs_csv csv;
  vs_csv_begin(&csv, &r->cli->screen.text);
  vs_csv_str(&csv, VS_STR("file"));
  for (size_t i = 0; i < KEYS; i++) vs_csv_str(&csv, vs_str_from(keys[i]));
  vs_csv_str(&csv, VS_STR("error"));
  vs_csv_row_end(&csv);
  for (size_t i = 0; i < vs_json_count(files); i++) {
    const vs_json file = vs_json_at(files, i);
    vs_csv_str(&csv, vs_reply_str(file, "name"));
    for (size_t k = 0; k < KEYS; k++) {
      if (vs_reply_knows(file, keys[k])) vs_csv_i64(&csv, vs_reply_i64(file, keys[k]));
      else vs_csv_unknown(&csv);
    }
    if (vs_reply_knows(file, "error")) vs_csv_str(&csv, vs_reply_str(file, "error"));
    else vs_csv_unknown(&csv);
    vs_csv_row_end(&csv);
  }
}

/* ---- the command */

static vs_exit put_reply(const reading *r, const vs_text *reply) {
  vs_json_doc document;
  vs_error error;
  if (vs_cli_has(r->cli, VS_OPTION_JSON)) {
    vs_text_str(&r->cli->screen.text, vs_text_view(reply));
    vs_text_byte(&r->cli->screen.text, '\n');
    return VS_EXIT_OK;
  }
  if (vs_json_doc_init(&document, r->cli->host, vs_text_view(reply), &error) != VS_OK)
    return vs_print_error(VS_STR(""), &error);
  if (vs_cli_has(r->cli, VS_OPTION_CSV)) put_csv(r, vs_json_root(&document));
  else put_text(r, vs_json_root(&document));
  vs_json_doc_deinit(&document);
  return VS_EXIT_OK;
}

static vs_exit answer(reading *r) {
  vs_text reply;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_job_options options = {.top = vs_cli_has(r->cli, VS_OPTION_JSON) ? 0 : OWNERS,
                                  .unit = r->cli->screen.unit};
  vs_text_init(&reply, r->cli->host, NULL);
  vs_status status = read_all(r);
  if (status == VS_OK) status = vs_job_put(&r->job, options, &reply, &error);
  vs_exit code = VS_EXIT_OK;
  if (status == VS_OK) {
    code = put_reply(r, &reply);
  } else {
    if (error.status == VS_OK) vs_fail(&error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
    code = vs_print_error(VS_STR(""), &error);
  }
  vs_text_deinit(&reply);
  if (r->has_failed) r->cli->program_exit = VS_EXIT_FILE; /* the answer about the others is shown */
  return code;
}

vs_exit vs_cli_ranks(vs_cli *cli) {
  reading r = {.cli = cli, .files = {.cli = cli}};
  vs_text_init(&r.files.names, cli->host, NULL);
  vs_exit code = list_files(&r.files);
  if (code == VS_EXIT_OK) {
    code = vs_job_init(&r.job, cli->host) == VS_OK ? VS_EXIT_OK : VS_EXIT_NO_MEMORY;
    if (code == VS_EXIT_OK) {
      code = answer(&r);
      vs_job_deinit(&r.job);
    }
  }
  vs_vec_free(cli->host, &r.order);
  vs_vec_free(cli->host, &r.files.starts);
  vs_text_deinit(&r.files.names);
  return code;
}
