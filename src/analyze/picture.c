#include "analyze/picture.h"
#include "analyze/span_stack.h"

typedef struct run {
  uint32_t row;
  uint16_t end, group;
  uint8_t flags;
} run;

typedef struct sketch {
  const vs_host *host;
  const vs_spans *spans;
  const vs_look *look;
  vs_picture *out;
  vs_span_stack span_stack;
  uint64_t pixel;           /* bytes of a pixel, rounded up */
  VS_VEC(uint64_t) centres; /* by pixel row, the byte that it shows; and UINT64_MAX as a sentinel */
  VS_VEC(run) runs;         /* all of the sample, from pixel row 0; look->rows at most */
} sketch;

/* ---- samples: one moment a column ---------------------------------------------------------------------- */

static vs_status add_sample(sketch *s, uint32_t column, vs_moment moment, int64_t bytes) {
  vs_picture *out = s->out;
  const size_t count = out->sample_event.count;
  VS_ASSERT(count == 0 || out->sample_column.data[count - 1] < column);
  if (count > 0 && out->sample_event.data[count - 1] == (int32_t)moment) return VS_OK;
  VS_TRY(vs_vec_reserve(s->host, &out->sample_column, 1));
  VS_TRY(vs_vec_reserve(s->host, &out->sample_event, 1));
  VS_TRY(vs_vec_reserve(s->host, &out->sample_bytes, 1));
  out->sample_column.data[out->sample_column.count++] = column;
  out->sample_event.data[out->sample_event.count++] = (int32_t)moment;
  out->sample_bytes.data[out->sample_bytes.count++] = (double)bytes;
  return VS_OK;
}

static vs_status choose_samples(sketch *s, const vs_curve_index *curve, vs_moment *first, vs_moment *last) {
  vs_picture *out = s->out;
  vs_curve_reader reader;
  vs_curve_reader_init(&reader, curve);
  *first = *last = VS_NO_MOMENT;
  for (uint32_t column = 0; column < s->look->window.columns; column++) {
    vs_moment from, to;
    if (!vs_window_column(&s->look->window, column, &from, &to)) {
      VS_TRY(add_sample(s, column, VS_NO_MOMENT, 0));
      continue;
    }
    const vs_curve_extent extent = vs_curve_reader_between(&reader, from, to);
    VS_ASSERT(extent.high >= 0 && from <= extent.high_at && extent.high_at <= to);
    if (*first == VS_NO_MOMENT) *first = from;
    *last = to;
    if (out->highest_at == VS_NO_MOMENT || (uint64_t)extent.high > out->highest) {
      out->highest = (uint64_t)extent.high;
      out->highest_at = extent.high_at;
    }
    VS_TRY(add_sample(s, column, extent.high_at, extent.high));
  }
  VS_TRY(vs_vec_reserve(s->host, &out->sample_column, 1));
  out->sample_column.data[out->sample_column.count++] = s->look->window.columns;
  return VS_OK;
}

/* ---- counts of the window ------------------------------------------------------------------------------ */

static void count_marked(sketch *s, uint32_t first, uint32_t last) {
  const vs_spans *spans = s->spans;
  const uint32_t peak = vs_done(spans->event_count, s->out->highest_at);
  uint32_t span = 0;
  while (span < spans->count && spans->from.data[span] <= last) {
    if (span % VS_SPAN_GROUP == 0 && spans->latest.data[span / VS_SPAN_GROUP] <= first) {
      span += VS_SPAN_GROUP;
      continue;
    }
    const uint32_t from = spans->from.data[span], until = spans->until.data[span];
    if (until > first && vs_bit(s->look->marked, spans->row.data[span])) {
      s->out->marked_count++;
      if (from <= peak && until > peak) s->out->marked_bytes += spans->size.data[span];
    }
    span++;
  }
}

static void count_window(sketch *s, vs_moment first, vs_moment last) {
  if (first == VS_NO_MOMENT) return;
  const uint32_t from = vs_done(s->spans->event_count, first), to = vs_done(s->spans->event_count, last);
  s->out->count = vs_spans_between(s->spans, from, to);
  if (s->look->marked != NULL) count_marked(s, from, to);
}

