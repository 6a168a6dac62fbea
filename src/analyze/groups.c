#include "analyze/groups.h"
#include "analyze/arrange.h"
#include "base/text.h"

static const char *const NAMES[VS_GROUP_BYS] = {
    [VS_BY_STACK] = "stack",       [VS_BY_LINE] = "line",         [VS_BY_INNERMOST] = "innermost",
    [VS_BY_STREAM] = "stream",     [VS_BY_POOL] = "pool",         [VS_BY_SIZE] = "size",
    [VS_BY_CATEGORY] = "category", [VS_BY_METADATA] = "metadata", [VS_BY_ANNOTATION] = "annotation",
    [VS_BY_LIFETIME] = "lifetime",
};

const char *vs_group_by_name(vs_group_by by) {
  VS_ASSERT((int)by < VS_GROUP_BYS);
  return NAMES[by];
}

bool vs_group_by_find(vs_str name, vs_group_by *by) {
  for (int i = 0; i < VS_GROUP_BYS; i++) {
    if (!vs_str_equal(name, vs_str_from(NAMES[i]))) continue;
    *by = (vs_group_by)i;
    return true;
  }
  return false;
}

/* ---- keys ---------------------------------------------------------------------------------------------- */

static uint32_t exponent(uint64_t size) { return size == 0 ? 0 : 63 - (uint32_t)__builtin_clzll(size); }

static uint32_t power_of_ten(uint64_t number) {
  uint32_t power = 0;
  for (; number >= 10; number /= 10) power++;
  return power;
}

static uint32_t bound_of(const vs_snapshot *s, vs_group_by by) {
  switch (by) {
    case VS_BY_STACK: return VS_OWNER_frame + vs_lists_count(&s->stacks.lists);
    case VS_BY_LINE:
    case VS_BY_INNERMOST: return VS_OWNER_frame + (uint32_t)s->stacks.frames.count;
    case VS_BY_STREAM: return (uint32_t)s->streams.count + 1;
    case VS_BY_POOL: return (uint32_t)s->pools.count + 1;
    case VS_BY_SIZE: return 64;
    case VS_BY_CATEGORY:
    case VS_BY_METADATA:
    case VS_BY_ANNOTATION: return vs_strings_count(&s->strings);
    case VS_BY_LIFETIME: break;
  }
  return VS_LIVES_KINDS;
}

static bool is_by_line(vs_group_by by) { return by == VS_BY_LINE || by == VS_BY_INNERMOST; }

static vs_status prepare(vs_keys *keys) {
  if (keys->by == VS_BY_ANNOTATION) return vs_named_ranges_build(keys->host, keys->slice, &keys->ranges);
  if (!is_by_line(keys->by)) return VS_OK;
  const size_t stacks = vs_lists_count(&keys->slice->snapshot->stacks.lists);
  VS_TRY(vs_vec_reserve(keys->host, &keys->line_of_stack, stacks));
  memset(keys->line_of_stack.data, 0, stacks * sizeof *keys->line_of_stack.data);
  keys->line_of_stack.count = stacks;
  return VS_OK;
}

vs_status vs_keys_init(vs_keys *keys, const vs_host *host, const vs_slice *slice, vs_group_by by,
                       vs_frames *frames) {
  *keys = (vs_keys){.host = host, .slice = slice, .by = by, .frames = frames};
  if ((is_by_line(by) || by == VS_BY_STACK) && frames == NULL) return VS_BAD_ARGUMENT;
  keys->bound = bound_of(slice->snapshot, by);
  const vs_status status = prepare(keys);
  if (status != VS_OK) vs_keys_deinit(keys);
  return status;
}

void vs_keys_deinit(vs_keys *keys) {
  vs_vec_free(keys->host, &keys->line_of_stack);
  vs_map_deinit(keys->host, &keys->lines);
  vs_named_ranges_deinit(keys->host, &keys->ranges);
}

