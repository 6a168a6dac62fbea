/* The answer to "what changed?": two inventories in, one JSON reply out (docs/formats/diff.md). */
#ifndef VS_DIFF_DIFF_H
#define VS_DIFF_DIFF_H

#include "base/human.h"
#include "diff/rows.h"

typedef struct vs_diff_options {
  vs_diff_by by;
  vs_unit unit;         /* of the sizes in the sentences */
  bool is_same_program; /* two moments of one run: nothing has moved or was renamed */
} vs_diff_options;

/* Appends the reply. `before` and `after` are replies of the method "inventory".
 *
 * Fails: VS_BAD_FORMAT  one of the two is no inventory; VS_NO_MEMORY, VS_LIMIT. Then nothing is appended */
VS_MUST_CHECK vs_status vs_diff_put(const vs_host *host, vs_json before, vs_json after,
                                    vs_diff_options options, vs_text *reply, vs_error *error);

#endif
