/* "bands": the rows of the ledger over a window of the trace, as bands that are stacked. */
#include "analyze/libraries.h"
#include "base/double_text.h"
#include "query/ledger_answer.h"
#include "query/reply.h"
#include "query/window.h"

/* The bands of PyTorch's memory, the lowest first: what is nearest to a tensor is nearest to the tensors. Those of the other libraries
 * are below them. */
static const vs_ledger_kind stacked[] = {VS_LEDGER_RELEASABLE, VS_LEDGER_FRAGMENTED,   VS_LEDGER_PENDING,
                                         VS_LEDGER_ROUNDING,   VS_LEDGER_PRIVATE_POOL, VS_LEDGER_REQUESTED};
/* Rows whose bytes a file may not have. */
static const vs_ledger_kind may_lack[] = {VS_LEDGER_LIBRARY, VS_LEDGER_CONTEXT, VS_LEDGER_OTHER_PROCESSES};
enum { STACKED = sizeof stacked / sizeof *stacked, MAY_LACK = sizeof may_lack / sizeof *may_lack };

/* Every library of the file has a band in every window, so that its place, and its colour, are always the same. */
typedef struct course {
  vs_call *call;
  vs_window window;
  vs_library_fold
      libraries; /* of the whole file: their names, in the order in which they first took memory */
  vs_strings texts;
  uint32_t library_source, sources[STACKED];   /* of the first known row; texts */
  uint32_t names[MAY_LACK], reasons[MAY_LACK]; /* of the last unknown row; texts */
  int32_t *moments;
  double *known; /* by point: the sum of the bands that are known */
  double *bytes; /* all points of the lowest band, then those of the next */
} course;

static size_t place_of(const vs_ledger_kind *list, size_t count, vs_ledger_kind kind) {
  size_t at = 0;
  while (at < count && list[at] != kind) at++;
  return at;
}

static uint32_t text_of(course *c, const vs_ledger *ledger, uint32_t text) {
  uint32_t id = VS_STRING_NONE;
  if (c->call->columns.status == VS_OK)
    c->call->columns.status =
        vs_strings_intern(c->call->engine->host, &c->texts, vs_ledger_text(ledger, text), &id);
  return id;
}

static void take_unknown(course *c, const vs_ledger *ledger, const vs_ledger_row *row, size_t point) {
  const size_t at = place_of(may_lack, MAY_LACK, row->kind);
  if (at == MAY_LACK) return;
  c->names[at] = text_of(c, ledger, row->name);
  c->reasons[at] = text_of(c, ledger, row->why);
  for (size_t i = 0; row->kind == VS_LEDGER_LIBRARY && i < c->libraries.uses.count; i++)
    c->bytes[i * c->window.columns + point] = vs_f64_from_bits(UINT64_C(0x7ff8000000000000));
}

/* The number of bands if the row is none of them. */
static size_t band_of(const course *c, const vs_ledger *ledger, const vs_ledger_row *row) {
  const size_t libraries = c->libraries.uses.count;
  size_t at = 0;
  if (row->kind != VS_LEDGER_LIBRARY) return libraries + place_of(stacked, STACKED, row->kind);
  while (at < libraries && !vs_str_equal(c->libraries.uses.data[at].name, vs_ledger_text(ledger, row->name)))
    at++;
  return at < libraries ? at : libraries + STACKED;
}

static void take_row(course *c, const vs_ledger *ledger, const vs_ledger_row *row, size_t point) {
  const size_t libraries = c->libraries.uses.count, at = band_of(c, ledger, row);
  if (at == libraries + STACKED) return;
  uint32_t *source = at < libraries ? &c->library_source : &c->sources[at - libraries];
  if (*source == VS_STRING_NONE) *source = text_of(c, ledger, row->source);
  c->bytes[at * c->window.columns + point] += (double)row->bytes;
  c->known[point] += (double)row->bytes;
}

