/* The engine inside: one file, and what was found out so far about each of its devices.
 *
 * Invariant: snapshot is NULL exactly while no file is loaded; then there are no views. Otherwise view i is of
 * slices.list.data[i], and neither array moves until the file goes. `nothing` is what a file without any device is asked
 * about: a view of a slice without events and segments. */
#ifndef VS_QUERY_ENGINE_H
#define VS_QUERY_ENGINE_H

#include "analyze/report.h"
#include "query/request.h"
#include <vramscope/query.h>

/* A device, and answers about it that are kept because the next question needs them, too. Ask by vs_view_..., below. */
typedef struct vs_view {
  const vs_slice *slice;
  uint64_t reserved; /* bytes at the end */
  bool has_curves, has_lifetimes, has_columns, has_report, has_looked_for_times;
  int64_t first_us, last_us; /* both VS_NO_TIME where no event has one */
  vs_curves curves;
  vs_lifetimes lifetimes; /* given up once there is a report, which has its own */
  vs_curve_columns columns;
  vs_report report;
} vs_view;

struct vs_engine {
  const vs_host *host;
  vs_snapshot *snapshot;
  vs_slices slices;
  VS_VEC(vs_view) views;
  vs_slice no_slice;
  vs_view nothing;
  vs_frames frames;
  VS_VEC(char) name; /* of the file */
  uint64_t bytes;    /* on disk, VS_BYTES_UNKNOWN */
  bool is_compressed;
};

/* One request on its way to its reply. `json` is open inside the reply's object: a method adds members. The method
 * "export" writes `text` or, with nothing in it, `reply` instead. */
typedef struct vs_call {
  vs_engine *engine;
  vs_request *request;
  vs_view *view; /* the device asked for, or the default one */
  vs_text *text;
  vs_jsonw *json;
  const vs_writer *reply; /* where `text` goes in the end */
  vs_text scratch;        /* for labels; empty between uses; a failure of it is the reply's in the end */
  vs_error *error;
} vs_call;

#define VS_PARAM(name, TYPE, sentence)
#define VS_METHOD(name, NEEDS, REPLY, sentence) VS_MUST_CHECK vs_status vs_method_##name(vs_call *call);
#define VS_TAKES(method, param, default)
#include "query/methods.def"
#undef VS_METHOD
#undef VS_TAKES
#undef VS_PARAM

/* ---- views: built when first asked for; borrowed until the next vs_view_report of that view, or the next file ------ */

vs_view *vs_engine_view(vs_engine *engine, int32_t device); /* NULL: the file has nothing of it */
vs_view *vs_engine_default_view(vs_engine *engine);         /* NULL: the file has no device at all */

const vs_curves *vs_view_curves(vs_view *view);
/* First and last time of the trace; false if it has none, and then both are VS_NO_TIME. */
bool vs_view_times(vs_view *view, int64_t *first_us, int64_t *last_us);
VS_MUST_CHECK vs_status vs_view_lifetimes(vs_engine *engine, vs_view *view, const vs_lifetimes **out);
VS_MUST_CHECK vs_status vs_view_columns(vs_engine *engine, vs_view *view, const vs_curve_columns **out);
VS_MUST_CHECK vs_status vs_view_report(vs_engine *engine, vs_view *view, vs_report **out);
void vs_view_deinit(vs_engine *engine, vs_view *view);

/* Fails: VS_NOT_FOUND  the trace has no such event, no times, no OOM; `error` says which */
VS_MUST_CHECK vs_status vs_view_moment(vs_view *view, vs_when when, vs_moment *out, vs_error *error);

#endif
