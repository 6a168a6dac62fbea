/* TOML 1.0 (https://toml.io/en/v1.0.0) as JSON, for settings that people write. */
#ifndef VS_CODEC_TOML_H
#define VS_CODEC_TOML_H

#include "base/text.h"

/* Tables may be nested so deep, and arrays in them. */
enum { VS_TOML_DEPTH = 48 };

/* Appends the document as one JSON object: tables are objects, arrays are arrays, dates and times are strings as they stand. Members are in
 * the order in which their keys first appear.
 *
 * Fails, and then nothing is appended: VS_BAD_FORMAT  with "line N: what is wrong" and the offset, also for inf, nan and integers of more than
 * 64 bits, which JSON does not have; VS_LIMIT  nested deeper than VS_TOML_DEPTH, or of 4 GiB; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_toml_to_json(const vs_host *host, vs_str toml, vs_text *json, vs_error *error);

#endif
