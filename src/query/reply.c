#include "query/reply.h"
#include "analyze/whatif_mark.h"
#include "base/human.h"

/* ---- numbers that may be unknown ------------------------------------------------------------------------------- */

void vs_reply_u64_or_null(vs_jsonw *json, const char *key, bool is_known, uint64_t value) {
  if (is_known) vs_jsonw_member_u64(json, key, value);
  else vs_jsonw_member_null(json, key);
}

void vs_reply_i64_or_null(vs_jsonw *json, const char *key, bool is_known, int64_t value) {
  if (is_known) vs_jsonw_member_i64(json, key, value);
  else vs_jsonw_member_null(json, key);
}

void vs_reply_time(vs_jsonw *json, const char *key, int64_t time_us) {
  vs_reply_i64_or_null(json, key, time_us != VS_NO_TIME, time_us);
}

void vs_reply_event(vs_jsonw *json, const char *key, uint32_t event) {
  vs_reply_u64_or_null(json, key, event != VS_NO_EVENT, event);
}

void vs_reply_reserved(const vs_call *call, const char *key, int64_t value) {
  vs_reply_i64_or_null(call->json, key, vs_reply_knows_segments(call), value);
}

void vs_reply_cached(const vs_call *call, const char *key, uint64_t value) {
  vs_reply_u64_or_null(call->json, key, vs_reply_knows_segments(call), value);
}

void vs_reply_share(vs_jsonw *json, const char *key, uint64_t part, uint64_t whole) {
  if (whole == 0 || part > whole) vs_jsonw_member_null(json, key);
  else vs_jsonw_member_f64(json, key, (double)part / (double)whole);
}

void vs_reply_string(const vs_call *call, const char *key, uint32_t string) {
  if (string == VS_STRING_NONE) vs_jsonw_member_null(call->json, key);
  else vs_jsonw_member_str(call->json, key, vs_snapshot_string(call->engine->snapshot, string));
}

void vs_reply_scratch(vs_call *call, const char *key) {
  vs_text *scratch = &call->scratch;
  vs_jsonw_member_str(call->json, key, vs_text_view(scratch));
  scratch->bytes.count = 0;
}

/* ---- places and moments ---------------------------------------------------------------------------------------- */

void vs_reply_device(const vs_call *call, const vs_device_cache *device) {
  vs_reply_i64_or_null(call->json, "device", device != &call->engine->no_device, device->slice->device);
}

void vs_reply_moment(const vs_call *call, const vs_device_cache *device, const char *key, vs_moment moment) {
  vs_reply_object_begin(call->json, key);
  vs_jsonw_member_i64(call->json, "event", moment);
  vs_reply_time(call->json, "time_us", vs_slice_time(device->slice, moment));
  vs_jsonw_object_end(call->json);
}

void vs_reply_stream(const vs_call *call, uint32_t stream) {
  const vs_snapshot *s = call->engine->snapshot;
  vs_reply_u64_or_null(call->json, "stream", stream < s->streams.count,
                       stream < s->streams.count ? s->streams.data[stream] : 0);
}

static void pool_value(const vs_call *call, uint32_t pool) {
  const vs_snapshot *s = call->engine->snapshot;
  if (pool == 0 || pool > s->pools.count) {
    vs_jsonw_null(call->json);
    return;
  }
  vs_jsonw_array_begin(call->json);
  vs_jsonw_u64(call->json, s->pools.data[pool - 1].a);
  vs_jsonw_u64(call->json, s->pools.data[pool - 1].b);
  vs_jsonw_array_end(call->json);
}

void vs_reply_pool(const vs_call *call, uint32_t pool) {
  vs_jsonw_key(call->json, VS_STR("pool"));
  pool_value(call, pool);
}

/* ---- frames, stacks, owners ------------------------------------------------------------------------------------ */

