/* The kinds of event, from the one list kinds.def. */
#ifndef VS_EVENT_KINDS_H
#define VS_EVENT_KINDS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum vs_event_kind {
#define VS_EVENT_KIND(name, action, words) VS_EVENT_##name,
#include "event/kinds.def"
#undef VS_EVENT_KIND
  VS_EVENT_UNKNOWN, /* an action that this version does not know: kept by name and counted, not interpreted */
} vs_event_kind;

enum { VS_EVENT_KIND_COUNT = VS_EVENT_UNKNOWN };

/* "alloc" and "allocation"; "unknown" for VS_EVENT_UNKNOWN. */
const char *vs_event_kind_action(vs_event_kind kind);
const char *vs_event_kind_words(vs_event_kind kind);

#endif
