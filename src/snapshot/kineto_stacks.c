#include "base/sort.h"
#include "base/text.h"
#include "snapshot/kineto.h"
#include "snapshot/kineto_internal.h"

/* ---- frames ---------------------------------------------------------------------------------------------------- */

typedef struct place {
  vs_str file, name;
  int64_t line;
} place;

/* "nn/modules/linear.py(124): forward" in its parts; any other name is that of a function without a file. */
static place parse_python(vs_str text) {
  place whole = {.file = VS_STR(""), .name = text};
  for (size_t i = 0; i + 2 < text.size; i++) {
    if (text.data[i] != ')' || text.data[i + 1] != ':' || text.data[i + 2] != ' ') continue;
    size_t digits = i;
    while (digits > 0 && text.data[digits - 1] >= '0' && text.data[digits - 1] <= '9') digits--;
    uint64_t line;
    const bool is_place = digits > 1 && text.data[digits - 1] == '(' &&
                          vs_parse_u64((vs_str){text.data + digits, i - digits}, &line) && line <= INT64_MAX;
    if (!is_place) continue;
    return (place){.file = {text.data, digits - 1},
                   .name = {text.data + i + 3, text.size - i - 3},
                   .line = (int64_t)line};
  }
  return whole;
}

/* The name of a function of autograd's graph, as stacks of C++ have it: that of the node which the range
 * "autograd::engine::evaluate_function: AddmmBackward0" runs. All other names stay as they are. */
static vs_status intern_name(vs_kineto *k, vs_str name, uint32_t *id) {
  static const vs_str engine = {"autograd::engine::evaluate_function: ", 37},
                      autograd = {"torch::autograd::", 17};
  vs_strings *strings = &k->account.s->strings;
  if (!vs_str_starts(name, engine)) return vs_strings_intern(k->host, strings, name, id);
  vs_str node = {name.data + engine.size, name.size - engine.size};
  if (vs_str_starts(node, autograd)) node = (vs_str){node.data + autograd.size, node.size - autograd.size};
  vs_text text;
  vs_text_init(&text, k->host, NULL);
  vs_text_str(&text, autograd);
  vs_text_str(&text, node);
  vs_text_cstr(&text, "::apply");
  vs_status status = vs_text_finish(&text);
  if (status == VS_OK) status = vs_strings_intern(k->host, strings, vs_text_view(&text), id);
  vs_text_deinit(&text);
  return status;
}

static vs_status make_frame(vs_kineto *k, const vs_kineto_span *span, uint32_t *frame) {
  vs_snapshot *s = k->account.s;
  const vs_str text = vs_strings_at(&k->names, span->name);
  const place parts = span->kind == VS_SPAN_PYTHON ? parse_python(text) : (place){VS_STR(""), text, 0};
  uint32_t name, file;
  VS_TRY(intern_name(k, parts.name, &name));
  VS_TRY(vs_strings_intern(k->host, &s->strings, parts.file, &file));
  return vs_stacks_frame(k->host, &s->stacks, name, file, parts.line, NULL, frame);
}

/* Spans of one name have one frame, so it is made once. */
static vs_status frame_of(vs_kineto *k, const vs_kineto_span *span, uint32_t *frame) {
  VS_ASSERT(span->name < k->frame_of.count);
  uint32_t *known = &k->frame_of.data[span->name];
  if (*known == 0) {
    VS_TRY(make_frame(k, span, frame));
    *known = *frame + 1;
  }
  *frame = *known - 1;
  return VS_OK;
}

/* ---- order ----------------------------------------------------------------------------------------------------- */

/* By thread and beginning; of those that begin together the longest first, which is the outer one. */
static bool span_before(const void *ctx, uint32_t a, uint32_t b) {
  const vs_kineto_span *x = &((const vs_kineto_span *)ctx)[a], *y = &((const vs_kineto_span *)ctx)[b];
  if (x->thread != y->thread) return x->thread < y->thread;
  if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns;
  return x->end_ns > y->end_ns;
}

