#include "analyze/fragmentation.h"
#include "analyze/arrange.h"

/* The smallest request in the trace, by the kind of segment that serves it. Segments of another kind serve both. */
void vs_smallest_requests(const vs_moment_index *moments, uint64_t smallest[VS_SEGMENT_KINDS]) {
  const uint64_t low = moments->smallest, large = moments->smallest_large;
  for (int kind = 0; kind < VS_SEGMENT_KINDS; kind++) smallest[kind] = VS_NO_SIZE;
  if (low != VS_NO_SIZE) smallest[VS_SEGMENT_OTHER] = vs_round_request(low);
  if (low <= VS_LARGEST_SMALL_REQUEST) smallest[VS_SEGMENT_SMALL] = vs_round_request(low);
  if (large != VS_NO_SIZE) smallest[VS_SEGMENT_LARGE] = vs_round_request(large);
}

/* ---- one segment --------------------------------------------------------------------------------------- */

/* Bytes of whole pages inside a free block. Offsets are relative to the segment, where its first page begins. */
static uint64_t whole_pages(uint64_t from, uint64_t to, uint64_t page) {
  const uint64_t first = from / page + (from % page != 0), last = to / page;
  VS_ASSERT(from <= to);
  return last > first ? (last - first) * page : 0;
}

uint32_t vs_hole_class(uint64_t size) {
  uint32_t hole_class = 0;
  for (size /= 1024; size > 0 && hole_class < VS_HOLE_CLASSES - 1; size /= 2) hole_class++;
  return hole_class;
}

uint64_t vs_hole_class_from(uint32_t hole_class) {
  VS_ASSERT(hole_class < VS_HOLE_CLASSES);
  return hole_class == 0 ? 0 : UINT64_C(512) << hole_class;
}

vs_measure vs_measure_begin(const vs_state_segment *segment, uint64_t smallest, uint64_t *class_bytes) {
  return (vs_measure){.segment = segment,
                      .smallest = smallest,
                      .class_bytes = class_bytes,
                      .cursor = segment->address,
                      .holes = {.reserved = segment->size, .is_unusable_known = smallest != VS_NO_SIZE}};
}

static void add_hole(vs_measure *m, uint64_t to) {
  vs_holes *holes = &m->holes;
  const uint64_t size = to - m->cursor;
  VS_ASSERT(to >= m->cursor);
  if (size == 0) return;
  holes->hole_count++;
  holes->largest_hole = vs_max_u64(holes->largest_hole, size);
  if (holes->is_unusable_known && size < m->smallest) holes->unusable += size;
  if (m->class_bytes != NULL) {
    uint64_t *bytes = &m->class_bytes[vs_hole_class(size)];
    *bytes = vs_sat_add_u64(*bytes, size);
  }
  if (!m->segment->is_expandable) return;
  const uint64_t page = m->segment->kind == VS_SEGMENT_SMALL ? VS_SMALL_PAGE : VS_LARGE_PAGE;
  m->pages += whole_pages(m->cursor - m->segment->address, to - m->segment->address, page);
}

void vs_measure_block(vs_measure *m, uint64_t address, uint64_t size) {
  VS_ASSERT(size <= UINT64_MAX - address);
  add_hole(m, address);
  m->holes.active += size;
  m->cursor = address + size;
  m->has_blocks = true;
}

vs_holes vs_measure_end(vs_measure *m) {
  vs_holes *holes = &m->holes;
  add_hole(m, vs_sat_add_u64(m->segment->address, m->segment->size));
  VS_ASSERT(holes->active <= holes->reserved);
  holes->free = holes->reserved - holes->active;
  holes->releasable = m->has_blocks ? m->pages : holes->free;
  VS_ASSERT(holes->releasable <= holes->free);
  holes->pinned = holes->free - holes->releasable;
  if (holes->free == 0) holes->is_unusable_known = true;
  return *holes;
}

