#include "analyze/groups.h"
#include "analyze/arrange.h"
#include "base/text.h"

static const char *const NAMES[VS_GROUP_BYS] = {
    [VS_BY_STACK] = "stack",
    [VS_BY_LINE] = "line",
    [VS_BY_STREAM] = "stream",
    [VS_BY_POOL] = "pool",
    [VS_BY_SIZE] = "size",
    [VS_BY_CATEGORY] = "category",
    [VS_BY_ANNOTATION] = "annotation",
};

const char *vs_group_by_name(vs_group_by by) { return NAMES[by]; }

bool vs_group_by_find(vs_str name, vs_group_by *by) {
  for (int i = 0; i < VS_GROUP_BYS; i++) {
    if (!vs_str_equal(name, vs_str_from(NAMES[i]))) continue;
    *by = (vs_group_by)i;
    return true;
  }
  return false;
}

/* ---- summing up ---------------------------------------------------------------------------------------- */

typedef struct builder {
  const vs_host *host;
  const vs_lifetimes *lifetimes;
  vs_frames *frames;
  vs_groups *out;
  VS_VEC(uint64_t) largest; /* of each group: bytes of the largest allocation */
  vs_map by_key;            /* key -> group */
  vs_map lines;             /* hash of a frame's place -> frame, the first one met there */
  vs_segment_index segments;
  vs_named_ranges ranges;
} builder;

static vs_status add(builder *b, uint32_t key, const vs_group *part, uint64_t largest) {
  size_t slot = vs_map_find(&b->by_key, key);
  if (slot == VS_MAP_NONE) {
    VS_TRY(vs_vec_reserve(b->host, &b->out->list, 1));
    VS_TRY(vs_vec_reserve(b->host, &b->largest, 1));
    VS_TRY(vs_map_reserve(b->host, &b->by_key));
    vs_map_add(&b->by_key, key, (uint32_t)b->out->list.count);
    b->out->list.data[b->out->list.count++] =
        (vs_group){.bytes = part->bytes, .count = part->count, .key = key, .stack = part->stack};
    b->largest.data[b->largest.count++] = largest;
    return VS_OK;
  }
  const uint32_t at = b->by_key.slots[slot].value;
  vs_group *group = &b->out->list.data[at];
  group->bytes = vs_sat_add_u64(group->bytes, part->bytes);
  group->count += part->count;
  if (largest > b->largest.data[at]) {
    b->largest.data[at] = largest;
    group->stack = part->stack;
  }
  return VS_OK;
}

static uint32_t exponent(uint64_t size) { return size == 0 ? 0 : 63 - (uint32_t)__builtin_clzll(size); }

static uint32_t key_of(const builder *b, vs_group_by by, const vs_lifetime *row, uint32_t stack) {
  const vs_slice *slice = b->lifetimes->slice;
  const vs_events *events = &slice->snapshot->events;
  const bool has_start = row->start != VS_NO_EVENT;
  switch (by) {
    case VS_BY_STREAM: return vs_lifetime_stream(b->lifetimes, row);
    case VS_BY_POOL: return vs_lifetime_pool(b->lifetimes, &b->segments, row);
    case VS_BY_SIZE: return exponent(row->size);
    case VS_BY_CATEGORY:
      return has_start ? vs_events_category(events, vs_slice_row(slice, row->start)) : VS_STRING_NONE;
    case VS_BY_ANNOTATION:
      return has_start ? vs_named_ranges_at(&b->ranges, vs_slice_time(slice, row->start)) : VS_STRING_NONE;
    case VS_BY_STACK:
    case VS_BY_LINE: break;
  }
  return stack == VS_LIST_EMPTY ? VS_LIST_NONE : stack;
}

static vs_status add_rows(builder *b, const uint32_t *rows, size_t count, vs_group_by by) {
  for (size_t i = 0; i < count; i++) {
    const vs_lifetime *row = &b->lifetimes->rows.data[rows[i]];
    const vs_group part = {.bytes = row->size, .count = 1, .stack = vs_lifetime_stack(b->lifetimes, row)};
    VS_TRY(add(b, key_of(b, by, row, part.stack), &part, row->size));
    b->out->bytes = vs_sat_add_u64(b->out->bytes, row->size);
  }
  b->out->count = count;
  return VS_OK;
}

/* ---- lines: groups of groups by stack ------------------------------------------------------------------ */

static bool same_place(const vs_snapshot *s, uint32_t a, uint32_t b) {
  const vs_frame *fa = &s->stacks.frames.data[a], *fb = &s->stacks.frames.data[b];
  if (fa->file != fb->file) return false;
  const bool has_line = vs_frame_has_line(s, a);
  return has_line == vs_frame_has_line(s, b) && (has_line ? fa->line == fb->line : fa->name == fb->name);
}

/* One frame for all that name the same line, or, where there is no line, the same function. */
static vs_status line_key(builder *b, uint32_t frame, uint32_t *key) {
  const vs_snapshot *s = b->frames->snapshot;
  const vs_frame *f = &s->stacks.frames.data[frame];
  const uint64_t place = vs_frame_has_line(s, frame) ? (uint64_t)f->line : f->name;
  const uint64_t hash = vs_hash_mix(place ^ UINT64_C(0x9e3779b97f4a7c15), vs_hash_u64(f->file));
  for (size_t slot = vs_map_find(&b->lines, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&b->lines, slot)) {
    *key = 1 + b->lines.slots[slot].value;
    if (same_place(s, frame, *key - 1)) return VS_OK;
  }
  VS_TRY(vs_map_reserve(b->host, &b->lines));
  vs_map_add(&b->lines, hash, frame);
  *key = 1 + frame;
  return VS_OK;
}

