/* pprof's profile.proto, not compressed: inuse_objects and inuse_space of each stack.
 *
 * Ids: location = 1 + frame id, then one for each owner without a frame; function = 1 + owner, then one for each
 * distinct (name, file). String table: first the texts of the format (texts[]), then the strings of the snapshot in
 * the order in which functions need them. */
#include "codec/proto_writer.h"
#include "query/export.h"

/* Field numbers of profile.proto. */
enum {
  PROFILE_SAMPLE_TYPE = 1,
  PROFILE_SAMPLE = 2,
  PROFILE_LOCATION = 4,
  PROFILE_FUNCTION = 5,
  PROFILE_STRING_TABLE = 6,
  PROFILE_TIME_NANOS = 9,
  PROFILE_PERIOD_TYPE = 11,
  PROFILE_PERIOD = 12,
  PROFILE_DEFAULT_SAMPLE_TYPE = 14,
  VALUE_TYPE_TYPE = 1,
  VALUE_TYPE_UNIT = 2,
  SAMPLE_LOCATION_ID = 1,
  SAMPLE_VALUE = 2,
  LOCATION_ID = 1,
  LOCATION_LINE = 4,
  LINE_FUNCTION_ID = 1,
  LINE_LINE = 2,
  FUNCTION_ID = 1,
  FUNCTION_NAME = 2,
  FUNCTION_SYSTEM_NAME = 3,
  FUNCTION_FILENAME = 4,
};

/* The string table begins with these; the first must be empty. */
typedef enum text_id {
  TEXT_EMPTY,
  TEXT_OBJECTS,
  TEXT_COUNT,
  TEXT_SPACE,
  TEXT_BYTES,
#define VS_OWNER(name, words) TEXT_OWNER_##name,
#include "analyze/owners.def"
#undef VS_OWNER
  TEXTS
} text_id;
static const char *const texts[TEXTS] = {
    [TEXT_EMPTY] = "",      [TEXT_OBJECTS] = "inuse_objects",
    [TEXT_COUNT] = "count", [TEXT_SPACE] = "inuse_space",
    [TEXT_BYTES] = "bytes",
#define VS_OWNER(name, words) [TEXT_OWNER_##name] = words,
#include "analyze/owners.def"
#undef VS_OWNER
};

typedef struct pprof {
  vs_call *call;
  const vs_snapshot *s;
  vs_text *out;
  vs_text message, inner;   /* being built; empty between uses */
  vs_map functions;         /* name << 32 | file -> function id */
  VS_VEC(uint8_t) is_used;  /* by frame id */
  VS_VEC(uint32_t) strings; /* of the snapshot, in the order of the string table behind texts[] */
  VS_VEC(uint32_t) index;   /* by string id: 0, or its index in the string table */
} pprof;

/* make_room reserves an entry for every string, so adding one cannot fail. */
static uint32_t string_index(pprof *p, uint32_t string) {
  if (p->index.data[string] == 0) {
    VS_ASSERT(p->strings.count < p->strings.capacity);
    p->index.data[string] = (uint32_t)(TEXTS + p->strings.count);
    p->strings.data[p->strings.count++] = string;
  }
  return p->index.data[string];
}

static void put_value_type(pprof *p, uint32_t field, text_id type, text_id unit) {
  vs_proto_u64(&p->message, VALUE_TYPE_TYPE, type);
  vs_proto_u64(&p->message, VALUE_TYPE_UNIT, unit);
  vs_proto_message(p->out, field, &p->message);
}

/* ---- samples --------------------------------------------------------------------------------------------------- */

/* The location of an owner without a frame, behind those of the frames. */
static uint64_t owner_location(const pprof *p, vs_owner_kind kind) {
  VS_ASSERT(kind < VS_OWNER_frame);
  return (uint64_t)p->s->stacks.frames.count + 1 + kind;
}

static void put_sample(pprof *p, const vs_group *group) {
  const vs_list list = vs_stacks_at(&p->s->stacks, group->stack);
  bool is_empty = true;
  VS_ASSERT(p->message.bytes.count == 0 && p->inner.bytes.count == 0);
  for (uint32_t i = vs_profile_frame(p->call, list, 0); i < list.count;
       i = vs_profile_frame(p->call, list, i + 1)) {
    vs_proto_varint(&p->inner, (uint64_t)list.items[i] + 1);
    p->is_used.data[list.items[i]] = 1;
    is_empty = false;
  }
  if (is_empty) vs_proto_varint(&p->inner, owner_location(p, vs_profile_owner(group)));
  vs_proto_message(&p->message, SAMPLE_LOCATION_ID, &p->inner);
  vs_proto_varint(&p->inner, group->count);
  vs_proto_varint(&p->inner, vs_min_u64(group->bytes, INT64_MAX));
  vs_proto_message(&p->message, SAMPLE_VALUE, &p->inner);
  vs_proto_message(p->out, PROFILE_SAMPLE, &p->message);
}

/* ---- locations and functions ----------------------------------------------------------------------------------- */

static void put_function(pprof *p, uint64_t id, uint64_t name, uint64_t file) {
  vs_proto_u64(&p->message, FUNCTION_ID, id);
  vs_proto_u64(&p->message, FUNCTION_NAME, name);
  vs_proto_u64(&p->message, FUNCTION_SYSTEM_NAME, name);
  vs_proto_u64(&p->message, FUNCTION_FILENAME, file);
  vs_proto_message(p->out, PROFILE_FUNCTION, &p->message);
}

