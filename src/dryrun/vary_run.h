/* One run of a table: the plan with the values of that run, and the command line that makes the run alone. */
#ifndef VS_DRYRUN_VARY_RUN_H
#define VS_DRYRUN_VARY_RUN_H

#include "dryrun/setup.h"
#include "dryrun/vary.h"

typedef struct vs_vary_made {
  char *text;
  size_t size;
} vs_vary_made;

typedef struct vs_vary_run {
  const vs_host *host;
  vs_dryrun_plan
      plan; /* without `vary`; its texts are those of the vs_vary and of the plan it is made of, and of `made` */
  VS_VEC(char *) words;                       /* the command, NULL behind the last */
  VS_VEC(vs_vary_made) made;                  /* texts that are composed here */
  vs_child_variable variables[VS_VARY_NAMES]; /* changes to the program's environment */
  size_t variable_count;
} vs_vary_run;

/* Composes run number `number`. The vs_vary and its plan have to outlive it, and it must not move. Fails: VS_NO_MEMORY. To be released
 * after a failure, too. */
VS_MUST_CHECK vs_status vs_vary_run_init(vs_vary_run *run, const vs_vary *vary, uint32_t number);
void vs_vary_run_deinit(vs_vary_run *run);

/* Passes the words of the command line that makes this run alone, with its report: "env", "MODEL=a", "vramscope", "dryrun", "--gpu", "L4",
 * "--", "python3", "train.py". A failure of the text is kept there. */
void vs_vary_run_alone(const vs_vary_run *run, vs_text *scratch, void *ctx,
                       void (*each)(void *ctx, vs_str word));

#endif