static vs_status merge_lines(builder *b) {
  vs_groups stacks = *b->out;
  *b->out = (vs_groups){.by = VS_BY_LINE, .bytes = stacks.bytes, .count = stacks.count};
  uint64_t *largest = b->largest.data;
  const size_t largest_capacity = b->largest.capacity;
  b->largest.data = NULL;
  b->largest.count = b->largest.capacity = 0;
  vs_map_clear(&b->by_key);
  vs_status status = VS_OK;
  for (size_t i = 0; i < stacks.list.count && status == VS_OK; i++) {
    const vs_group *group = &stacks.list.data[i];
    const uint32_t frame = vs_frames_user(b->frames, group->key);
    uint32_t key = 0;
    if (frame != VS_NO_FRAME) status = line_key(b, frame, &key);
    if (status == VS_OK) status = add(b, key, group, largest[i]);
  }
  vs_host_free(b->host, largest, largest_capacity * sizeof *largest);
  vs_groups_deinit(b->host, &stacks);
  return status;
}

/* ---- order --------------------------------------------------------------------------------------------- */

static bool before(const void *ctx, uint32_t a, uint32_t b) {
  const vs_group *groups = ctx, *ga = &groups[a], *gb = &groups[b];
  if (ga->bytes != gb->bytes) return ga->bytes > gb->bytes;
  return ga->count > gb->count; /* not by key: ids differ between files that say the same */
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static vs_status build(builder *b, const uint32_t *rows, size_t count, vs_group_by by) {
  const vs_slice *slice = b->lifetimes->slice;
  if (by == VS_BY_POOL) VS_TRY(vs_segment_index_build(b->host, slice, &b->segments));
  if (by == VS_BY_ANNOTATION) VS_TRY(vs_named_ranges_build(b->host, slice, &b->ranges));
  VS_TRY(add_rows(b, rows, count, by));
  if (by == VS_BY_LINE) VS_TRY(merge_lines(b));
  vs_group *groups = b->out->list.data;
  return vs_arrange(b->host, groups, b->out->list.count, sizeof *groups, before, groups);
}

vs_status vs_groups_build(const vs_host *host, const vs_lifetimes *lifetimes, const uint32_t *rows,
                          size_t count, vs_group_by by, vs_frames *frames, vs_groups *out) {
  *out = (vs_groups){.by = by};
  if (by == VS_BY_LINE && frames == NULL) return VS_BAD_ARGUMENT;
  builder b = {.host = host, .lifetimes = lifetimes, .frames = frames, .out = out};
  const vs_status status = build(&b, rows, count, by);
  vs_vec_free(host, &b.largest);
  vs_map_deinit(host, &b.by_key);
  vs_map_deinit(host, &b.lines);
  vs_segment_index_deinit(host, &b.segments);
  vs_named_ranges_deinit(host, &b.ranges);
  if (status != VS_OK) vs_groups_deinit(host, out);
  return status;
}

void vs_groups_deinit(const vs_host *host, vs_groups *groups) { vs_vec_free(host, &groups->list); }

/* ---- names --------------------------------------------------------------------------------------------- */

static void frame_name(const vs_snapshot *s, uint32_t frame, vs_group_name *out) {
  if (frame == VS_NO_FRAME) {
    out->text = VS_STR("no stack recorded");
    return;
  }
  const vs_frame *f = &s->stacks.frames.data[frame];
  out->known = true;
  out->frame = frame;
  out->text = vs_snapshot_string(s, f->name);
  out->file = vs_snapshot_string(s, f->file);
  out->has_line = vs_frame_has_line(s, frame);
  if (out->has_line) out->line = f->line;
}

static void string_name(const vs_snapshot *s, uint32_t string, vs_str otherwise, vs_group_name *out) {
  out->known = string != VS_STRING_NONE;
  out->text = out->known ? vs_snapshot_string(s, string) : otherwise;
}

void vs_group_name_get(const vs_snapshot *snapshot, vs_frames *frames, vs_group_by by, const vs_group *group,
                       vs_group_name *out) {
  const uint32_t key = group->key;
  *out = (vs_group_name){.text = VS_STR(""), .file = VS_STR(""), .frame = VS_NO_FRAME};
  switch (by) {
    case VS_BY_STACK: frame_name(snapshot, vs_frames_user(frames, key), out); break;
    case VS_BY_LINE: frame_name(snapshot, key == 0 ? VS_NO_FRAME : key - 1, out); break;
    case VS_BY_STREAM:
      out->known = key < snapshot->streams.count;
      if (out->known) out->numbers[0] = snapshot->streams.data[key];
      else out->text = VS_STR("stream not known");
      break;
    case VS_BY_POOL:
      out->known = key != 0;
      if (key == 0) {
        out->text = VS_STR("pool not known");
      } else {
        out->numbers[0] = snapshot->pools.data[key - 1].a;
        out->numbers[1] = snapshot->pools.data[key - 1].b;
      }
      break;
    case VS_BY_SIZE:
      out->known = true;
      out->numbers[0] = key == 0 ? 0 : UINT64_C(1) << key;
      out->numbers[1] = (UINT64_C(2) << key) - 1; /* key 63: 2^64 - 1 */
      break;
    case VS_BY_CATEGORY: string_name(snapshot, key, VS_STR("no category recorded"), out); break;
    case VS_BY_ANNOTATION: string_name(snapshot, key, VS_STR("outside of every annotation"), out); break;
  }
}