static bool entry_before(const void *ctx, uint32_t a, uint32_t b) {
  const vs_kineto *k = ctx;
  if (k->thread_of.data[a] != k->thread_of.data[b]) return k->thread_of.data[a] < k->thread_of.data[b];
  return k->account.entries.data[a].time_ns < k->account.entries.data[b].time_ns;
}

typedef VS_VEC(uint32_t) rows;

static vs_status number_rows(const vs_host *host, rows *out, size_t count) {
  VS_TRY(vs_vec_reserve(host, out, count));
  while (out->count < count) {
    out->data[out->count] = (uint32_t)out->count;
    out->count++;
  }
  return VS_OK;
}

/* ---- what is open at an event ---------------------------------------------------------------------------------- */

/* Goes through the events and the spans of all threads in order. `open` are the spans that have begun, the outermost first;
 * the last of them has not ended. */
typedef struct sweep {
  vs_kineto *k;
  rows spans, entries, open, frames;
  size_t next;     /* in spans */
  uint32_t thread; /* of the open spans */
} sweep;

static const vs_kineto_span *span_at(const sweep *w, uint32_t row) { return &w->k->spans.data[row]; }

static void end_before(sweep *w, int64_t time_ns, bool is_begin) {
  while (w->open.count != 0) {
    const int64_t end = span_at(w, w->open.data[w->open.count - 1])->end_ns;
    if (is_begin ? end > time_ns : end >= time_ns) return;
    w->open.count--;
  }
}

/* Begins the spans of a thread up to a time, and ends those that ended before it. */
static vs_status move_to(sweep *w, uint32_t thread, int64_t time_ns) {
  if (w->thread != thread) w->open.count = 0;
  w->thread = thread;
  for (; w->next < w->spans.count; w->next++) {
    const vs_kineto_span *span = span_at(w, w->spans.data[w->next]);
    if (span->thread > thread || (span->thread == thread && span->start_ns > time_ns)) break;
    if (span->thread < thread || span->end_ns < time_ns) continue;
    end_before(w, span->start_ns, true);
    VS_TRY(vs_vec_reserve(w->k->host, &w->open, 1));
    w->open.data[w->open.count++] = w->spans.data[w->next];
  }
  end_before(w, time_ns, false);
  return VS_OK;
}

/* The stack of the innermost VS_KINETO_MOST_FRAMES open spans. One that ended while a span inside it goes on is left out. */
static vs_status stack_at(sweep *w, int64_t time_ns, uint32_t *stack) {
  vs_kineto *k = w->k;
  w->frames.count = 0;
  const size_t most = VS_KINETO_MOST_FRAMES, last = w->open.count > most ? w->open.count - most : 0;
  for (size_t i = w->open.count; i > last; i--) {
    const vs_kineto_span *span = span_at(w, w->open.data[i - 1]);
    if (span->end_ns < time_ns) continue;
    VS_TRY(vs_vec_reserve(k->host, &w->frames, 1));
    VS_TRY(frame_of(k, span, &w->frames.data[w->frames.count]));
    w->frames.count++;
  }
  return vs_lists_intern(k->host, &k->account.s->stacks.lists, w->frames.data, w->frames.count, stack);
}

static vs_status run(sweep *w) {
  vs_kineto *k = w->k;
  VS_TRY(number_rows(k->host, &w->spans, k->spans.count));
  VS_TRY(number_rows(k->host, &w->entries, k->account.entries.count));
  VS_TRY(vs_sort_rows(k->host, w->spans.data, w->spans.count, span_before, k->spans.data));
  VS_TRY(vs_sort_rows(k->host, w->entries.data, w->entries.count, entry_before, k));
  VS_TRY(vs_vec_reserve(k->host, &k->frame_of, vs_strings_count(&k->names)));
  k->frame_of.count = vs_strings_count(&k->names);
  memset(k->frame_of.data, 0, k->frame_of.count * sizeof *k->frame_of.data);
  for (size_t i = 0; i < w->entries.count; i++) {
    const uint32_t row = w->entries.data[i];
    vs_account_entry *entry = &k->account.entries.data[row];
    VS_TRY(move_to(w, k->thread_of.data[row], entry->time_ns));
    if (w->open.count == 0) entry->stack = VS_LIST_NONE;
    else VS_TRY(stack_at(w, entry->time_ns, &entry->stack));
  }
  return VS_OK;
}

