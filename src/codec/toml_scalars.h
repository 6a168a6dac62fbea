/* The scalars of TOML: what a word is that is no string. */
#ifndef VS_CODEC_TOML_SCALARS_H
#define VS_CODEC_TOML_SCALARS_H

#include "base/text.h"

typedef enum vs_toml_scalar_kind {
  VS_TOML_IS_NONE, /* no value of TOML */
  VS_TOML_IS_BOOL,
  VS_TOML_IS_INTEGER,
  VS_TOML_IS_REAL,
  VS_TOML_IS_TIME,      /* a date, a time, or both: kept as a text */
  VS_TOML_IS_NOT_JSON,  /* inf, nan, or a number that is beyond a double */
  VS_TOML_IS_TOO_LARGE, /* an integer of more than 64 bits */
} vs_toml_scalar_kind;

typedef struct vs_toml_scalar {
  vs_toml_scalar_kind kind;
  size_t size;     /* bytes of it at the beginning of the text */
  int64_t integer; /* of a bool: 0 or 1 */
  double real;
} vs_toml_scalar;

/* The scalar that `text` begins with. */
vs_toml_scalar vs_toml_scalar_at(vs_str text);

#endif