static bool same_place(vs_frames *frames, uint32_t a, uint32_t b) {
  const vs_frame *all = frames->snapshot->stacks.frames.data;
  const bool by_line = vs_frames_is_by_line(frames, a);
  if (by_line != vs_frames_is_by_line(frames, b)) return false;
  if (all[a].is_forward != all[b].is_forward) return false;
  if (by_line) return all[a].file == all[b].file && all[a].line == all[b].line;
  return all[a].name == all[b].name;
}

/* The key of the first frame met with the same line, or, for frames without a line, with the same function. */
static vs_status line_key(vs_keys *keys, uint32_t frame, uint32_t *key) {
  const vs_frame *f = &keys->slice->snapshot->stacks.frames.data[frame];
  const bool by_line = vs_frames_is_by_line(keys->frames, frame);
  const uint64_t place = by_line ? (uint64_t)f->line : f->name;
  const uint64_t hash = vs_hash_mix(place ^ UINT64_C(0x9e3779b97f4a7c15), vs_hash_u64(by_line ? f->file : 0));
  for (size_t slot = vs_map_find(&keys->lines, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&keys->lines, slot)) {
    const uint32_t known = keys->lines.slots[slot].value;
    *key = VS_OWNER_frame + known;
    if (same_place(keys->frames, frame, known)) return VS_OK;
  }
  VS_TRY(vs_map_reserve(keys->host, &keys->lines));
  vs_map_add(&keys->lines, hash, frame);
  *key = VS_OWNER_frame + frame;
  return VS_OK;
}

/* Determines the key of a stack's user frame, or of its innermost one. The stack must have one. */
static vs_status find_line(vs_keys *keys, uint32_t stack, uint32_t *key) {
  const uint32_t frame =
      keys->by == VS_BY_LINE ? vs_frames_user(keys->frames, stack) : vs_frames_innermost(keys->frames, stack);
  VS_ASSERT(stack < keys->line_of_stack.count && frame != VS_NO_FRAME);
  VS_TRY(line_key(keys, frame, key));
  keys->line_of_stack.data[stack] = 1 + *key;
  return VS_OK;
}

static vs_status owner_key(vs_keys *keys, const vs_keyed *what, uint32_t *key) {
  if (is_by_line(keys->by) && keys->line_of_stack.data[what->stack] != 0) {
    *key = keys->line_of_stack.data[what->stack] - 1;
    return VS_OK;
  }
  const bool is_whole = keys->by == VS_BY_STACK && what->stack > VS_LIST_EMPTY;
  *key = is_whole ? VS_OWNER_frame + what->stack
                  : vs_frames_owner(keys->frames, what->stack, what->start == VS_NO_EVENT);
  return *key == VS_OWNER_frame ? find_line(keys, what->stack, key) : VS_OK;
}

static uint32_t lifetime_key(const vs_slice *slice, const vs_keyed *what) {
  if (what->end == VS_NO_EVENT) return VS_LIVES_ON;
  if (what->start == VS_NO_EVENT) return VS_LIVES_SINCE_BEFORE;
  VS_ASSERT(what->end > what->start);
  const int64_t from = vs_slice_time(slice, what->start), to = vs_slice_time(slice, what->end);
  if (from == VS_NO_TIME || to == VS_NO_TIME) return VS_LIVES_EVENTS + power_of_ten(what->end - what->start);
  return VS_LIVES_US + power_of_ten(to > from ? (uint64_t)to - (uint64_t)from : 0);
}