static void frame_words(vs_call *call, const char *key, uint32_t frame,
                        void (*put)(vs_frames *frames, vs_text *text, uint32_t frame)) {
  put(&call->engine->frames, &call->scratch, frame);
  VS_ASSERT(frame < call->engine->snapshot->stacks.frames.count);
  vs_reply_scratch(call, key);
}

void vs_reply_frame(vs_call *call, uint32_t frame) {
  const vs_snapshot *s = call->engine->snapshot;
  if (frame == VS_NO_FRAME) {
    static const char *const keys[] = {"function", "file", "line", "kind", "place", "name"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) vs_jsonw_member_null(call->json, keys[i]);
    return;
  }
  const vs_frame *f = &s->stacks.frames.data[frame];
  vs_reply_string(call, "function", f->name);
  vs_reply_string(call, "file", f->file);
  vs_reply_i64_or_null(call->json, "line", vs_frames_has_line(&call->engine->frames, frame), f->line);
  const vs_frame_kind kind = vs_frames_kind(&call->engine->frames, frame);
  vs_jsonw_member_str(call->json, "kind", vs_str_from(vs_frame_kind_name(kind)));
  frame_words(call, "place", frame, vs_frames_put_place);
  frame_words(call, "name", frame, vs_frames_put_name);
}

void vs_reply_stack_value(vs_call *call, uint32_t stack) {
  if (stack == VS_LIST_NONE) {
    vs_jsonw_null(call->json);
    return;
  }
  const vs_list list = vs_stacks_at(&call->engine->snapshot->stacks, stack);
  const uint64_t most = call->request->frames == 0 ? UINT64_MAX : call->request->frames;
  vs_jsonw_array_begin(call->json);
  for (uint32_t i = 0;
       i < list.count && i < most && !vs_frames_is_border(&call->engine->frames, list.items[i]); i++) {
    vs_jsonw_object_begin(call->json);
    vs_reply_frame(call, list.items[i]);
    vs_jsonw_object_end(call->json);
  }
  vs_jsonw_array_end(call->json);
}

void vs_reply_stack(vs_call *call, uint32_t stack) {
  vs_jsonw_key(call->json, VS_STR("stack"));
  vs_reply_stack_value(call, stack);
  vs_reply_u64_or_null(call->json, "stack_id", stack != VS_LIST_NONE, stack);
  uint32_t place;
  const bool is_there = vs_frames_user_place(&call->engine->frames, stack, &place);
  vs_reply_u64_or_null(call->json, "owner_frame", is_there, is_there ? place : 0);
}

void vs_reply_owner(vs_call *call, uint32_t stack, bool is_older) {
  vs_frames_put_owner(&call->engine->frames, &call->scratch, stack, is_older, VS_PATH_SHORT);
  vs_reply_scratch(call, "label");
  vs_frames_put_owner(&call->engine->frames, &call->scratch, stack, is_older, VS_PATH_WHOLE);
  vs_reply_scratch(call, "long_label");
}

static void put_lifetime(vs_text *text, const vs_group_name *name) {
  if (name->is_in_events) {
    vs_text_count(text, name->numbers[0]);
    vs_text_cstr(text, " to ");
    vs_text_count(text, name->numbers[1]);
    vs_text_cstr(text, " events");
    return;
  }
  vs_text_duration(text, name->numbers[0]);
  vs_text_cstr(text, " to ");
  vs_text_duration(text, name->numbers[1]);
}