/* ---- pixels -------------------------------------------------------------------------------------------- */

/* Heights fit into 63 bits, because all sizes together do (spans.h). */
static vs_status place_pixels(sketch *s) {
  vs_picture *out = s->out;
  const uint64_t twice = 2 * (uint64_t)s->look->rows;
  out->y0 = vs_min_u64(s->look->y0, INT64_MAX - 1);
  out->y1 = s->look->y1 == VS_FIT ? out->highest : vs_min_u64(s->look->y1, INT64_MAX);
  if (out->y1 <= out->y0) out->y1 = out->y0 + 1;
  if (s->look->rows == 0) return VS_OK;
  const uint64_t height = out->y1 - out->y0, whole = height / twice, rest = height % twice;
  s->pixel = height / s->look->rows + (height % s->look->rows != 0);
  VS_TRY(vs_vec_reserve(s->host, &s->centres, (size_t)s->look->rows + 1));
  for (uint64_t p = 0; p < s->look->rows; p++) /* (2 p + 1) * height / twice, which could overflow */
    s->centres.data[s->centres.count++] = out->y0 + (2 * p + 1) * whole + (2 * p + 1) * rest / twice;
  s->centres.data[s->centres.count++] = UINT64_MAX;
  return VS_OK;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

/* Shows a span in the pixels up to `end`. It never extends a run that keep_steady kept. */
static void draw_span(sketch *s, uint32_t end, uint32_t row, uint64_t size) {
  const vs_look *look = s->look;
  const uint16_t group = look->groups != NULL ? look->groups[row] : (uint16_t)(row % VS_OWN_GROUPS);
  uint8_t flags = size < s->pixel ? VS_RUN_SEVERAL : 0;
  if (look->marked != NULL && vs_bit(look->marked, row)) flags |= VS_RUN_MARKED;
  run *below = s->runs.count > 0 ? &s->runs.data[s->runs.count - 1] : NULL;
  VS_ASSERT(end <= look->rows && (below == NULL || below->end < end));
  if (below != NULL && (flags & VS_RUN_SEVERAL) != 0 && below->flags == flags && below->group == group)
    below->end = (uint16_t)end;
  else s->runs.data[s->runs.count++] = (run){row, (uint16_t)end, group, flags};
}

/* Draws the spans of a group that contain the centres of pixel p and of the pixels above it. `offset` is the height
 * below the group; the centre of p is inside the group. It goes in steps of STRIDE first, because usually a pixel is
 * many spans high or a span many pixels. */
static uint32_t draw_group(sketch *s, const vs_span_stack_group *group, uint64_t offset, uint32_t p) {
  enum { STRIDE = 8 };
  const vs_span_stack_chunk *chunk = &s->span_stack.chunks.data[group->chunk];
  const uint64_t *centres = s->centres.data;
  for (uint32_t i = 0; p < s->look->rows && centres[p] - offset < group->bytes;) {
    const uint64_t centre = centres[p] - offset;
    while (i + STRIDE < group->count && chunk->top[i + STRIDE - 1] <= centre) i += STRIDE;
    while (chunk->top[i] <= centre) i++;
    VS_ASSERT(i < group->count);
    do p++;
    while (centres[p] - offset < chunk->top[i]);
    draw_span(s, p, chunk->row[i], chunk->top[i] - (i == 0 ? 0 : chunk->top[i - 1]));
  }
  return p;
}

/* Keeps the runs of the sample before whose pixels have not changed. A run that is SEVERAL could be extended now, so
 * it is kept only if the pixel above it has not changed either. Returns the number of pixel rows that the kept runs
 * fill. */
static uint32_t keep_steady(sketch *s) {
  size_t kept = 0;
  for (; kept < s->runs.count; kept++) {
    const run *old = &s->runs.data[kept];
    const size_t last = (old->flags & VS_RUN_SEVERAL) != 0 ? old->end : old->end - 1u;
    if (s->centres.data[last] >= s->span_stack.steady) break;
  }
  VS_ASSERT(kept == 0 || s->runs.data[kept - 1].end <= s->look->rows);
  s->runs.count = kept;
  return kept == 0 ? 0 : s->runs.data[kept - 1].end;
}

static vs_status put_runs(sketch *s, size_t first) {
  vs_picture *out = s->out;
  const size_t count = s->runs.count - first;
  VS_TRY(vs_vec_reserve(s->host, &out->run_end, count));
  VS_TRY(vs_vec_reserve(s->host, &out->run_row, count));
  VS_TRY(vs_vec_reserve(s->host, &out->run_group, count));
  VS_TRY(vs_vec_reserve(s->host, &out->run_flags, count));
  for (size_t i = first; i < s->runs.count; i++) {
    const run *drawn = &s->runs.data[i];
    out->run_end.data[out->run_end.count++] = drawn->end;
    out->run_row.data[out->run_row.count++] = drawn->row;
    out->run_group.data[out->run_group.count++] = drawn->group;
    out->run_flags.data[out->run_flags.count++] = drawn->flags;
  }
  return VS_OK;
}

static vs_status draw_sample(sketch *s, uint32_t done, uint16_t *kept) {
  VS_TRY(vs_span_stack_move(s->host, &s->span_stack, done));
  uint32_t p = keep_steady(s);
  *kept = (uint16_t)p;
  const size_t first = s->runs.count;
  uint64_t offset = 0;
  for (size_t g = 0; g < s->span_stack.groups.count && p < s->look->rows; g++) {
    const vs_span_stack_group *group = &s->span_stack.groups.data[g];
    if (offset + group->bytes > s->centres.data[p]) p = draw_group(s, group, offset, p);
    offset += group->bytes;
  }
  VS_ASSERT(first <= s->runs.count && s->runs.count <= s->look->rows);
  return put_runs(s, first);
}

static vs_status draw_samples(sketch *s) {
  vs_picture *out = s->out;
  const size_t samples = out->sample_event.count;
  VS_TRY(vs_vec_reserve(s->host, &out->sample_kept, samples));
  VS_TRY(vs_vec_reserve(s->host, &out->sample_run, samples + 1));
  VS_TRY(vs_vec_reserve(s->host, &s->runs, s->look->rows));
  for (size_t i = 0; i < samples; i++) {
    const vs_moment moment = out->sample_event.data[i];
    uint16_t kept = 0;
    out->sample_run.data[out->sample_run.count++] = (uint32_t)out->run_end.count;
    if (moment == VS_NO_MOMENT) s->runs.count = 0;
    else if (s->look->rows > 0) VS_TRY(draw_sample(s, vs_done(s->spans->event_count, moment), &kept));
    out->sample_kept.data[out->sample_kept.count++] = kept;
  }
  out->sample_run.data[out->sample_run.count++] = (uint32_t)out->run_end.count;
  return VS_OK;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static vs_status build(sketch *s, const vs_curve_index *curve) {
  vs_moment first, last;
  VS_TRY(choose_samples(s, curve, &first, &last));
  count_window(s, first, last);
  VS_TRY(place_pixels(s));
  return draw_samples(s);
}

vs_status vs_picture_build(const vs_host *host, const vs_spans *spans, const vs_curve_index *curve,
                           const vs_look *look, vs_picture *out) {
  VS_ASSERT(look->rows <= VS_MOST_PIXEL_ROWS && curve->spans == spans);
  *out = (vs_picture){.highest_at = VS_NO_MOMENT};
  sketch s = {.host = host, .spans = spans, .look = look, .out = out, .span_stack = vs_span_stack_of(spans)};
  const vs_status status = build(&s, curve);
  vs_span_stack_deinit(host, &s.span_stack);
  vs_vec_free(host, &s.centres);
  vs_vec_free(host, &s.runs);
  if (status != VS_OK) vs_picture_deinit(host, out);
  return status;
}

void vs_picture_deinit(const vs_host *host, vs_picture *picture) {
  vs_vec_free(host, &picture->sample_column);
  vs_vec_free(host, &picture->sample_event);
  vs_vec_free(host, &picture->sample_bytes);
  vs_vec_free(host, &picture->sample_kept);
  vs_vec_free(host, &picture->sample_run);
  vs_vec_free(host, &picture->run_end);
  vs_vec_free(host, &picture->run_row);
  vs_vec_free(host, &picture->run_group);
  vs_vec_free(host, &picture->run_flags);
}
