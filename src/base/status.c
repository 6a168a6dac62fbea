/* Names and sentences of the statuses, expanded from the one list. */
#include <vramscope/base.h>

const char *vs_status_name(vs_status status) {
  switch (status) {
#define VS_STATUS(name, value, text) \
  case VS_##name:                    \
    return #name;
#include <vramscope/status.def>
#undef VS_STATUS
  }
  return "?";
}

const char *vs_status_text(vs_status status) {
  switch (status) {
#define VS_STATUS(name, value, text) \
  case VS_##name:                    \
    return text;
#include <vramscope/status.def>
#undef VS_STATUS
  }
  return "?";
}

const char *vs_version_text(void) { return VS_VERSION_TEXT; }