/* Composes the label of a group from the parts of its name. */
static void put_label(vs_call *call, vs_group_by by, const vs_group_name *name, vs_path_form path) {
  vs_text *text = &call->scratch;
  VS_ASSERT(text->bytes.count == 0);
  if (!name->known) {
    vs_text_str(text, name->text);
    return;
  }
  switch (by) {
    case VS_BY_STACK:
    case VS_BY_LINE:
    case VS_BY_INNERMOST: vs_frames_put_owning(&call->engine->frames, text, name->frame, path); break;
    case VS_BY_STREAM: vs_text_format(text, "stream %U", name->numbers[0]); break;
    case VS_BY_POOL: vs_text_format(text, "pool (%U, %U)", name->numbers[0], name->numbers[1]); break;
    case VS_BY_SIZE:
      vs_text_bytes(text, name->numbers[0], VS_UNIT_BINARY);
      vs_text_cstr(text, " to ");
      vs_text_bytes(text, name->numbers[1], VS_UNIT_BINARY);
      break;
    case VS_BY_CATEGORY:
    case VS_BY_METADATA:
    case VS_BY_ANNOTATION: vs_text_str(text, name->text); break;
    case VS_BY_LIFETIME: put_lifetime(text, name); break;
  }
}

static void group_key(vs_call *call, vs_group_by by, const vs_group *group, const vs_group_name *name) {
  vs_jsonw *json = call->json;
  vs_jsonw_key(json, VS_STR("key"));
  if (!name->known) {
    vs_jsonw_null(json);
    return;
  }
  switch (by) {
    case VS_BY_STACK: vs_jsonw_u64(json, group->stack); break;
    case VS_BY_LINE:
    case VS_BY_INNERMOST:
      vs_jsonw_object_begin(json);
      vs_reply_frame(call, name->frame);
      vs_jsonw_object_end(json);
      break;
    case VS_BY_STREAM: vs_jsonw_u64(json, name->numbers[0]); break;
    case VS_BY_POOL: pool_value(call, group->key); break;
    case VS_BY_SIZE:
      vs_jsonw_object_begin(json);
      vs_jsonw_member_u64(json, "from_bytes", name->numbers[0]);
      vs_jsonw_member_u64(json, "to_bytes", name->numbers[1]);
      vs_jsonw_object_end(json);
      break;
    case VS_BY_CATEGORY:
    case VS_BY_METADATA:
    case VS_BY_ANNOTATION: vs_jsonw_str(json, name->text); break;
    case VS_BY_LIFETIME:
      vs_jsonw_object_begin(json);
      vs_jsonw_member_u64(json, name->is_in_events ? "from_events" : "from_us", name->numbers[0]);
      vs_jsonw_member_u64(json, name->is_in_events ? "below_events" : "below_us", name->numbers[1]);
      vs_jsonw_object_end(json);
      break;
  }
}

/* Puts a value in double quotes; false if it contains one. */
static bool put_quoted(vs_text *text, vs_str value) {
  vs_text_byte(text, '"');
  for (size_t i = 0; i < value.size; i++) {
    if (value.data[i] == '"') return false;
    vs_text_byte(text, (uint8_t)value.data[i]);
  }
  vs_text_byte(text, '"');
  return true;
}

/* Puts a filter that keeps exactly the members of a group; false if there is none. */
static bool put_filter(vs_call *call, vs_group_by by, const vs_group *group, const vs_group_name *name) {
  vs_text *text = &call->scratch;
  switch (by) {
    case VS_BY_STACK: vs_text_format(text, "stack=%u", group->stack); return true;
    case VS_BY_LINE:
    case VS_BY_INNERMOST:
      vs_text_format(text, "%s=", vs_group_by_name(by));
      if (!name->has_line) return put_quoted(text, name->text);
      vs_text_byte(text, '"');
      if (name->is_forward) vs_text_cstr(text, VS_BACKWARD_OF);
      for (size_t i = 0; i < name->file.size; i++)
        if (name->file.data[i] == '"') return false;
      vs_text_str(text, name->file);
      vs_text_format(text, ":%D\"", name->line);
      return true;
    case VS_BY_STREAM: vs_text_format(text, "stream=%U", name->numbers[0]); return true;
    case VS_BY_POOL: vs_text_format(text, "pool=%U,%U", name->numbers[0], name->numbers[1]); return true;
    case VS_BY_SIZE:
      vs_text_format(text, "size>=%U size<=%U", name->numbers[0], name->numbers[1]);
      return true;
    case VS_BY_CATEGORY: vs_text_cstr(text, "category="); return put_quoted(text, name->text);
    case VS_BY_METADATA: vs_text_cstr(text, "metadata="); return put_quoted(text, name->text);
    case VS_BY_ANNOTATION: vs_text_cstr(text, "annotation="); return put_quoted(text, name->text);
    case VS_BY_LIFETIME:
      if (name->is_in_events || name->numbers[1] > INT64_MAX) return false;
      vs_text_format(text, "lifetime>=%Uus lifetime<%Uus", name->numbers[0], name->numbers[1]);
      return true;
  }
  return false;
}