static vs_holes measure(const vs_state *state, const vs_state_segment *segment, uint64_t smallest,
                        uint64_t *class_bytes) {
  VS_ASSERT(segment->first_block + (uint64_t)segment->block_count <= state->blocks.count);
  vs_measure m = vs_measure_begin(segment, smallest, class_bytes);
  for (uint32_t i = 0; i < segment->block_count; i++) {
    const vs_state_block *block = &state->blocks.data[segment->first_block + i];
    vs_measure_block(&m, block->address, block->size);
  }
  return vs_measure_end(&m);
}

void vs_holes_add(vs_holes *to, const vs_holes *holes) {
  to->reserved = vs_sat_add_u64(to->reserved, holes->reserved);
  to->active = vs_sat_add_u64(to->active, holes->active);
  to->free = vs_sat_add_u64(to->free, holes->free);
  to->pinned = vs_sat_add_u64(to->pinned, holes->pinned);
  to->releasable = vs_sat_add_u64(to->releasable, holes->releasable);
  to->largest_hole = vs_max_u64(to->largest_hole, holes->largest_hole);
  to->hole_count += holes->hole_count;
  to->unusable = vs_sat_add_u64(to->unusable, holes->unusable);
  to->is_unusable_known &= holes->is_unusable_known;
}

/* ---- areas --------------------------------------------------------------------------------------------- */

typedef struct builder {
  const vs_host *host;
  const vs_snapshot *snapshot;
  vs_fragmentation *out;
  vs_map area_by_hash;
} builder;

static vs_status find_area(builder *b, const vs_state_segment *segment, vs_area **area) {
  const uint64_t places = (uint64_t)segment->pool << 32 | segment->stream;
  VS_ASSERT(segment->kind < VS_SEGMENT_KINDS);
  const uint64_t hash = vs_hash_u64(places ^ (uint64_t)segment->kind << 62);
  for (size_t slot = vs_map_find(&b->area_by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&b->area_by_hash, slot)) {
    *area = &b->out->areas.data[b->area_by_hash.slots[slot].value];
    if ((*area)->pool == segment->pool && (*area)->stream == segment->stream &&
        (uint8_t)(*area)->kind == segment->kind)
      return VS_OK;
  }
  VS_TRY(vs_vec_reserve(b->host, &b->out->areas, 1));
  VS_TRY(vs_map_reserve(b->host, &b->area_by_hash));
  vs_map_add(&b->area_by_hash, hash, (uint32_t)b->out->areas.count);
  *area = &b->out->areas.data[b->out->areas.count++];
  **area =
      (vs_area){.pool = segment->pool, .stream = segment->stream, .kind = (vs_segment_kind)segment->kind};
  (*area)->holes.is_unusable_known = true;
  return VS_OK;
}

/* Compares what the file says (handles, ids) and not indices, which differ between files with the same content. */
static bool area_before(const void *ctx, uint32_t a, uint32_t b) {
  const builder *f = ctx;
  const vs_area *x = &f->out->areas.data[a], *y = &f->out->areas.data[b];
  if (x->holes.reserved != y->holes.reserved) return x->holes.reserved > y->holes.reserved;
  if (x->pool != y->pool) return vs_pool_before(f->snapshot, x->pool, y->pool);
  if (x->kind != y->kind) return x->kind < y->kind;
  return f->snapshot->streams.data[x->stream] < f->snapshot->streams.data[y->stream];
}

