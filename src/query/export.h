/* What the formats of the method "export" share. Each format is a file export_<name>.c with one entry. */
#ifndef VS_QUERY_EXPORT_H
#define VS_QUERY_EXPORT_H

#include "query/reply.h"
#include "query/selection.h"

#define VS_EXPORT(name, extension, opens_in, sentence) \
  VS_MUST_CHECK vs_status vs_export_##name(vs_call *call);
#include "query/exports.def"
#undef VS_EXPORT

/* Whether a format that holds all devices is to hold this one: it is the one asked for, or none was. */
static inline bool vs_export_covers(const vs_call *call, const vs_device_cache *device) {
  return !call->request->device.is_given || device == call->device;
}

/* For formats whose text has to be UTF-8: what is none becomes U+FFFD. */
void vs_put_clean(vs_text *text, vs_str s);

/* "train.py:42 forward" of the user's frame of a stack; nothing where there is none. */
void vs_put_stack_place(const vs_call *call, vs_text *text, uint32_t stack);

/* What was live at the moment asked for, by stack: the data of all profiles. */
typedef struct vs_profile {
  vs_device_cache *device;
  vs_moment moment;
  vs_groups groups; /* VS_BY_STACK */
} vs_profile;

VS_MUST_CHECK vs_status vs_profile_build(vs_call *call, vs_profile *out);
void vs_profile_deinit(const vs_call *call, vs_profile *profile);

/* The frames of a stack that say something (noise left out), innermost first: next index at or behind `at`, or the
 * list's count. */
uint32_t vs_profile_frame(const vs_call *call, vs_list list, uint32_t at);
/* What a group without such frames is attributed to. */
vs_owner_kind vs_profile_owner(const vs_group *group);

#endif
