/* Facts about GPUs as JSON, with the same keys in every document. Unknown values are null, as in all documents of
 * vramscope. */
#ifndef VS_DEVICES_JSON_H
#define VS_DEVICES_JSON_H

#include "codec/json_writer.h"
#include <vramscope/devices.h>

/* Writes a member. It is null for a metric without a value, for an empty or missing text, and for VS_DEVICES_NONE. */
void vs_devices_json_metric(vs_jsonw *w, const char *key, vs_metric metric);
/* The same for a metric that holds an int64_t, such as a temperature. */
void vs_devices_json_signed(vs_jsonw *w, const char *key, vs_metric metric);
void vs_devices_json_text(vs_jsonw *w, const char *key, const char *text);
void vs_devices_json_index(vs_jsonw *w, const char *key, uint32_t index);

/* The name of a reason as documents spell it: "no_permission". */
enum { VS_DEVICES_REASON_SIZE = 40 };
void vs_devices_reason_key(char to[static VS_DEVICES_REASON_SIZE], vs_reason reason);
/* The reason with that name, in any case of letters; VS_REASON_FAILED for an unknown name. */
vs_reason vs_devices_reason_named(vs_str key);

/* The members of an object "driver" that the caller has begun: versions, whether they differ, whether it is simulated. */
void vs_devices_json_driver(vs_jsonw *w, const vs_devices_driver *driver);

#endif
