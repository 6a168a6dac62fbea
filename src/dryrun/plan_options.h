/* Options of dryrun by their names, as members of a plan. */
#ifndef VS_DRYRUN_PLAN_OPTIONS_H
#define VS_DRYRUN_PLAN_OPTIONS_H

#include "base/text.h"
#include <vramscope/dryrun.h>

unsigned vs_plan_option_count(void);
const char *vs_plan_option_name(unsigned option); /* "gpu" */

/* Whether the plan has a value of it. */
bool vs_plan_option_is_given(const vs_dryrun_plan *plan, unsigned option);

/* Sets it; an empty value takes it away. The text is borrowed. False: it takes a number, and `value` is none. */
VS_MUST_CHECK bool vs_plan_option_set(vs_dryrun_plan *plan, unsigned option, const char *value);

/* Appends its value, of a plan that has one. */
void vs_plan_option_put(vs_text *text, const vs_dryrun_plan *plan, unsigned option);

#endif
