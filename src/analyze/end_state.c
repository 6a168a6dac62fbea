#include "analyze/end_state.h"
#include "analyze/arrange.h"
#include "base/text.h"

vs_segment_kind vs_segment_kind_of(const vs_snapshot *snapshot, const vs_segment *segment) {
  const vs_str type = vs_snapshot_string(snapshot, segment->type);
  if (vs_str_equal(type, VS_STR("small"))) return VS_SEGMENT_SMALL;
  if (vs_str_equal(type, VS_STR("large"))) return VS_SEGMENT_LARGE;
  if (type.size > 0) return VS_SEGMENT_OTHER;
  return vs_segment_kind_by_size(segment->total_size);
}

vs_segment_kind vs_segment_kind_by_size(uint64_t size) {
  return size <= 2 * 1024 * 1024 ? VS_SEGMENT_SMALL : VS_SEGMENT_LARGE;
}

const char *vs_segment_kind_name(vs_segment_kind kind) {
  return kind == VS_SEGMENT_SMALL ? "small" : kind == VS_SEGMENT_LARGE ? "large" : "other";
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

static void add_to(uint64_t *sum, uint64_t value) { *sum = vs_sat_add_u64(*sum, value); }

static void add_block(vs_end_sums *sums, const vs_block *block) {
  sums->blocks++;
  add_to(&sums->reserved, block->size);
  if (!vs_block_is_active(block)) {
    sums->inactive_blocks++;
    add_to(&sums->inactive, block->size);
    return;
  }
  add_to(&sums->active, block->size);
  add_to(&sums->requested, block->requested_size);
  if (block->state == VS_BLOCK_PENDING) {
    sums->pending_blocks++;
    add_to(&sums->pending, block->size);
  } else {
    sums->allocated_blocks++;
    add_to(&sums->allocated, block->size);
    if (block->size > block->requested_size) add_to(&sums->rounding, block->size - block->requested_size);
  }
}

static void add_sums(vs_end_sums *to, const vs_end_sums *sums) {
  add_to(&to->reserved, sums->reserved);
  add_to(&to->allocated, sums->allocated);
  add_to(&to->active, sums->active);
  add_to(&to->requested, sums->requested);
  add_to(&to->pending, sums->pending);
  add_to(&to->inactive, sums->inactive);
  add_to(&to->rounding, sums->rounding);
  to->segments += sums->segments;
  to->blocks += sums->blocks;
  to->allocated_blocks += sums->allocated_blocks;
  to->pending_blocks += sums->pending_blocks;
  to->inactive_blocks += sums->inactive_blocks;
}

vs_end_sums vs_segment_sums(const vs_snapshot *snapshot, const vs_segment *segment) {
  vs_end_sums sums = {.segments = 1};
  VS_ASSERT(segment->first_block + (uint64_t)segment->block_count <= snapshot->blocks.count);
  for (uint32_t i = 0; i < segment->block_count; i++)
    add_block(&sums, &snapshot->blocks.data[segment->first_block + i]);
  return sums;
}

/* ---- parts --------------------------------------------------------------------------------------------- */

/* Builds the parts by key from one pair (key, segment row) per segment. */
static vs_status build_parts(const vs_host *host, const vs_snapshot *s, vs_sort_pair *pairs, uint32_t count,
                             vs_end_parts *parts) {
  VS_TRY(vs_sort_pairs(host, pairs, count));
  for (uint32_t i = 0; i < count; i++) {
    if (i == 0 || pairs[i].key != pairs[i - 1].key) {
      VS_TRY(vs_vec_reserve(host, parts, 1));
      parts->data[parts->count++] = (vs_end_part){.key = (uint32_t)pairs[i].key};
    }
    const vs_end_sums sums = vs_segment_sums(s, &s->segments.data[pairs[i].value]);
    VS_ASSERT(parts->data[parts->count - 1].key == pairs[i].key);
    add_sums(&parts->data[parts->count - 1].sums, &sums);
  }
  return VS_OK;
}

typedef struct order {
  const vs_snapshot *snapshot;
  const vs_end_part *parts;
} order;

static bool stream_before(const void *ctx, uint32_t a, uint32_t b) {
  const order *o = ctx;
  const uint64_t *handles = o->snapshot->streams.data;
  return handles[o->parts[a].key] < handles[o->parts[b].key];
}

static bool pool_before(const void *ctx, uint32_t a, uint32_t b) {
  const order *o = ctx;
  return vs_pool_before(o->snapshot, o->parts[a].key, o->parts[b].key);
}

static vs_status arrange_parts(const vs_host *host, const vs_snapshot *s, vs_end_parts *parts,
                               vs_sort_before before) {
  const order o = {.snapshot = s, .parts = parts->data};
  return vs_arrange(host, parts->data, parts->count, sizeof *parts->data, before, &o);
}

static vs_status build_all_parts(const vs_host *host, const vs_slice *slice, vs_end_state *out) {
  const vs_snapshot *s = slice->snapshot;
  const uint32_t count = slice->segment_count;
  VS_VEC(vs_sort_pair) pairs = {0};
  VS_TRY(vs_vec_reserve(host, &pairs, count));
  VS_ASSERT(pairs.capacity >= count);
  for (uint32_t i = 0; i < count; i++)
    pairs.data[i] = (vs_sort_pair){s->segments.data[slice->segments[i]].stream, slice->segments[i]};
  vs_status status = build_parts(host, s, pairs.data, count, &out->by_stream);
  for (uint32_t i = 0; i < count; i++)
    pairs.data[i] = (vs_sort_pair){s->segments.data[slice->segments[i]].pool, slice->segments[i]};
  if (status == VS_OK) status = build_parts(host, s, pairs.data, count, &out->by_pool);
  if (status == VS_OK) status = arrange_parts(host, s, &out->by_stream, stream_before);
  if (status == VS_OK) status = arrange_parts(host, s, &out->by_pool, pool_before);
  vs_vec_free(host, &pairs);
  return status;
}

vs_status vs_end_state_build(const vs_host *host, const vs_slice *slice, vs_end_state *out) {
  *out = (vs_end_state){0};
  for (uint32_t i = 0; i < slice->segment_count; i++) {
    const vs_segment *segment = &slice->snapshot->segments.data[slice->segments[i]];
    const vs_end_sums sums = vs_segment_sums(slice->snapshot, segment);
    add_sums(&out->all, &sums);
    add_sums(&out->by_kind[vs_segment_kind_of(slice->snapshot, segment)], &sums);
    if (segment->is_expandable) add_sums(&out->expandable, &sums);
  }
  const vs_status status = build_all_parts(host, slice, out);
  VS_ASSERT(out->all.segments == slice->segment_count);
  if (status != VS_OK) vs_end_state_deinit(host, out);
  return status;
}

void vs_end_state_deinit(const vs_host *host, vs_end_state *end) {
  vs_vec_free(host, &end->by_stream);
  vs_vec_free(host, &end->by_pool);
}