vs_status vs_kineto_stacks(vs_kineto *k) {
  sweep w = {.k = k};
  if (k->spans.count == 0) {
    k->account.s->lacks |= VS_LACKS_STACKS;
    return VS_OK;
  }
  const vs_status status = run(&w);
  vs_vec_free(k->host, &w.spans);
  vs_vec_free(k->host, &w.entries);
  vs_vec_free(k->host, &w.open);
  vs_vec_free(k->host, &w.frames);
  return status;
}

/* ---- annotations ----------------------------------------------------------------------------------------------- */

/* One end of a named range. */
typedef struct edge {
  int64_t time_ns;
  uint32_t span;
  bool is_end;
} edge;

/* By time; of those at one time ends first, then those of outer ranges. */
static bool edge_before(const void *ctx, uint32_t a, uint32_t b) {
  const edge *x = &((const edge *)ctx)[a], *y = &((const edge *)ctx)[b];
  if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns;
  return x->is_end && !y->is_end;
}

static vs_status add_annotation(vs_kineto *k, const edge *at, int32_t device) {
  vs_snapshot *s = k->account.s;
  vs_annotation annotation = {.time_us = at->time_ns / 1000, .device = device};
  const vs_str stage = at->is_end ? VS_STR("END") : VS_STR("START");
  const vs_str name = vs_strings_at(&k->names, k->spans.data[at->span].name);
  VS_TRY(vs_strings_intern(k->host, &s->strings, name, &annotation.name));
  VS_TRY(vs_strings_intern(k->host, &s->strings, stage, &annotation.stage));
  VS_TRY(vs_vec_reserve(k->host, &s->annotations, 1));
  s->annotations.data[s->annotations.count++] = annotation;
  return VS_OK;
}

static vs_status annotate(vs_kineto *k, const edge *edges, const rows *order,
                          const bool is_there[VS_MAX_DEVICES]) {
  int32_t devices[VS_MAX_DEVICES];
  size_t count = 0;
  for (int32_t device = 0; device < VS_MAX_DEVICES; device++)
    if (is_there[device]) devices[count++] = device;
  for (size_t i = 0; i < order->count; i++)
    for (size_t d = 0; d < count; d++) VS_TRY(add_annotation(k, &edges[order->data[i]], devices[d]));
  return VS_OK;
}

vs_status vs_kineto_annotate(vs_kineto *k, const bool is_there[VS_MAX_DEVICES]) {
  VS_VEC(edge) edges = {0};
  rows order = {0};
  vs_status status = VS_OK;
  for (size_t i = 0; i < k->spans.count && status == VS_OK; i++) {
    const vs_kineto_span *span = &k->spans.data[i];
    if (span->kind != VS_SPAN_ANNOTATION) continue;
    status = vs_vec_reserve(k->host, &edges, 2);
    if (status != VS_OK) break;
    edges.data[edges.count++] = (edge){span->start_ns, (uint32_t)i, false};
    edges.data[edges.count++] = (edge){span->end_ns, (uint32_t)i, true};
  }
  if (status == VS_OK) status = number_rows(k->host, &order, edges.count);
  if (status == VS_OK) status = vs_sort_rows(k->host, order.data, order.count, edge_before, edges.data);
  if (status == VS_OK) status = annotate(k, edges.data, &order, is_there);
  vs_vec_free(k->host, &edges);
  vs_vec_free(k->host, &order);
  if (k->account.s->annotations.count != 0) k->account.s->has |= VS_HAS_ANNOTATIONS;
  return status;
}