/* "filter": what the scratch has; null if it is empty. */
static void reply_filter(vs_call *call) {
  if (call->scratch.bytes.count == 0) vs_jsonw_member_null(call->json, "filter");
  else vs_reply_scratch(call, "filter");
}

/* A filter that keeps exactly the members of a group; null if there is none. */
static void group_filter(vs_call *call, vs_group_by by, const vs_group *group, const vs_group_name *name) {
  if (by == VS_BY_POOL && !name->known) vs_text_cstr(&call->scratch, "pool=none");
  else if (!name->known || !put_filter(call, by, group, name)) call->scratch.bytes.count = 0;
  reply_filter(call);
}

void vs_put_group_label(vs_call *call, vs_group_by by, const vs_group *group) {
  vs_group_name name;
  vs_group_name_get(call->engine->snapshot, &call->engine->frames, by, group, &name);
  put_label(call, by, &name, VS_PATH_SHORT);
}

bool vs_put_group_filter(vs_call *call, vs_group_by by, const vs_group *group) {
  vs_group_name name;
  vs_group_name_get(call->engine->snapshot, &call->engine->frames, by, group, &name);
  return name.known && put_filter(call, by, group, &name);
}

/* "label", "long_label", "key" */
static void group_words(vs_call *call, vs_group_by by, const vs_group *group, vs_group_name *name) {
  vs_group_name_get(call->engine->snapshot, &call->engine->frames, by, group, name);
  put_label(call, by, name, VS_PATH_SHORT);
  vs_reply_scratch(call, "label");
  put_label(call, by, name, VS_PATH_WHOLE);
  vs_reply_scratch(call, "long_label");
  group_key(call, by, group, name);
}

void vs_reply_group_name(vs_call *call, vs_group_by by, const vs_group *group) {
  vs_group_name name;
  group_words(call, by, group, &name);
  group_filter(call, by, group, &name);
}

void vs_reply_part_name(vs_call *call, const vs_group *owner, const vs_group *part) {
  vs_group_name name;
  group_words(call, VS_BY_INNERMOST, part, &name);
  const bool has_owner = vs_put_group_filter(call, VS_BY_LINE, owner);
  vs_text_byte(&call->scratch, ' ');
  if (!has_owner || !put_filter(call, VS_BY_INNERMOST, part, &name)) call->scratch.bytes.count = 0;
  reply_filter(call);
}

static void group_figures(vs_call *call, const vs_group *group, uint64_t whole) {
  vs_jsonw *json = call->json;
  vs_jsonw_member_u64(json, "bytes", group->bytes);
  vs_jsonw_member_u64(json, "count", group->count);
  vs_reply_share(json, "share", group->bytes, whole);
  vs_reply_stack(call, group->stack);
}

void vs_reply_group_members(vs_call *call, vs_group_by by, const vs_group *group, uint64_t whole) {
  vs_reply_group_name(call, by, group);
  group_figures(call, group, whole);
}

void vs_reply_group_value(vs_call *call, vs_group_by by, const vs_group *group, uint64_t whole) {
  vs_jsonw_object_begin(call->json);
  vs_reply_group_members(call, by, group, whole);
  vs_jsonw_object_end(call->json);
}

size_t vs_reply_at_most(const vs_call *call, size_t count) {
  const uint64_t top = call->request->top;
  return (size_t)(top != 0 && top < count ? top : count);
}

