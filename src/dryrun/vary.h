/* --vary: the axes of a table of runs, as the user writes them. The runs are all combinations of their values, the values of the last
 * axis in turn first.
 *
 *   batch=8,16,32                    an option (--batch 8, --batch=8) or argument (batch=8) of the program, or one of dryrun (gpu=H100,L4)
 *   --rank=8,16   -b=8,16            an option of the program with exactly this name, although dryrun has one with that name, too
 *   dryrun:gpu=H100,L4               an option of dryrun, although the program has one with that name, too
 *   flag:compile=off,on              an option of the program without a value
 *   env:MODEL=a,b                    a variable of its environment
 *   gpu+tp=H100+1,2xH100+2           names that vary together
 *
 * An empty value is a run without that option, argument or variable. A backslash makes a comma, a plus or a backslash behind it a part
 * of the value. In the names of the program's options "-" and "_" are equal. What the command does not have yet is added at its end. */
#ifndef VS_DRYRUN_VARY_H
#define VS_DRYRUN_VARY_H

#include "base/text.h"
#include <vramscope/dryrun.h>

enum { VS_VARY_NAMES = 8, VS_VARY_RUNS = 64 };

#define VS_VARY_ADDED SIZE_MAX

typedef enum vs_vary_kind {
  VS_VARY_DRYRUN,      /* an option of dryrun */
  VS_VARY_OPTION,      /* "--batch 8", "--batch=8" of the program */
  VS_VARY_ARGUMENT,    /* "batch=8" of the program, perhaps behind a + or two */
  VS_VARY_FLAG,        /* "--compile" of the program */
  VS_VARY_ENVIRONMENT, /* a variable of the program's environment */
} vs_vary_kind;

typedef struct vs_vary_name {
  vs_str text; /* as given; borrowed */
  vs_str bare; /* its part without a prefix and without dashes in front */
  vs_vary_kind kind;
  unsigned option;  /* with VS_VARY_DRYRUN: its number in vary_options.def */
  size_t word;      /* where it is in the command; VS_VARY_ADDED: nowhere */
  bool is_attached; /* its value is in the same word */
} vs_vary_name;

/* Invariant (vs_vary_check): the axes share the names and the values out, in order and without gaps; the values of an axis are
 * value_count x name_count, the names of one value beside each other. No two names mean the same, or words of the command that overlap.
 * run_count is the product of all value_count, 1 .. VS_VARY_RUNS. */
typedef struct vs_vary_axis {
  uint32_t first_name, name_count;
  size_t first_value;
  uint32_t value_count;
} vs_vary_axis;

typedef struct vs_vary {
  const vs_host *host;
  const vs_dryrun_plan *plan; /* borrowed */
  vs_vary_name names[VS_VARY_NAMES];
  uint32_t name_count;
  vs_vary_axis axes[VS_VARY_NAMES];
  uint32_t axis_count;
  VS_VEC(size_t) values; /* where each value begins in `texts` */
  vs_text texts;         /* the values, a zero behind each */
  uint32_t run_count;
} vs_vary;

/* Reads the plan's `vary`. Fails: VS_BAD_ARGUMENT  `error` says which axis is wrong and why; VS_NO_MEMORY. To be released after a
 * failure, too. */
VS_MUST_CHECK vs_status vs_vary_init(vs_vary *vary, const vs_host *host, const vs_dryrun_plan *plan,
                                     vs_error *error);
void vs_vary_deinit(vs_vary *vary);

/* The value of a name in a run. Borrowed, NUL terminated. */
const char *vs_vary_value(const vs_vary *vary, uint32_t run, uint32_t name);

/* "dryrun", "option", "argument", "flag", "environment". */
const char *vs_vary_kind_word(vs_vary_kind kind);

/* Executes the invariant. */
bool vs_vary_check(const vs_vary *vary);

#endif
