/* The reply of a dry run, judged by limits of the command line (`vramscope dryrun --max-allocated 20GiB`): the module `check` answers. */
#ifndef VS_CLI_LIMITED_H
#define VS_CLI_LIMITED_H

#include "faces/cli/cli.h"

typedef struct vs_limited {
  vs_text reply;  /* the reply of the dry run, with the member "check": the reply of the check */
  vs_exit answer; /* VS_EXIT_OK: it holds them; VS_EXIT_OVER_LIMIT; VS_EXIT_USAGE: one cannot be judged */
} vs_limited;

/* `reply`: of the dry run; `limits`: an object with the keys of a vramscope.toml. A failure was printed. To be released after it, too. */
VS_MUST_CHECK vs_exit vs_limited_init(vs_limited *limited, const vs_cli *cli, vs_str reply, vs_json limits);
void vs_limited_deinit(vs_limited *limited);

/* The command line of a program as the name of its run. */
void vs_limited_put_command(vs_text *name, char *const *words);

/* holds: VS_EXIT_OK; broken: `broken`; unknown: VS_EXIT_USAGE. */
vs_exit vs_limited_exit(vs_json check, vs_exit broken);

#endif
