#include "faces/dryrun/processes.h"
#include "base/check.h"

enum { ROWS = 8 };

/* A process on a GPU. */
typedef struct row {
  vs_json process, device;
} row;

static bool used_gpu(vs_json process) { return vs_json_count(vs_reply_at(process, "devices")) != 0; }

size_t vs_dryrun_count_users(const vs_sheet *p) {
  const vs_json processes = vs_reply_at(p->reply, "processes");
  size_t count = 0;
  for (size_t i = 0; i < vs_json_count(processes); i++) count += used_gpu(vs_json_at(processes, i));
  return count;
}

/* ---- the rows with the most memory */

static uint64_t weight_of(const row *r) { return vs_reply_u64(r->device, "driver_peak_bytes"); }

/* Keeps the rows in falling order, equal ones in the order of the reply; the one behind the last is lost. */
static void insert(row rows[ROWS], size_t *count, row new) {
  size_t at = *count;
  while (at > 0 && weight_of(&rows[at - 1]) < weight_of(&new)) at--;
  if (at == ROWS) return;
  for (size_t i = *count < ROWS ? *count : ROWS - 1; i > at; i--) rows[i] = rows[i - 1];
  rows[at] = new;
  if (*count < ROWS) ++*count;
}

/* Returns how many rows there are; *count are in `rows`. */
static size_t find_rows(const vs_sheet *p, row rows[ROWS], size_t *count) {
  const vs_json processes = vs_reply_at(p->reply, "processes");
  size_t all = 0;
  *count = 0;
  for (size_t i = 0; i < vs_json_count(processes); i++) {
    const vs_json process = vs_json_at(processes, i), devices = vs_reply_at(process, "devices");
    for (size_t d = 0; d < vs_json_count(devices); d++, all++)
      insert(rows, count, (row){process, vs_json_at(devices, d)});
  }
  return all;
}

/* ---- the table */

/* "rank 2", "python3 (4711)". */
static void put_name(vs_text *text, vs_json process) {
  if (vs_reply_knows(process, "rank")) {
    vs_text_format(text, "rank %U", vs_reply_u64(process, "rank"));
    return;
  }
  vs_screen_safe(text, vs_reply_str(process, "program"));
  vs_text_format(text, "%s(%U)", vs_reply_str(process, "program").size == 0 ? "" : " ",
                 vs_reply_u64(process, "pid"));
}

static void put_owner(vs_sheet *p, vs_text *cell, vs_json device) {
  const vs_json owner = vs_json_at(vs_reply_at(device, "owners"), 0);
  if (vs_json_is_absent(owner)) {
    vs_text_byte(cell, '-');
    return;
  }
  vs_text_bytes(cell, vs_reply_u64(owner, "bytes"), p->screen->unit);
  vs_text_byte(cell, ' ');
  vs_words_label(cell, owner);
}

static void put_row(vs_sheet *p, vs_table *table, const row *r) {
  const vs_json torch = vs_reply_at(r->device, "torch");
  put_name(vs_table_cell(table), r->process);
  vs_text_format(vs_table_cell(table), "%U", vs_reply_u64(r->device, "device"));
  vs_sheet_put_figure(p, vs_table_cell(table), vs_reply_at(torch, "peak_allocated_bytes"));
  vs_sheet_put_figure(p, vs_table_cell(table), vs_reply_at(torch, "peak_reserved_bytes"));
  vs_text_bytes(vs_table_cell(table), vs_reply_u64(r->device, "driver_peak_bytes"), p->screen->unit);
  put_owner(p, vs_table_cell(table), r->device);
}

void vs_dryrun_put_processes(vs_sheet *p) {
  static const vs_column columns[] = {{"process", VS_COLUMN_LEFT},     {"GPU", VS_COLUMN_RIGHT},
                                      {"allocated", VS_COLUMN_RIGHT},  {"reserved", VS_COLUMN_RIGHT},
                                      {"on the GPU", VS_COLUMN_RIGHT}, {"largest owner", VS_COLUMN_NAME}};
  row rows[ROWS];
  size_t count;
  const size_t all = find_rows(p, rows, &count);
  vs_table table;
  if (vs_dryrun_count_users(p) < 2) return;
  vs_text_byte(&p->screen->text, '\n');
  vs_table_begin(&table, p->screen, 2, columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < count; i++) put_row(p, &table, &rows[i]);
  vs_table_put(&table);
  if (all > count)
    vs_text_format(&p->screen->text, "  %U more rows: see them with --json\n", (uint64_t)(all - count));
  vs_text_byte(&p->screen->text, '\n');
}

void vs_dryrun_put_whose(vs_sheet *p) {
  const vs_json processes = vs_reply_at(p->reply, "processes"), pid = vs_reply_at(p->reply, "report_pid");
  if (vs_dryrun_count_users(p) < 2 || vs_reply_is_unknown(pid)) return;
  for (size_t i = 0; i < vs_json_count(processes); i++) {
    const vs_json process = vs_json_at(processes, i);
    if (vs_reply_u64(process, "pid") != vs_json_u64(pid, 0)) continue;
    vs_text_cstr(vs_sheet_begin(p), "of ");
    put_name(&p->line, process);
    vs_sheet_end(p, "Owners", VS_STYLE_TITLE);
  }
}
