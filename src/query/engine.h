/* The engine inside: one file, and what was found out so far about each of its devices.
 *
 * Invariant: snapshot is NULL exactly while no file is loaded; then there are no views. Otherwise view i is of
 * slices.list.data[i], and neither array moves until the file goes. `nothing` is what a file without any device is asked
 * about: a view of a slice without events and segments. */
#ifndef VS_QUERY_ENGINE_H
#define VS_QUERY_ENGINE_H

#include "analyze/names.h"
#include "analyze/past.h"
#include "analyze/picture.h"
#include "analyze/report.h"
#include "base/sort.h"
#include "query/colours.h"
#include "query/columns.h"
#include "query/matches.h"
#include "query/request.h"
#include <vramscope/query.h>

/* The spans of a view that a filter keeps, and their total. */
typedef struct vs_scene {
  bool has_spans, has_levels;
  VS_VEC(char) filter;
  vs_spans own;          /* meaningful where has_spans */
  const vs_spans *spans; /* own, or those of the view's past */
  vs_levels levels;
} vs_scene;

enum { VS_DRAWN_KINDS = VS_DRAWN_segments + 1 };

/* A device, and answers about it that are kept because the next question needs them, too. Ask by vs_view_..., below.
 *
 * What grows with the trace is kept once (lifetimes, names, past, levels, times) or for the last one or two questions of
 * its kind (matches, colours, scenes); everything goes with the file. Nothing here moves or goes before that, except what
 * another filter drives out. */
typedef struct vs_view {
  const vs_slice *slice;
  uint64_t reserved; /* bytes at the end */
  bool has_curves, has_lifetimes, has_report, has_names, has_past, has_levels, has_times, has_segments,
      has_ranges;
  vs_curves curves;
  vs_lifetimes lifetimes;
  vs_report report; /* borrows the lifetimes */
  vs_names names;
  vs_past past; /* borrows the lifetimes */
  vs_times times;
  vs_levels levels[VS_CURVE_KINDS];
  vs_segment_index segments;
  vs_named_ranges ranges;
  VS_VEC(vs_sort_pair)
  mapping_ends; /* event -> first row of mappings that ends with it; built with the past */
  vs_match_cache event_matches, thing_matches[VS_DRAWN_KINDS];
  vs_colour_cache colours[VS_DRAWN_KINDS];
  vs_scene everything[VS_DRAWN_KINDS], filtered[VS_DRAWN_KINDS];
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
  vs_columns columns;     /* of a reply of columns */
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

/* ---- views: built when first asked for, borrowed until the next file ------------------------------------------ */

vs_view *vs_engine_view(vs_engine *engine, int32_t device); /* NULL: the file has nothing of it */
vs_view *vs_engine_default_view(vs_engine *engine);         /* NULL: the file has no device at all */

const vs_curves *vs_view_curves(vs_view *view);
/* first_us and last_us are VS_NO_TIME where no event has a time. */
VS_MUST_CHECK vs_status vs_view_times(vs_engine *engine, vs_view *view, const vs_times **out);
VS_MUST_CHECK vs_status vs_view_lifetimes(vs_engine *engine, vs_view *view, const vs_lifetimes **out);
VS_MUST_CHECK vs_status vs_view_names(vs_engine *engine, vs_view *view, const vs_names **out);
VS_MUST_CHECK vs_status vs_view_past(vs_engine *engine, vs_view *view, const vs_past **out);
VS_MUST_CHECK vs_status vs_view_segments(vs_engine *engine, vs_view *view, const vs_segment_index **out);
VS_MUST_CHECK vs_status vs_view_ranges(vs_engine *engine, vs_view *view, const vs_named_ranges **out);
/* *out points at VS_CURVE_KINDS of them. */
VS_MUST_CHECK vs_status vs_view_levels(vs_engine *engine, vs_view *view, const vs_levels **out);
VS_MUST_CHECK vs_status vs_view_report(vs_engine *engine, vs_view *view, vs_report **out);
/* The row of mappings that a segment event gave or took, the first of several; VS_NO_ROW. There has to be a past. */
uint32_t vs_view_mapping_of(const vs_view *view, uint32_t event);
void vs_scene_deinit(const vs_host *host, vs_scene *scene);

/* Fails: VS_NOT_FOUND  the trace has no such event, no times, no OOM; `error` says which */
VS_MUST_CHECK vs_status vs_view_moment(vs_engine *engine, vs_view *view, vs_when when, vs_moment *out,
                                       vs_error *error);

#endif
