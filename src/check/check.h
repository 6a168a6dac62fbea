/* Does a run hold its limits? Replies about the run, settings and a baseline in, one JSON reply out (docs/formats/check.md). */
#ifndef VS_CHECK_CHECK_H
#define VS_CHECK_CHECK_H

#include "base/human.h"
#include "check/facts.h"

typedef struct vs_check_options {
  vs_unit unit; /* of the sizes in the sentences */
} vs_check_options;

/* `settings`: an object with the keys of a vramscope.toml; `old`: the baseline, absent if there is none. Appends the reply, and to
 * `baseline` what the baseline of this run is (diff/baseline.h).
 *
 * Fails: VS_BAD_ARGUMENT  a key of the settings is wrong; VS_BAD_FORMAT  `old` is no baseline; VS_NO_MEMORY. Then nothing is appended */
VS_MUST_CHECK vs_status vs_check_put(const vs_host *host, const vs_check_run *run, vs_json settings,
                                     vs_json old, vs_check_options options, vs_text *reply, vs_text *baseline,
                                     vs_error *error);

#endif
