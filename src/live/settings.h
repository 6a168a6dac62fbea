/* The settings that an object begins with, and their rows in a snapshot. */
#ifndef VS_LIVE_SETTINGS_H
#define VS_LIVE_SETTINGS_H

#include "live/state.h"
#include "snapshot/model.h"

/* From `text`; if that is NULL, from the first of vs_alloc_variables that is set. Fails: as vs_alloc_settings_parse */
VS_MUST_CHECK vs_status vs_live_settings_init(vs_alloc_settings *settings, const char *text, vs_error *error);

/* One entry of allocator_settings in PyTorch's snapshots; see vs_setting. */
typedef struct vs_live_setting {
  vs_str key;
  vs_setting_kind kind;
  uint8_t depth;
  uint64_t bits;
  vs_str text; /* of a string */
} vs_live_setting;

/* All of them, in PyTorch's order. Returns a failure of `visit`. */
VS_MUST_CHECK vs_status vs_live_settings_visit(const vs_alloc_settings *settings,
                                               vs_status (*visit)(void *ctx, const vs_live_setting *setting),
                                               void *ctx);

#endif
