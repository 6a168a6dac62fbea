#include "dryrun/changed.h"
#include "base/interned_strings.h"
#include "codec/json_reply.h"
#include "os/infile.h"

/* ---- the file of the user */

static vs_status take_list(vs_changed *changed, const vs_changes *changes, const vs_host *host,
                           vs_error *error) {
  vs_text text;
  vs_text_init(&text, host, NULL);
  vs_changes_put(&text, changes);
  vs_status status = text.status;
  if (status == VS_OK && text.bytes.count >= sizeof changed->text)
    status = vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                     "too large: the list of changes has at most %d bytes", (int)VS_CHANGES_LONGEST);
  if (status == VS_OK) vs_format(changed->text, sizeof changed->text, "%S", vs_text_view(&text));
  vs_text_deinit(&text);
  return status;
}

static bool is_text(const char *with) { return with[0] == '{'; }

static vs_status read_list(vs_changed *changed, const vs_host *host, const char *with, vs_text *text,
                           vs_error *error) {
  vs_changes changes;
  if (is_text(with)) vs_text_cstr(text, with);
  else VS_TRY(vs_infile_text(with, VS_CHANGES_LONGEST + 1, text, error));
  VS_TRY(text->status);
  VS_TRY(vs_changes_read(&changes, host, vs_text_view(text), error));
  const vs_status status = take_list(changed, &changes, host, error);
  vs_changes_deinit(&changes);
  return status;
}

vs_status vs_changed_read(vs_changed *changed, const vs_host *host, const char *with, vs_error *error) {
  vs_text text;
  changed->text[0] = changed->list[0] = 0;
  if (with == NULL) return VS_OK;
  vs_text_init(&text, host, NULL);
  const vs_status status = read_list(changed, host, with, &text, error);
  vs_text_deinit(&text);
  if (status == VS_OK || status == VS_NO_MEMORY) return status;
  const vs_error cause = *error;
  return vs_fail(error, status, cause.offset, "%s: %s", is_text(with) ? "--with" : with, cause.text);
}

/* ---- for the processes */

void vs_changed_begin(vs_changed *changed, const char *folder) {
  vs_format(changed->list, sizeof changed->list, "%s/changes.jsonl", folder);
}

size_t vs_changed_variables(const vs_changed *changed, vs_child_variable variables[VS_CHANGED_VARIABLES]) {
  if (changed->text[0] == 0) return 0;
  variables[0] = (vs_child_variable){.name = "VRAMSCOPE_CHANGES", .value = changed->text};
  variables[1] = (vs_child_variable){.name = "VRAMSCOPE_CHANGES_LIST", .value = changed->list};
  return VS_CHANGED_VARIABLES;
}

/* ---- what became of them */

typedef struct outcome {
  uint64_t change;
  bool is_applied;
  uint32_t text;
  uint64_t processes;
} outcome;

typedef struct outcome_list {
  const vs_host *host;
  vs_strings strings;
  VS_VEC(outcome) rows; /* no two with the same change, word and text */
  bool is_loaded;       /* a process said that it loaded the hook */
  vs_error unread;      /* why lines are missing; VS_OK: all are there */
} outcome_list;

/* Every line has the process, whose hook wrote it. */
static bool says_loaded(vs_json line) { return vs_json_kind(vs_reply_at(line, "pid")) != VS_JSON_ABSENT; }

static vs_status take_line(void *ctx, vs_json line) {
  outcome_list *list = ctx;
  outcome one = {.change = vs_json_u64(vs_reply_at(line, "change"), UINT64_MAX),
                 .is_applied = vs_reply_bool(line, "applied"),
                 .processes = 1};
  list->is_loaded |= says_loaded(line);
  if (vs_json_kind(vs_reply_at(line, "text")) != VS_VALUE_STRING) return VS_OK;
  VS_TRY(vs_strings_intern(list->host, &list->strings, vs_reply_str(line, "text"), &one.text));
  for (size_t i = 0; i < list->rows.count; i++) {
    outcome *row = &list->rows.data[i];
    if (row->change != one.change || row->is_applied != one.is_applied || row->text != one.text) continue;
    row->processes++;
    return VS_OK;
  }
  VS_TRY(vs_vec_reserve(list->host, &list->rows, 1));
  list->rows.data[list->rows.count++] = one;
  return VS_OK;
}

/* Passes the lines of a text on. */
static vs_status each_line(const vs_host *host, vs_str text, void *ctx,
                           vs_status (*take)(void *ctx, vs_json line)) {
  for (size_t at = 0, end; at < text.size; at = end + 1) {
    for (end = at; end < text.size && text.data[end] != '\n';) end++;
    vs_json_doc line;
    vs_error ignored;
    vs_status status = vs_json_doc_init(&line, host, (vs_str){text.data + at, end - at}, &ignored);
    if (status == VS_NO_MEMORY) return status;
    if (status != VS_OK) continue; /* the process was killed while it wrote it */
    status = take(ctx, vs_json_root(&line));
    vs_json_doc_deinit(&line);
    VS_TRY(status);
  }
  return VS_OK;
}

/* Those of the file. Without it no process wrote a line. *unread: why lines are missing; VS_OK: all are there. */
static vs_status each_line_of(const vs_host *host, const char *path, void *ctx,
                              vs_status (*take)(void *ctx, vs_json line), vs_error *unread) {
  enum { FILE_MOST = 16 << 20 };
  vs_text text;
  *unread = (vs_error){.status = VS_OK};
  vs_text_init(&text, host, NULL);
  vs_status status = vs_infile_text(path, FILE_MOST, &text, unread);
  if (status == VS_OK && text.bytes.count == FILE_MOST)
    (void)vs_fail(unread, VS_LIMIT, VS_NO_OFFSET, "the processes wrote 16 MiB or more");
  if (status == VS_NOT_FOUND) *unread = (vs_error){.status = VS_OK};
  status = text.status == VS_OK ? each_line(host, vs_text_view(&text), ctx, take) : text.status;
  vs_text_deinit(&text);
  return status;
}

