/* The parts that several replies share (docs/formats/query.md). Each function adds members to the open object,
 * unless its name says that it writes a value. */
#ifndef VS_QUERY_REPLY_H
#define VS_QUERY_REPLY_H

#include "analyze/replay.h"
#include "query/engine.h"

static inline void vs_reply_object_begin(vs_jsonw *json, const char *key) {
  vs_jsonw_key(json, vs_str_from(key));
  vs_jsonw_object_begin(json);
}

static inline void vs_reply_array_begin(vs_jsonw *json, const char *key) {
  vs_jsonw_key(json, vs_str_from(key));
  vs_jsonw_array_begin(json);
}

/* ---- numbers that may be unknown */

void vs_reply_u64_or_null(vs_jsonw *json, const char *key, bool is_known, uint64_t value);
void vs_reply_i64_or_null(vs_jsonw *json, const char *key, bool is_known, int64_t value);
void vs_reply_time(vs_jsonw *json, const char *key, int64_t time_us);
void vs_reply_event(vs_jsonw *json, const char *key, uint32_t event); /* null for VS_NO_EVENT */
/* part / whole, null where whole is 0. */
/* null where the whole is 0, or smaller than its part, as where events are missing. */
void vs_reply_share(vs_jsonw *json, const char *key, uint64_t part, uint64_t whole);
/* null for VS_STRING_NONE. */
void vs_reply_string(const vs_call *call, const char *key, uint32_t string);

/* Whether the file has segments: where it has none, what is reserved and cached is unknown. */
static inline bool vs_reply_knows_segments(const vs_call *call) {
  return (vs_snapshot_lacks(call->engine->snapshot) & VS_LACKS_SEGMENTS) == 0;
}
/* A figure of reserved or cached memory, null where the file has no segments. */
void vs_reply_reserved(const vs_call *call, const char *key, int64_t value);
void vs_reply_cached(const vs_call *call, const char *key, uint64_t value);

/* ---- places and moments */

void vs_reply_device(const vs_call *call, const vs_device_cache *device); /* "device" */
void vs_reply_moment(const vs_call *call, const vs_device_cache *device, const char *key, vs_moment moment);
void vs_reply_stream(const vs_call *call, uint32_t stream); /* index into streams */
void vs_reply_pool(const vs_call *call, uint32_t pool);     /* 0 or 1 + index into pools */

/* ---- frames, stacks, owners */

/* "function", "file", "line", "kind", "place", "name"; all null for VS_NO_FRAME. */
void vs_reply_frame(vs_call *call, uint32_t frame);
/* "stack" and "stack_id". */
void vs_reply_stack(vs_call *call, uint32_t stack);
/* The value of "stack": its first `frames` frames. */
void vs_reply_stack_value(vs_call *call, uint32_t stack);

/* "label" and "long_label": the owner of an allocation with that stack (analyze/frames.h). */
void vs_reply_owner(vs_call *call, uint32_t stack, bool is_older);

/* Puts a group's label into the scratch text. */
void vs_put_group_label(vs_call *call, vs_group_by by, const vs_group *group);
/* Puts a filter that keeps exactly the members of a group into the scratch text. false: there is none, and the scratch text may
 * have a part of one. */
bool vs_put_group_filter(vs_call *call, vs_group_by by, const vs_group *group);
/* "label", "long_label", "key" and "filter" of a group. */
void vs_reply_group_name(vs_call *call, vs_group_by by, const vs_group *group);
/* The members of a group as an object; "share" is its part of `whole`. */
void vs_reply_group_members(vs_call *call, vs_group_by by, const vs_group *group, uint64_t whole);
/* A group as an object; "share" is its part of `whole`. */
void vs_reply_group_value(vs_call *call, vs_group_by by, const vs_group *group, uint64_t whole);

/* How many of `count` rows a reply has by the request's "top". */
size_t vs_reply_at_most(const vs_call *call, size_t count);
/* The same for a part of an owner (vs_owners). */
void vs_reply_part_name(vs_call *call, const vs_group *owner, const vs_group *part);
/* "owners" and "owner_count": `top` of the lines, with the bytes of each block where all are equal, and `top` of the parts; null where they are unknown. */
void vs_reply_owners(vs_call *call, const vs_owners *owners, bool is_known);

/* ---- files and sums */

void vs_reply_file(vs_call *call); /* "file" */
void vs_reply_end_sums(const vs_call *call, const vs_end_sums *sums);
void vs_reply_end(const vs_call *call, const vs_report *report);     /* "end" */
void vs_reply_lifetimes(const vs_call *call, const vs_churn *churn); /* "lifetimes" */

void vs_reply_areas(const vs_call *call, const vs_fragmentation *fragmentation); /* "areas" */

/* "ran_out": null, or where a replay ran out of memory. */
void vs_reply_ran_out(const vs_call *call, const vs_replay *replay);
/* "settings": all that are in force. */
void vs_reply_alloc_settings(vs_call *call, const vs_alloc_settings *settings);
/* "segment_events" to "placed": how much of the recording a replay that follows it repeats. */
void vs_reply_matches(const vs_call *call, const vs_replay *check);
/* "reserved_peak_bytes" to "device_frees": what the allocator reached, and what it asked of the driver. */
void vs_reply_peaks(const vs_call *call, const vs_replay *replay);

/* The scratch text as a string member; it is empty again afterwards. */
void vs_reply_scratch(vs_call *call, const char *key);

#endif