vs_status vs_key_of(vs_keys *keys, const vs_keyed *what, uint32_t *key) {
  const vs_slice *slice = keys->slice;
  const bool has_start = what->start != VS_NO_EVENT;
  switch (keys->by) {
    case VS_BY_STACK:
    case VS_BY_LINE:
    case VS_BY_INNERMOST: return owner_key(keys, what, key);
    case VS_BY_STREAM: *key = what->stream; break;
    case VS_BY_POOL: *key = what->pool; break;
    case VS_BY_SIZE: *key = exponent(what->size); break;
    case VS_BY_CATEGORY:
      *key = has_start ? vs_events_category(&slice->snapshot->events, vs_slice_row(slice, what->start))
                       : VS_STRING_NONE;
      break;
    case VS_BY_METADATA:
      *key = has_start ? vs_event_metadata(&slice->snapshot->events, vs_slice_row(slice, what->start))
                       : VS_STRING_NONE;
      break;
    case VS_BY_ANNOTATION:
      *key =
          has_start ? vs_named_ranges_at(&keys->ranges, vs_slice_time(slice, what->start)) : VS_STRING_NONE;
      break;
    case VS_BY_LIFETIME: *key = lifetime_key(slice, what); break;
  }
  VS_ASSERT(*key < keys->bound);
  return VS_OK;
}

vs_keyed vs_keyed_lifetime(const vs_lifetimes *lifetimes, const vs_segment_index *segments, uint32_t row) {
  const vs_lifetime *life = &lifetimes->rows.data[row];
  return (vs_keyed){
      .size = life->size,
      .start = life->start,
      .end = life->end,
      .stack = vs_lifetime_stack(lifetimes, life),
      .stream = vs_lifetime_stream(lifetimes, life),
      .pool = segments == NULL ? 0 : vs_lifetime_pool(lifetimes, segments, life),
  };
}

/* ---- summing up ---------------------------------------------------------------------------------------- */

typedef struct builder {
  const vs_host *host;
  const vs_lifetimes *lifetimes;
  vs_groups *out;
  VS_VEC(uint64_t) largest; /* of each group: bytes of the largest allocation */
  vs_map by_key;            /* key -> group */
  vs_keys keys;
  vs_segment_index segments;
} builder;

static vs_status add(builder *b, uint32_t key, uint64_t bytes, uint32_t stack) {
  const size_t slot = vs_map_find(&b->by_key, key);
  if (slot == VS_MAP_NONE) {
    VS_TRY(vs_vec_reserve(b->host, &b->out->list, 1));
    VS_TRY(vs_vec_reserve(b->host, &b->largest, 1));
    VS_TRY(vs_map_reserve(b->host, &b->by_key));
    vs_map_add(&b->by_key, key, (uint32_t)b->out->list.count);
    b->out->list.data[b->out->list.count++] =
        (vs_group){.bytes = bytes, .count = 1, .each = bytes, .key = key, .stack = stack};
    b->largest.data[b->largest.count++] = bytes;
    return VS_OK;
  }
  const uint32_t at = b->by_key.slots[slot].value;
  VS_ASSERT(at < b->out->list.count && b->out->list.data[at].key == key);
  vs_group *group = &b->out->list.data[at];
  group->bytes = vs_sat_add_u64(group->bytes, bytes);
  group->count++;
  if (bytes != group->each) group->each = 0;
  if (bytes > b->largest.data[at]) {
    b->largest.data[at] = bytes;
    group->stack = stack;
  }
  return VS_OK;
}

static vs_status add_rows(builder *b, const uint32_t *rows, const uint64_t *bytes, size_t count) {
  const vs_segment_index *segments = b->keys.by == VS_BY_POOL ? &b->segments : NULL;
  for (size_t i = 0; i < count; i++) {
    const vs_keyed keyed = vs_keyed_lifetime(b->lifetimes, segments, rows[i]);
    VS_ASSERT(rows[i] < b->lifetimes->rows.count);
    const uint64_t size = bytes == NULL ? keyed.size : bytes[i];
    uint32_t key;
    VS_TRY(vs_key_of(&b->keys, &keyed, &key));
    VS_TRY(add(b, key, size, keyed.stack));
    b->out->bytes = vs_sat_add_u64(b->out->bytes, size);
  }
  b->out->count = count;
  return VS_OK;
}

/* ---- order --------------------------------------------------------------------------------------------- */