/* The rows below "used", and those of PyTorch. A private pool counts as a whole. */
static void take_rows(course *c, const vs_ledger *ledger, size_t point) {
  for (size_t i = 0; i < ledger->rows.count; i++) {
    const vs_ledger_row *row = &ledger->rows.data[i];
    if (row->parent == VS_LEDGER_NONE) continue;
    const vs_ledger_kind above = ledger->rows.data[row->parent].kind;
    if (above != VS_LEDGER_USED && above != VS_LEDGER_PYTORCH) continue;
    if (row->is_known) take_row(c, ledger, row, point);
    else take_unknown(c, ledger, row, point);
  }
}

/* A point with the moment of the one before it has what that had. */
static vs_status take_point(course *c, size_t point) {
  const size_t columns = c->window.columns;
  vs_ledger ledger;
  if (point != 0 && c->moments[point] == c->moments[point - 1]) {
    c->known[point] = c->known[point - 1];
    for (size_t at = point; at < columns * (c->libraries.uses.count + STACKED); at += columns)
      c->bytes[at] = c->bytes[at - 1];
    return VS_OK;
  }
  vs_ledger_init(&ledger, c->call->engine->host);
  const vs_status status = vs_ledger_at(c->call, c->moments[point], &ledger);
  if (status == VS_OK) take_rows(c, &ledger, point);
  vs_ledger_deinit(&ledger);
  return status;
}

static void write_row(const course *c, vs_ledger_kind kind, vs_str name, const char *key, uint32_t text) {
  vs_jsonw *json = c->call->json;
  vs_jsonw_object_begin(json);
  vs_jsonw_member_str(json, "kind", vs_str_from(vs_ledger_kind_name(kind)));
  vs_jsonw_member_str(json, "name", name);
  if (text == VS_STRING_NONE) vs_jsonw_member_null(json, key);
  else vs_jsonw_member_str(json, key, vs_strings_at(&c->texts, text));
  vs_jsonw_object_end(json);
}

static void write_course(const course *c) {
  vs_reply_device(c->call, c->call->device);
  vs_reply_window(c->call, &c->window);
  vs_reply_array_begin(c->call->json, "bands");
  for (size_t i = 0; i < c->libraries.uses.count; i++)
    write_row(c, VS_LEDGER_LIBRARY, c->libraries.uses.data[i].name, "source", c->library_source);
  for (size_t i = 0; i < STACKED; i++)
    write_row(c, stacked[i], vs_str_from(vs_ledger_band_name(stacked[i])), "source", c->sources[i]);
  vs_jsonw_array_end(c->call->json);
  vs_reply_array_begin(c->call->json, "unknown");
  for (size_t i = 0; i < MAY_LACK; i++)
    if (c->reasons[i] != VS_STRING_NONE)
      write_row(c, may_lack[i], vs_strings_at(&c->texts, c->names[i]), "why", c->reasons[i]);
  vs_jsonw_array_end(c->call->json);
}

static vs_status follow(course *c) {
  vs_call *call = c->call;
  vs_columns *columns = &call->columns;
  const vs_slice *slice = call->device->slice;
  VS_TRY(vs_library_fold_device(call->engine->host, slice->snapshot, slice->device, &c->libraries));
  const size_t points = c->window.columns;
  c->moments = vs_columns_add(columns, "point_event", VS_COLUMN_I32, points);
  c->known = vs_columns_add(columns, "known", VS_COLUMN_F64, points);
  c->bytes = vs_columns_add(columns, "bytes", VS_COLUMN_F64, points * (c->libraries.uses.count + STACKED));
  for (uint32_t i = 0; i < points && columns->status == VS_OK; i++) {
    c->moments[i] = (int32_t)vs_window_moment(&c->window, i, vs_slice_end(slice));
    VS_TRY(take_point(c, i));
  }
  return columns->status;
}

vs_status vs_method_bands(vs_call *call) {
  const vs_host *host = call->engine->host;
  course c = {.call = call};
  VS_TRY(vs_find_window(call, call->request->points, "points", &c.window));
  vs_status status = vs_strings_init(host, &c.texts);
  if (status == VS_OK) status = follow(&c);
  if (status == VS_OK) write_course(&c);
  vs_library_fold_deinit(host, &c.libraries);
  vs_strings_deinit(host, &c.texts);
  return status;
}
