/* What is known of GPUs as JSON, the same keys wherever it is printed. What is not known is null, as documents of vramscope
 * have it. */
#ifndef VS_DEVICES_JSON_H
#define VS_DEVICES_JSON_H

#include "codec/json_writer.h"
#include <vramscope/devices.h>

/* A member: null for a metric without a value, an empty or missing text, VS_DEVICES_NONE. */
void vs_devices_json_metric(vs_jsonw *w, const char *key, vs_metric metric);
/* The same of an int64_t, such as a temperature. */
void vs_devices_json_signed(vs_jsonw *w, const char *key, vs_metric metric);
void vs_devices_json_text(vs_jsonw *w, const char *key, const char *text);
void vs_devices_json_index(vs_jsonw *w, const char *key, uint32_t index);

/* "no_permission": the name of a reason as documents have it. */
enum { VS_DEVICES_REASON_SIZE = 40 };
void vs_devices_reason_key(char to[static VS_DEVICES_REASON_SIZE], vs_reason reason);
/* The reason of that name, in small or capital letters; VS_REASON_FAILED for a name that is none. */
vs_reason vs_devices_reason_named(vs_str key);

/* The members of an object "driver" that the caller has begun: versions, whether they differ, whether it is simulated. */
void vs_devices_json_driver(vs_jsonw *w, const vs_devices_driver *driver);

#endif
