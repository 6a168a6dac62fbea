/* Numbers for people. Functions round half up in integers unless they say otherwise, and carry: 1023.996 MiB is
 * "1.00 GiB", never "1024 MiB". The texts are not meant to be parsed. */
#ifndef VS_BASE_HUMAN_H
#define VS_BASE_HUMAN_H

#include "base/text.h"

typedef enum vs_unit {
  VS_UNIT_BINARY, /* "512 B", "1.50 GiB", "23.65 GiB", "152.3 GiB", "1023 MiB": at most four digits */
  VS_UNIT_SI,     /* "512 B", "1.61 GB" */
  VS_UNIT_PLAIN,  /* "1,610,612,736 B" */
} vs_unit;

void vs_text_bytes(vs_text *text, uint64_t bytes, vs_unit unit);
/* Rounded up, so that the text is never less than `bytes`: for a size that has to suffice. */
void vs_text_bytes_up(vs_text *text, uint64_t bytes, vs_unit unit);
/* With its sign: "+1.50 GiB", "-20.00 MiB", "0 B". */
void vs_text_bytes_change(vs_text *text, int64_t bytes, vs_unit unit);

/* "1,610,612,736". */
void vs_text_count(vs_text *text, uint64_t count);

/* "1 block", "12,000 blocks"; "2 entries", "2 keys". */
void vs_text_counted(vs_text *text, uint64_t count, const char *noun);

/* "640 us", "8.5 ms", "85 ms", "1.24 s", "42.5 s", "2 min 05 s", "3 h 12 min", "2 d 03 h". */
void vs_text_duration(vs_text *text, uint64_t microseconds);

/* part / whole: "12.3%", "100.0%". A part that is not 0 is at least "<0.1%", one that is not the whole at most
 * ">99.9%". "-%" if the whole is 0. */
void vs_text_percent(vs_text *text, uint64_t part, uint64_t whole);

/* A size as people write it, "512", "1.5GiB", "200MB", "64K" (1024 bytes each), rounded to whole bytes. False if `s` is not wholly one or does not
 * fit. */
bool vs_parse_bytes(vs_str s, uint64_t *value);

/* Likewise a time, "90s", "5min", "1.5h", "2d", as seconds. The unit has to be there. */
bool vs_parse_seconds(vs_str s, uint64_t *value);

#endif
