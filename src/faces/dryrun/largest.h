/* The answer of a search for the largest value (--find-largest) as sentences, made from the reply alone. */
#ifndef VS_FACES_DRYRUN_LARGEST_H
#define VS_FACES_DRYRUN_LARGEST_H

#include "faces/dryrun/sheet.h"

/* Whether the reply to be shown is one of such a search. */
static inline bool vs_largest_is(vs_json reply) {
  return vs_str_equal(vs_reply_str(reply, "method"), VS_STR("dryrun_find_largest"));
}

/* "batch=66 is the largest of 1..256 that fits ...". */
void vs_largest_put_headline(vs_sheet *sheet, vs_json reply);

/* What makes the answer doubtful: a larger value that needs less than a smaller one, though it is not known that all values fit. The line is
 * begun, not ended. */
bool vs_largest_has_doubt(vs_json reply);
void vs_largest_put_doubt(vs_sheet *sheet, vs_json reply);

/* The value of a run: a number, 0 where it is none. */
uint64_t vs_largest_value(vs_json reply, vs_json run);

#endif
