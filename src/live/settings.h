/* The settings that an object begins with. */
#ifndef VS_LIVE_SETTINGS_H
#define VS_LIVE_SETTINGS_H

#include "live/state.h"

/* From `text`; if that is NULL, from the first of vs_alloc_variables that is set. Fails: as vs_alloc_settings_parse */
VS_MUST_CHECK vs_status vs_live_settings_init(vs_alloc_settings *settings, const char *text, vs_error *error);

#endif