static bool before(const void *ctx, uint32_t a, uint32_t b) {
  const vs_group *groups = ctx, *ga = &groups[a], *gb = &groups[b];
  if (ga->bytes != gb->bytes) return ga->bytes > gb->bytes;
  return ga->count > gb->count; /* not by key: ids differ between files with the same content */
}

vs_status vs_groups_arrange(const vs_host *host, vs_groups *groups) {
  vs_group *list = groups->list.data;
  return vs_arrange(host, list, groups->list.count, sizeof *list, before, list);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static vs_status build(builder *b, const uint32_t *rows, const uint64_t *bytes, size_t count,
                       vs_frames *frames) {
  const vs_slice *slice = b->lifetimes->slice;
  VS_TRY(vs_keys_init(&b->keys, b->host, slice, b->out->by, frames));
  if (b->out->by == VS_BY_POOL) VS_TRY(vs_segment_index_build(b->host, slice, &b->segments));
  VS_TRY(add_rows(b, rows, bytes, count));
  return vs_groups_arrange(b->host, b->out);
}

vs_status vs_groups_build_weighed(const vs_host *host, const vs_lifetimes *lifetimes, const uint32_t *rows,
                                  const uint64_t *bytes, size_t count, vs_group_by by, vs_frames *frames,
                                  vs_groups *out) {
  *out = (vs_groups){.by = by};
  builder b = {.host = host, .lifetimes = lifetimes, .out = out};
  const vs_status status = build(&b, rows, bytes, count, frames);
  vs_vec_free(host, &b.largest);
  vs_map_deinit(host, &b.by_key);
  vs_keys_deinit(&b.keys);
  vs_segment_index_deinit(host, &b.segments);
  if (status != VS_OK) vs_groups_deinit(host, out);
  return status;
}

vs_status vs_groups_build(const vs_host *host, const vs_lifetimes *lifetimes, const uint32_t *rows,
                          size_t count, vs_group_by by, vs_frames *frames, vs_groups *out) {
  return vs_groups_build_weighed(host, lifetimes, rows, NULL, count, by, frames, out);
}

/* ---- owners */

typedef VS_VEC(uint32_t) row_list;

static vs_status rows_of_line(const vs_host *host, const vs_lifetimes *lifetimes, const uint32_t *rows,
                              size_t count, vs_keys *lines, uint32_t line, row_list *out) {
  for (size_t i = 0; i < count; i++) {
    const vs_keyed keyed = vs_keyed_lifetime(lifetimes, NULL, rows[i]);
    uint32_t key;
    VS_TRY(vs_key_of(lines, &keyed, &key));
    if (key != line) continue;
    VS_TRY(vs_vec_reserve(host, out, 1));
    out->data[out->count++] = rows[i];
  }
  return VS_OK;
}

static vs_status build_parts(const vs_host *host, const vs_lifetimes *lifetimes, const uint32_t *rows,
                             size_t count, vs_frames *frames, vs_owners *out) {
  const vs_group *owner = out->lines.list.count == 0 ? NULL : &out->lines.list.data[0];
  row_list own = {0};
  vs_keys lines;
  out->parts = (vs_groups){.by = VS_BY_INNERMOST};
  if (owner == NULL || owner->key < VS_OWNER_frame || owner->bytes <= out->lines.bytes / 2) return VS_OK;
  vs_status status = vs_keys_init(&lines, host, lifetimes->slice, VS_BY_LINE, frames);
  if (status == VS_OK) status = rows_of_line(host, lifetimes, rows, count, &lines, owner->key, &own);
  vs_keys_deinit(&lines);
  if (status == VS_OK)
    status = vs_groups_build(host, lifetimes, own.data, own.count, VS_BY_INNERMOST, frames, &out->parts);
  vs_vec_free(host, &own);
  if (out->parts.list.count < 2) vs_groups_deinit(host, &out->parts);
  return status;
}

vs_status vs_owners_build(const vs_host *host, const vs_lifetimes *lifetimes, const uint32_t *rows,
                          size_t count, vs_frames *frames, vs_owners *out) {
  *out = (vs_owners){0};
  vs_status status = vs_groups_build(host, lifetimes, rows, count, VS_BY_LINE, frames, &out->lines);
  if (status == VS_OK) status = build_parts(host, lifetimes, rows, count, frames, out);
  if (status != VS_OK) vs_owners_deinit(host, out);
  return status;
}

void vs_owners_deinit(const vs_host *host, vs_owners *owners) {
  vs_groups_deinit(host, &owners->lines);
  vs_groups_deinit(host, &owners->parts);
}

void vs_groups_deinit(const vs_host *host, vs_groups *groups) { vs_vec_free(host, &groups->list); }

/* ---- names --------------------------------------------------------------------------------------------- */

static void frame_name(vs_frames *frames, uint32_t frame, vs_group_name *out) {
  const vs_snapshot *s = frames->snapshot;
  if (frame == VS_NO_FRAME) { /* only noise */
    out->text = vs_str_from(vs_owner_words(VS_OWNER_unrecorded));
    return;
  }
  const vs_frame *f = &s->stacks.frames.data[frame];
  out->known = true;
  out->frame = frame;
  out->text = vs_snapshot_string(s, f->name);
  out->file = vs_snapshot_string(s, f->file);
  out->has_line = vs_frames_is_by_line(frames, frame);
  if (out->has_line) out->line = f->line;
  out->is_forward = f->is_forward != 0;
}

static void string_name(const vs_snapshot *s, uint32_t string, vs_str otherwise, vs_group_name *out) {
  out->known = string != VS_STRING_NONE;
  out->text = out->known ? vs_snapshot_string(s, string) : otherwise;
}

static void lifetime_name(uint32_t key, vs_group_name *out) {
  out->known = key >= VS_LIVES_US;
  if (key == VS_LIVES_ON) out->text = VS_STR("to the end");
  else if (key == VS_LIVES_SINCE_BEFORE) out->text = VS_STR("from before the trace");
  if (!out->known) return;
  out->is_in_events = key >= VS_LIVES_EVENTS;
  uint64_t from = 1;
  const uint32_t power = key - (out->is_in_events ? VS_LIVES_EVENTS : VS_LIVES_US);
  for (uint32_t n = 0; n < power; n++) from *= 10;
  VS_ASSERT(key < VS_LIVES_KINDS && power < VS_LIVES_EVENTS - VS_LIVES_US);
  out->numbers[0] = power == 0 ? 0 : from;
  out->numbers[1] = power == VS_LIVES_EVENTS - VS_LIVES_US - 1 ? UINT64_MAX : from * 10;
}

void vs_group_name_get(const vs_snapshot *snapshot, vs_frames *frames, vs_group_by by, const vs_group *group,
                       vs_group_name *out) {
  const uint32_t key = group->key;
  *out = (vs_group_name){.text = VS_STR(""), .file = VS_STR(""), .frame = VS_NO_FRAME};
  switch (by) {
    case VS_BY_STACK:
    case VS_BY_LINE:
    case VS_BY_INNERMOST:
      if (key < VS_OWNER_frame) out->text = vs_str_from(vs_owner_words((vs_owner_kind)key));
      else if (is_by_line(by)) frame_name(frames, key - VS_OWNER_frame, out);
      else frame_name(frames, vs_frames_user(frames, key - VS_OWNER_frame), out);
      break;
    case VS_BY_STREAM:
      out->known = key < snapshot->streams.count;
      if (out->known) out->numbers[0] = snapshot->streams.data[key];
      else out->text = VS_STR("stream unknown");
      break;
    case VS_BY_POOL:
      out->known = key != 0;
      if (key == 0) {
        out->text = VS_STR("pool unknown");
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
    case VS_BY_METADATA: string_name(snapshot, key, VS_STR("no metadata set"), out); break;
    case VS_BY_ANNOTATION: string_name(snapshot, key, VS_STR("outside of every annotation"), out); break;
    case VS_BY_LIFETIME: lifetime_name(key, out); break;
  }
}