/* ---- as figures */

typedef struct adding {
  vs_changed_sum *sum;
  uint64_t pid; /* the process whose blocks are counted: that of the first line with some */
} adding;

static vs_status add_line(void *ctx, vs_json line) {
  adding *a = ctx;
  const uint64_t change = vs_json_u64(vs_reply_at(line, "change"), UINT64_MAX);
  const uint64_t blocks = vs_reply_u64(line, "blocks"), pid = vs_reply_u64(line, "pid");
  a->sum->is_loaded |= says_loaded(line);
  if (change < VS_CHANGE_COUNT && vs_reply_bool(line, "applied")) a->sum->applied |= 1u << change;
  if (a->pid == 0 && blocks != 0) a->pid = pid;
  if (a->pid == pid) a->sum->blocks = vs_sat_add_u64(a->sum->blocks, blocks);
  a->sum->copied_bytes = vs_sat_add_u64(a->sum->copied_bytes, vs_reply_u64(line, "copied_bytes"));
  a->sum->is_copied_at_most |= vs_reply_bool(line, "at_most");
  return VS_OK;
}

vs_status vs_changed_add_up(const vs_changed *changed, const vs_host *host, vs_changed_sum *sum) {
  vs_error unread;
  *sum = (vs_changed_sum){.is_known = true};
  if (changed->text[0] == 0) return VS_OK;
  VS_TRY(each_line_of(host, changed->list, &(adding){.sum = sum}, add_line, &unread));
  sum->is_known = unread.status == VS_OK;
  return VS_OK;
}

/* ---- the reply */

typedef enum answer { NO, YES, UNKNOWN } answer;

static void put_applied(vs_jsonw *w, answer is_applied) {
  if (is_applied == UNKNOWN) vs_jsonw_member_null(w, "applied");
  else vs_jsonw_member_bool(w, "applied", is_applied == YES);
}

static void put_outcome(vs_jsonw *w, answer is_applied, vs_str text, uint64_t processes) {
  vs_jsonw_object_begin(w);
  put_applied(w, is_applied);
  vs_jsonw_member_str(w, "text", text);
  vs_jsonw_member_u64(w, "processes", processes);
  vs_jsonw_object_end(w);
}

/* What no process said. */
static void put_silence(vs_jsonw *w, const outcome_list *list, const vs_change_row *row) {
  static const char not_loaded[] = "no process of the program loaded the hook that applies changes; Python "
                                   "does not load it with -E, -I or -S";
  char text[sizeof list->unread.text + 64];
  if (list->unread.status == VS_OK) {
    put_outcome(w, NO, vs_str_from(list->is_loaded ? row->never : not_loaded), 0);
    return;
  }
  vs_format(text, sizeof text, "what became of it is unknown: %s", list->unread.text);
  put_outcome(w, UNKNOWN, vs_str_from(text), 0);
}

static void put_outcomes(vs_jsonw *w, const outcome_list *list, size_t index, const vs_change_row *row) {
  answer is_applied = list->unread.status == VS_OK ? NO : UNKNOWN;
  bool has_any = false;
  vs_jsonw_key(w, VS_STR("outcomes"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < list->rows.count; i++) {
    const outcome *one = &list->rows.data[i];
    if (one->change != index) continue;
    put_outcome(w, one->is_applied ? YES : NO, vs_strings_at(&list->strings, one->text), one->processes);
    if (one->is_applied) is_applied = YES;
    has_any = true;
  }
  if (!has_any || list->unread.status != VS_OK) put_silence(w, list, row);
  vs_jsonw_array_end(w);
  put_applied(w, is_applied);
}

static void put_change(vs_jsonw *w, const vs_changes *changes, size_t index, const outcome_list *list) {
  const vs_change_row *row = vs_change_row_of(changes->ids[index]);
  vs_text title;
  vs_text_init(&title, list->host, NULL);
  vs_changes_put_title(&title, changes, index);
  vs_jsonw_object_begin(w);
  vs_jsonw_member_str(w, "name", vs_str_from(row->name));
  vs_jsonw_member_str(w, "title", vs_text_view(&title));
  vs_jsonw_member_str(w, "results", vs_str_from(vs_results_word(row->results)));
  vs_jsonw_member_str(w, "cost", vs_str_from(row->cost));
  put_outcomes(w, list, index, row);
  vs_jsonw_object_end(w);
  if (title.status != VS_OK) w->text->status = title.status;
  vs_text_deinit(&title);
}

static vs_status put_all(vs_jsonw *w, const vs_changed *changed, outcome_list *list) {
  vs_changes changes;
  vs_error ignored;
  if (changed->text[0] == 0) return VS_OK;
  VS_TRY(each_line_of(list->host, changed->list, list, take_line, &list->unread));
  VS_TRY(vs_changes_read(&changes, list->host, vs_str_from(changed->text), &ignored));
  for (size_t i = 0; i < changes.count; i++) put_change(w, &changes, i, list);
  vs_changes_deinit(&changes);
  return VS_OK;
}

vs_status vs_changed_put(vs_jsonw *w, const vs_host *host, const vs_changed *changed) {
  outcome_list list = {.host = host};
  vs_jsonw_array_begin(w);
  vs_status status = vs_strings_init(host, &list.strings);
  if (status == VS_OK) status = put_all(w, changed, &list);
  vs_jsonw_array_end(w);
  vs_vec_free(host, &list.rows);
  vs_strings_deinit(host, &list.strings);
  return status;
}
