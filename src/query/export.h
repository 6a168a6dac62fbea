/* The shared parts of the formats of the method "export". Each format is a file export_<name>.c with one function. */
#ifndef VS_QUERY_EXPORT_H
#define VS_QUERY_EXPORT_H

#include "query/reply.h"
#include "query/selection.h"

#define VS_EXPORT(name, extension, opens_in, sentence) \
  VS_MUST_CHECK vs_status vs_export_##name(vs_call *call);
#include "query/exports.def"
#undef VS_EXPORT

/* Whether a format with several devices includes this one: it is the requested device, or the request names none. */
static inline bool vs_export_covers(const vs_call *call, const vs_device_cache *device) {
  return !call->request->device.is_given || device == call->device;
}

/* Puts "train.py:42 forward" for the user's frame of a stack; nothing if it has none. */
void vs_put_stack_place(const vs_call *call, vs_text *text, uint32_t stack);

/* The allocations that are live at the requested moment, grouped by stack: the data of all profiles. */
typedef struct vs_profile {
  vs_device_cache *device;
  vs_moment moment;
  vs_groups groups; /* VS_BY_STACK */
} vs_profile;

VS_MUST_CHECK vs_status vs_profile_build(vs_call *call, vs_profile *out);
void vs_profile_deinit(const vs_call *call, vs_profile *profile);

/* The index of the first frame at or behind `at` that is not noise, innermost first; list.count if there is none. */
uint32_t vs_profile_frame(const vs_call *call, vs_list list, uint32_t at);
/* The owner of a group without such frames. */
vs_owner_kind vs_profile_owner(const vs_group *group);

#endif