/* The id of a frame's function. The function is written when it is first needed. */
static vs_status function_of(pprof *p, const vs_frame *frame, uint32_t *id) {
  const uint64_t key = (uint64_t)frame->name << 32 | frame->file;
  const size_t slot = vs_map_find(&p->functions, key);
  if (slot != VS_MAP_NONE) {
    *id = p->functions.slots[slot].value;
    return VS_OK;
  }
  VS_TRY(vs_map_reserve(p->call->engine->host, &p->functions));
  *id = (uint32_t)p->functions.count + VS_OWNER_frame + 1; /* behind the functions of the owners */
  vs_map_add(&p->functions, key, *id);
  const uint32_t name = string_index(p, frame->name), file = string_index(p, frame->file); /* in this order */
  put_function(p, *id, name, file);
  return VS_OK;
}

static void put_location(pprof *p, uint64_t id, uint32_t function, int64_t line) {
  vs_proto_u64(&p->message, LOCATION_ID, id);
  vs_proto_u64(&p->inner, LINE_FUNCTION_ID, function);
  if (line > 0) vs_proto_i64(&p->inner, LINE_LINE, line);
  vs_proto_message(&p->message, LOCATION_LINE, &p->inner);
  vs_proto_message(p->out, PROFILE_LOCATION, &p->message);
}

static vs_status put_locations(pprof *p) {
  for (uint32_t kind = 0; kind < VS_OWNER_frame; kind++) {
    put_function(p, kind + 1, TEXT_OWNER_backward + kind, TEXT_EMPTY);
    put_location(p, owner_location(p, (vs_owner_kind)kind), kind + 1, 0);
  }
  for (uint32_t i = 0; i < p->s->stacks.frames.count; i++) {
    const vs_frame *frame = &p->s->stacks.frames.data[i];
    uint32_t function;
    if (!p->is_used.data[i]) continue;
    VS_TRY(function_of(p, frame, &function));
    put_location(p, (uint64_t)i + 1, function,
                 vs_frames_has_line(&p->call->engine->frames, i) ? frame->line : 0);
  }
  return VS_OK;
}

/* ---- the profile ----------------------------------------------------------------------------------------------- */

static void put_strings(pprof *p) {
  for (size_t i = 0; i < TEXTS; i++) vs_proto_str(p->out, PROFILE_STRING_TABLE, vs_str_from(texts[i]));
  for (size_t i = 0; i < p->strings.count; i++) {
    vs_text_clean(&p->message, vs_snapshot_string(p->s, p->strings.data[i]));
    vs_proto_message(p->out, PROFILE_STRING_TABLE, &p->message);
  }
}

static vs_status make_room(pprof *p) {
  const vs_host *host = p->call->engine->host;
  const size_t frames = p->s->stacks.frames.count, strings = vs_strings_count(&p->s->strings);
  VS_TRY(vs_vec_reserve(host, &p->is_used, frames + 1));
  VS_TRY(vs_vec_reserve(host, &p->strings, strings));
  VS_TRY(vs_vec_reserve(host, &p->index, strings));
  memset(p->is_used.data, 0, frames + 1);
  memset(p->index.data, 0, strings * sizeof *p->index.data);
  return VS_OK;
}

static vs_status put_profile(pprof *p, const vs_profile *profile) {
  VS_TRY(make_room(p));
  put_value_type(p, PROFILE_SAMPLE_TYPE, TEXT_OBJECTS, TEXT_COUNT);
  put_value_type(p, PROFILE_SAMPLE_TYPE, TEXT_SPACE, TEXT_BYTES);
  for (size_t i = 0; i < profile->groups.list.count; i++) put_sample(p, &profile->groups.list.data[i]);
  VS_TRY(put_locations(p));
  put_strings(p);
  const int64_t time_us = vs_slice_time(profile->device->slice, profile->moment);
  if (time_us > 0 && time_us < INT64_MAX / 1000) vs_proto_i64(p->out, PROFILE_TIME_NANOS, time_us * 1000);
  put_value_type(p, PROFILE_PERIOD_TYPE, TEXT_SPACE, TEXT_BYTES);
  vs_proto_i64(p->out, PROFILE_PERIOD, 1);
  vs_proto_i64(p->out, PROFILE_DEFAULT_SAMPLE_TYPE, TEXT_SPACE);
  return VS_OK;
}

vs_status vs_export_pprof(vs_call *call) {
  const vs_host *host = call->engine->host;
  vs_profile profile;
  VS_TRY(vs_profile_build(call, &profile));
  pprof p = {.call = call, .s = call->engine->snapshot, .out = call->text};
  vs_text_init(&p.message, host, NULL);
  vs_text_init(&p.inner, host, NULL);
  const vs_status status = put_profile(&p, &profile);
  vs_map_deinit(host, &p.functions);
  vs_vec_free(host, &p.is_used);
  vs_vec_free(host, &p.strings);
  vs_vec_free(host, &p.index);
  vs_text_deinit(&p.inner);
  vs_text_deinit(&p.message);
  vs_profile_deinit(call, &profile);
  return status;
}
