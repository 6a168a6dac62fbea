/* --vary: the axes of a table of runs, as the user writes them. The runs are all combinations of their values, the values of the last
 * axis in turn first.
 *
 *   batch=8,16,32                    an option (--batch 8, --batch=8) or argument (batch=8) of the program, or one of dryrun (gpu=H100,L4)
 *   --rank=8,16   -b=8,16            an option of the program with exactly this name, although dryrun has one with that name, too
 *   dryrun:gpu=H100,L4               an option of dryrun, although the program has one with that name, too
 *   flag:compile=off,on              an option of the program without a value
 *   env:MODEL=a,b                    a variable of its environment
 *   {batch}=8,16                     the placeholder {batch} of the command, which is replaced wherever it stands; so is that of a name
 *                                    without braces that the command has as a placeholder
 *   gpu+tp=H100+1,2xH100+2           names that vary together
 *
 * An empty value is a run without that option, argument or variable; of a placeholder nothing is left. A backslash makes a comma, a plus or a backslash behind it a part
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
  VS_VARY_PLACEHOLDER, /* "{batch}" in words of the program */
} vs_vary_kind;

typedef struct vs_vary_name {
  vs_str text; /* as given; borrowed */
  vs_str bare; /* its part without a prefix, dashes in front or braces */
  vs_vary_kind kind;
  unsigned option;  /* with VS_VARY_DRYRUN: its number in vary_options.def */
  size_t word;      /* where it is in the command; VS_VARY_ADDED: nowhere */
  bool is_attached; /* its value is in the same word */
} vs_vary_name;

/* Whether it is a part of the command that stands nowhere in it, so that it is added at its end. */
static inline bool vs_vary_is_added(const vs_vary_name *name) {
  const bool is_inside =
      name->kind == VS_VARY_OPTION || name->kind == VS_VARY_ARGUMENT || name->kind == VS_VARY_FLAG;
  return is_inside && name->word == VS_VARY_ADDED;
}

/* Whether "{NAME}" of this placeholder begins at `at`. */
bool vs_vary_is_placed(const vs_vary_name *name, const char *at);

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
  const char *option; /* "--vary", for errors */
} vs_vary;

/* Reads the plan's `vary`. Fails: VS_BAD_ARGUMENT  `error` says which axis is wrong and why; VS_NO_MEMORY. To be released after a
 * failure, too. */
VS_MUST_CHECK vs_status vs_vary_init(vs_vary *vary, const vs_host *host, const vs_dryrun_plan *plan,
                                     vs_error *error);
void vs_vary_deinit(vs_vary *vary);

/* One axis with the one name of `axis`, "batch=...", which has no value yet: run_count is 0 until vs_vary_append adds one, each of which is one
 * more run. `option` is the option for errors. Fails as vs_vary_init. */
VS_MUST_CHECK vs_status vs_vary_init_open(vs_vary *vary, const vs_host *host, const vs_dryrun_plan *plan,
                                          const char *option, const char *axis, vs_error *error);
VS_MUST_CHECK vs_status vs_vary_append(vs_vary *vary, const char *value, vs_error *error);

/* The value of a name in a run. Borrowed, NUL terminated. */
const char *vs_vary_value(const vs_vary *vary, uint32_t run, uint32_t name);

/* "dryrun", "option", "argument", "flag", "environment", "placeholder". */
const char *vs_vary_kind_word(vs_vary_kind kind);

/* Executes the invariant. */
bool vs_vary_check(const vs_vary *vary);

#endif
