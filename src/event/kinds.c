#include "event/kinds.h"

const char *vs_event_kind_action(vs_event_kind kind) {
  switch (kind) {
#define VS_EVENT_KIND(name, action, words) \
  case VS_EVENT_##name:                    \
    return action;
#include "event/kinds.def"
#undef VS_EVENT_KIND
    case VS_EVENT_UNKNOWN: break;
  }
  return "unknown";
}

const char *vs_event_kind_words(vs_event_kind kind) {
  switch (kind) {
#define VS_EVENT_KIND(name, action, words) \
  case VS_EVENT_##name:                    \
    return words;
#include "event/kinds.def"
#undef VS_EVENT_KIND
    case VS_EVENT_UNKNOWN: break;
  }
  return "unknown";
}