static void owner_parts(vs_call *call, const vs_group *owner, const vs_groups *parts, size_t shown,
                        uint64_t whole) {
  vs_reply_array_begin(call->json, "parts");
  for (size_t i = 0; i < shown; i++) {
    const vs_group *part = &parts->list.data[i];
    vs_jsonw_object_begin(call->json);
    vs_reply_part_name(call, owner, part);
    group_figures(call, part, whole);
    vs_reply_u64_or_null(call->json, "each_bytes", part->each != 0, part->each);
    vs_jsonw_object_end(call->json);
  }
  vs_jsonw_array_end(call->json);
}

void vs_reply_owners(vs_call *call, const vs_owners *owners, bool is_known) {
  vs_jsonw *json = call->json;
  const vs_groups *lines = &owners->lines;
  if (!is_known) {
    vs_jsonw_member_null(json, "owners");
    vs_jsonw_member_null(json, "owner_count");
    return;
  }
  vs_reply_array_begin(json, "owners");
  for (size_t i = 0; i < vs_reply_at_most(call, lines->list.count); i++) {
    const vs_group *owner = &lines->list.data[i];
    const size_t parts = i == 0 ? owners->parts.list.count : 0; /* only the first has some */
    vs_jsonw_object_begin(json);
    vs_reply_group_members(call, VS_BY_LINE, owner, lines->bytes);
    vs_reply_u64_or_null(json, "each_bytes", owner->each != 0, owner->each);
    owner_parts(call, owner, &owners->parts, vs_reply_at_most(call, parts), lines->bytes);
    vs_jsonw_member_u64(json, "part_count", parts);
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
  vs_jsonw_member_u64(json, "owner_count", lines->list.count);
}

/* ---- files and sums -------------------------------------------------------------------------------------------- */

static void unknown_keys(const vs_call *call) {
  const vs_snapshot *s = call->engine->snapshot;
  vs_jsonw_key(call->json, VS_STR("unknown_keys"));
  vs_jsonw_array_begin(call->json);
  for (size_t i = 0; i < s->unknown_keys.count; i++) {
    const vs_unknown_key *key = &s->unknown_keys.data[i];
    vs_jsonw_object_begin(call->json);
    vs_jsonw_member_str(call->json, "where", vs_str_from(key->where));
    vs_reply_string(call, "key", key->key);
    vs_jsonw_member_u64(call->json, "count", key->count);
    vs_jsonw_object_end(call->json);
  }
  vs_jsonw_array_end(call->json);
  vs_jsonw_member_u64(call->json, "unknown_key_count", s->unknown_key_count);
}

/* "gaps": where events are missing. */
static void put_gaps(vs_jsonw *json, const vs_recording *recording) {
  static const char *const causes[VS_GAP_CAUSES] = {
      [VS_GAP_UNRECORDED] = "unrecorded", [VS_GAP_STOPPED] = "stopped", [VS_GAP_DAMAGED] = "damaged"};
  vs_reply_array_begin(json, "gaps");
  for (size_t i = 0; i < recording->gaps.count; i++) {
    const vs_gap *gap = &recording->gaps.data[i];
    VS_ASSERT((int)gap->cause < VS_GAP_CAUSES);
    vs_jsonw_object_begin(json);
    vs_jsonw_member_str(json, "cause", vs_str_from(causes[gap->cause]));
    vs_reply_u64_or_null(json, "events", gap->events != 0, gap->events);
    vs_reply_time(json, "from_us", gap->from_us);
    vs_reply_time(json, "to_us", gap->to_us);
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
}

/* "recording": what only recordings say about themselves; null for other files. */
static void put_recording(const vs_call *call) {
  const vs_snapshot *s = call->engine->snapshot;
  const vs_recording *recording = &s->recording;
  vs_jsonw *json = call->json;
  if (s->format != VS_FORMAT_VRAM) {
    vs_jsonw_member_null(json, "recording");
    return;
  }
  vs_reply_object_begin(json, "recording");
  vs_reply_u64_or_null(json, "pid", recording->pid != 0, recording->pid);
  vs_reply_string(call, "host", recording->host);
  vs_reply_string(call, "program", recording->program);
  vs_jsonw_member_bool(json, "simulated", recording->is_simulated);
  vs_jsonw_key(json, VS_STR("gpus"));
  vs_jsonw_array_begin(json);
  for (size_t i = 0; i < recording->devices.count; i++) {
    const vs_recorded_device *device = &recording->devices.data[i];
    vs_jsonw_object_begin(json);
    vs_jsonw_member_i64(json, "device", device->device);
    vs_reply_string(call, "name", device->name);
    vs_jsonw_member_u64(json, "total_bytes", device->total_bytes);
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
  vs_jsonw_member_u64(json, "frames", recording->frames);
  vs_jsonw_member_u64(json, "compacted_frames", recording->compacted_frames);
  vs_jsonw_member_u64(json, "unfinished_frames", recording->open_frames);
  vs_jsonw_member_u64(json, "lost_frames", recording->lost_frames);
  vs_jsonw_member_u64(json, "lost_bytes", recording->lost_bytes);
  vs_jsonw_member_u64(json, "lost_events", recording->lost_events);
  vs_jsonw_member_u64(json, "lost_names", recording->lost_entries);
  vs_jsonw_member_u64(json, "unrecorded_events", recording->unrecorded);
  vs_jsonw_member_u64(json, "derived_events", recording->derived);
  vs_reply_string(call, "stopped", recording->stopped);
  put_gaps(json, recording);
  vs_jsonw_member_u64(json, "unknown_records", recording->unknown_records);
  vs_jsonw_member_u64(json, "earlier_frames", recording->earlier_frames);
  vs_jsonw_member_bool(json, "end_rebuilt", recording->is_rebuilt);
  vs_jsonw_member_bool(json, "ended", recording->is_ended);
  vs_jsonw_object_end(json);
}

/* "title": the kind of the file, and the devices that the reply is about. */
static void put_title(vs_call *call) {
  const vs_engine *engine = call->engine;
  vs_text *text = &call->scratch;
  uint64_t gpus = 0;
  for (size_t i = 0; i < engine->devices.count; i++)
    gpus += engine->devices.data[i].slice->device != VS_DEVICE_HOST;
  const vs_file_format format = engine->snapshot->format;
  if (vs_format_is_account(format)) vs_text_cstr(text, engine->handlers->accounts->title(format));
  else vs_text_cstr(text, format == VS_FORMAT_VRAM ? "recording" : "PyTorch memory snapshot");
  if (vs_whatif_mark_of(engine->snapshot).is_there) vs_text_cstr(text, ", simulated by whatif");
  if (engine->bytes != VS_BYTES_UNKNOWN) {
    vs_text_cstr(text, ", ");
    vs_text_bytes(text, engine->bytes, call->request->unit);
  }
  if (engine->is_compressed) vs_text_cstr(text, " compressed");
  vs_text_cstr(text, ", ");
  const vs_device_choice device = call->request->device;
  if (!device.is_given) vs_text_counted(text, gpus, "GPU");
  else if (device.device == VS_DEVICE_HOST) vs_text_cstr(text, "pinned host memory");
  else vs_text_format(text, "GPU %D", (int64_t)device.device);
  vs_reply_scratch(call, "title");
}

void vs_reply_file(vs_call *call) {
  const vs_engine *engine = call->engine;
  const vs_snapshot *s = engine->snapshot;
  static const char *const formats[] = {
      [VS_FORMAT_PICKLE] = "pickle", [VS_FORMAT_JSON] = "json", [VS_FORMAT_VRAM] = "vram"};
  const bool is_pickle = s->format == VS_FORMAT_PICKLE;
  vs_reply_object_begin(call->json, "file");
  vs_jsonw_member_str(call->json, "name", (vs_str){engine->name.data, engine->name.count});
  vs_jsonw_member_str(call->json, "format",
                      vs_str_from(vs_format_is_account(s->format)
                                      ? engine->handlers->accounts->name(s->format)
                                      : formats[s->format]));
  vs_reply_u64_or_null(call->json, "bytes", engine->bytes != VS_BYTES_UNKNOWN, engine->bytes);
  vs_jsonw_member_u64(call->json, "inflated_bytes", s->bytes);
  vs_jsonw_member_bool(call->json, "compressed", engine->is_compressed);
  vs_reply_u64_or_null(call->json, "pickle_protocol", is_pickle, s->pickle_protocol);
  put_title(call);
  unknown_keys(call);
  put_recording(call);
  vs_jsonw_object_end(call->json);
}

void vs_reply_end_sums(const vs_call *call, const vs_end_sums *sums) {
  vs_jsonw *json = call->json;
  vs_reply_cached(call, "reserved_bytes", sums->reserved);
  vs_jsonw_member_u64(json, "allocated_bytes", sums->allocated);
  vs_jsonw_member_u64(json, "active_bytes", sums->active);
  vs_jsonw_member_u64(json, "requested_bytes", sums->requested);
  vs_jsonw_member_u64(json, "pending_bytes", sums->pending);
  vs_reply_cached(call, "inactive_bytes", sums->inactive);
  vs_reply_u64_or_null(json, "rounding_bytes",
                       (vs_snapshot_lacks(call->engine->snapshot) & VS_LACKS_ROUNDING) == 0, sums->rounding);
  vs_reply_cached(call, "segments", sums->segments);
  vs_jsonw_member_u64(json, "blocks", sums->blocks);
  vs_jsonw_member_u64(json, "allocated_blocks", sums->allocated_blocks);
  vs_jsonw_member_u64(json, "pending_blocks", sums->pending_blocks);
  vs_reply_cached(call, "inactive_blocks", sums->inactive_blocks);
}

void vs_reply_end(const vs_call *call, const vs_report *report) {
  const vs_holes *holes = &report->fragmentation.all;
  vs_reply_object_begin(call->json, "end");
  vs_reply_end_sums(call, &report->end.all);
  vs_reply_cached(call, "releasable_bytes", holes->releasable);
  vs_reply_cached(call, "pinned_bytes", holes->pinned);
  vs_reply_cached(call, "largest_hole_bytes", holes->largest_hole);
  vs_jsonw_object_end(call->json);
}

/* Writes a row for each power of two that occurs; the first one begins at 0. */
static void by_powers(vs_jsonw *json, const char *key, const char *from, const char *below,
                      const uint64_t counts[VS_POWERS]) {
  vs_jsonw_key(json, vs_str_from(key));
  vs_jsonw_array_begin(json);
  for (unsigned n = 0; n < VS_POWERS; n++) {
    if (counts[n] == 0) continue;
    vs_jsonw_object_begin(json);
    vs_jsonw_member_u64(json, from, n == 0 ? 0 : UINT64_C(1) << n);
    vs_reply_u64_or_null(json, below, n + 1 < VS_POWERS, n + 1 < VS_POWERS ? UINT64_C(2) << n : 0);
    vs_jsonw_member_u64(json, "count", counts[n]);
    vs_jsonw_object_end(json);
  }
  vs_jsonw_array_end(json);
}

void vs_reply_lifetimes(const vs_call *call, const vs_churn *churn) {
  vs_jsonw *json = call->json;
  vs_reply_object_begin(json, "lifetimes");
  vs_jsonw_member_u64(json, "count", churn->count);
  vs_jsonw_member_u64(json, "bytes", churn->bytes);
  vs_jsonw_member_u64(json, "ended_count", churn->ended_count);
  vs_jsonw_member_u64(json, "ended_bytes", churn->ended_bytes);
  vs_jsonw_member_u64(json, "short_events", VS_SHORT_LIFE);
  vs_jsonw_member_u64(json, "short_count", churn->short_count);
  vs_jsonw_member_u64(json, "short_bytes", churn->short_bytes);
  by_powers(json, "by_us", "from_us", "below_us", churn->by_us);
  by_powers(json, "by_events", "from_events", "below_events", churn->by_events);
  vs_jsonw_object_end(json);
}

static void put_area(const vs_call *call, const vs_area *area) {
  vs_jsonw *json = call->json;
  vs_jsonw_object_begin(json);
  vs_reply_pool(call, area->pool);
  vs_reply_stream(call, area->stream);
  vs_jsonw_member_str(json, "kind", vs_str_from(vs_segment_kind_name(area->kind)));
  vs_jsonw_member_u64(json, "segments", area->segments);
  vs_jsonw_member_u64(json, "reserved_bytes", area->holes.reserved);
  vs_jsonw_member_u64(json, "free_bytes", area->holes.free);
  vs_jsonw_member_u64(json, "pinned_bytes", area->holes.pinned);
  vs_jsonw_member_u64(json, "releasable_bytes", area->holes.releasable);
  vs_jsonw_member_u64(json, "largest_hole_bytes", area->holes.largest_hole);
  vs_jsonw_member_u64(json, "holes", area->holes.hole_count);
  vs_jsonw_object_end(json);
}

void vs_reply_areas(const vs_call *call, const vs_fragmentation *fragmentation) {
  vs_reply_array_begin(call->json, "areas");
  for (size_t i = 0; i < fragmentation->areas.count; i++) put_area(call, &fragmentation->areas.data[i]);
  vs_jsonw_array_end(call->json);
}

/* ---- replays --------------------------------------------------------------------------------------------------- */

void vs_reply_ran_out(const vs_call *call, const vs_replay *replay) {
  vs_jsonw *json = call->json;
  vs_jsonw_key(json, VS_STR("ran_out"));
  if (!replay->ran_out) {
    vs_jsonw_null(json);
    return;
  }
  const bool has_event = replay->ran_out_at != VS_NO_EVENT;
  vs_jsonw_object_begin(json);
  vs_reply_event(json, "event", replay->ran_out_at);
  vs_reply_time(json, "time_us",
                has_event ? vs_slice_time(call->device->slice, (vs_moment)replay->ran_out_at) : VS_NO_TIME);
  vs_jsonw_member_u64(json, "requested_bytes", replay->ran_out_for);
  vs_jsonw_object_end(json);
}

void vs_reply_alloc_settings(vs_call *call, const vs_alloc_settings *settings) {
  vs_replay_settings_write(settings, &call->scratch);
  vs_reply_scratch(call, "settings");
}

void vs_reply_matches(const vs_call *call, const vs_replay *check) {
  vs_jsonw *json = call->json;
  VS_ASSERT(check->matched <= check->steps && check->placed <= check->allocs);
  vs_jsonw_member_u64(json, "segment_events", check->steps);
  vs_jsonw_member_u64(json, "matched", check->matched);
  vs_jsonw_member_u64(json, "extra", check->extra);
  vs_jsonw_member_u64(json, "allocations", check->allocs);
  vs_jsonw_member_u64(json, "placed", check->placed);
}

void vs_reply_peaks(const vs_call *call, const vs_replay *replay) {
  vs_jsonw *json = call->json;
  vs_jsonw_member_u64(json, "reserved_peak_bytes", replay->reserved_peak);
  vs_jsonw_member_u64(json, "allocated_peak_bytes", replay->allocated_peak);
  vs_jsonw_member_u64(json, "active_peak_bytes", replay->active_peak);
  vs_jsonw_member_u64(json, "segments_peak", replay->segments_peak);
  vs_jsonw_member_u64(json, "retries", replay->retries);
  vs_jsonw_member_u64(json, "device_allocs", replay->device_allocs);
  vs_jsonw_member_u64(json, "device_frees", replay->device_frees);
}