static bool pinned_before(const void *ctx, uint32_t a, uint32_t b) {
  const builder *f = ctx;
  const vs_pinned *x = &f->out->pinned.data[a], *y = &f->out->pinned.data[b];
  if (x->pinned != y->pinned) return x->pinned > y->pinned;
  if (x->free != y->free) return x->free > y->free;
  return x->active != y->active ? x->active < y->active : x->segment < y->segment;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static vs_status add_segments(builder *b) {
  vs_fragmentation *out = b->out;
  out->all.is_unusable_known = true;
  for (size_t i = 0; i < out->state.segments.count; i++) {
    const vs_state_segment *segment = &out->state.segments.data[i];
    const vs_holes holes = measure(&out->state, segment, out->smallest_request[segment->kind], NULL);
    vs_area *area;
    VS_TRY(find_area(b, segment, &area));
    area->segments++;
    vs_holes_add(&area->holes, &holes);
    vs_holes_add(&out->all, &holes);
    if (holes.pinned == 0) continue;
    VS_TRY(vs_vec_reserve(b->host, &out->pinned, 1));
    out->pinned.data[out->pinned.count++] = (vs_pinned){
        .segment = (uint32_t)i, .active = holes.active, .free = holes.free, .pinned = holes.pinned};
  }
  return VS_OK;
}

static vs_status build(builder *b, const vs_moment_index *moments, vs_moment moment, uint32_t most_pinned) {
  vs_fragmentation *out = b->out;
  vs_smallest_requests(moments, out->smallest_request);
  VS_TRY(vs_state_at(b->host, moments, moment, &out->state));
  VS_TRY(add_segments(b));
  VS_ASSERT(out->all.free == UINT64_MAX ||
            out->all.free == vs_sat_add_u64(out->all.pinned, out->all.releasable));
  VS_TRY(vs_arrange(b->host, out->areas.data, out->areas.count, sizeof *out->areas.data, area_before, b));
  VS_TRY(
      vs_arrange(b->host, out->pinned.data, out->pinned.count, sizeof *out->pinned.data, pinned_before, b));
  if (out->pinned.count > most_pinned) out->pinned.count = most_pinned;
  return VS_OK;
}

vs_status vs_fragmentation_at(const vs_host *host, const vs_moment_index *moments, vs_moment moment,
                              uint32_t most_pinned, vs_fragmentation *out) {
  *out = (vs_fragmentation){0};
  builder b = {.host = host, .snapshot = moments->lifetimes->slice->snapshot, .out = out};
  const vs_status status = build(&b, moments, moment, most_pinned);
  vs_map_deinit(host, &b.area_by_hash);
  if (status != VS_OK) vs_fragmentation_deinit(host, out);
  return status;
}

vs_status vs_fragmentation_build(const vs_host *host, const vs_lifetimes *lifetimes, vs_moment moment,
                                 uint32_t most_pinned, vs_fragmentation *out) {
  vs_moment_index moments;
  VS_TRY(vs_moment_index_build(host, lifetimes, &moments));
  const vs_status status = vs_fragmentation_at(host, &moments, moment, most_pinned, out);
  vs_moment_index_deinit(host, &moments);
  return status;
}

vs_status vs_holes_at(const vs_host *host, const vs_moment_index *moments, vs_moment moment, vs_holes *out,
                      uint64_t class_bytes[VS_HOLE_CLASSES]) {
  vs_state state;
  uint64_t smallest[VS_SEGMENT_KINDS];
  vs_smallest_requests(moments, smallest);
  *out = (vs_holes){.is_unusable_known = true};
  memset(class_bytes, 0, VS_HOLE_CLASSES * sizeof *class_bytes);
  VS_TRY(vs_state_at(host, moments, moment, &state));
  for (size_t i = 0; i < state.segments.count; i++) {
    const vs_state_segment *segment = &state.segments.data[i];
    const vs_holes holes = measure(&state, segment, smallest[segment->kind], class_bytes);
    vs_holes_add(out, &holes);
  }
  vs_state_deinit(host, &state);
  return VS_OK;
}

void vs_fragmentation_deinit(const vs_host *host, vs_fragmentation *fragmentation) {
  vs_state_deinit(host, &fragmentation->state);
  vs_vec_free(host, &fragmentation->areas);
  vs_vec_free(host, &fragmentation->pinned);
}
