/* The changes of a run (fit.json, src/changes): passed on to the hook in the program (python/vramscope_changes), and what became of them, as
 * the processes wrote it. */
#ifndef VS_DRYRUN_CHANGED_H
#define VS_DRYRUN_CHANGED_H

#include "changes/changes.h"
#include "codec/json_writer.h"
#include "os/child.h"
#include "os/folder.h"

/* Plain data, so that copies of a setup have it. */
typedef struct vs_changed {
  char text[VS_CHANGES_LONGEST + 1]; /* the list that vs_changes_put made; "": there are no changes */
  char list[VS_FOLDER_PATH + 16];    /* the file that processes append to; set for each run */
} vs_changed;

/* Reads and checks the fit.json at the path `with`, or that whose text `with` is, which begins with "{"; NULL: there are no changes. Fails: as
 * vs_changes_read and vs_infile_open, with a sentence that names the path */
VS_MUST_CHECK vs_status vs_changed_read(vs_changed *changed, const vs_host *host, const char *with,
                                        vs_error *error);

/* Names the file in the folder of a run. */
void vs_changed_begin(vs_changed *changed, const char *folder);

/* The variables for the processes of the run, borrowed from `changed`; how many: 0 without changes. */
enum { VS_CHANGED_VARIABLES = 2 };
size_t vs_changed_variables(const vs_changed *changed, vs_child_variable variables[VS_CHANGED_VARIABLES]);

/* Writes the array "changes" of docs/formats/fit.md: each change, and what became of it in the run whose folder still exists. Lines of the file that are
 * damaged are ignored; where it cannot be read "applied" is null and the text says why. Fails: VS_NO_MEMORY, after which the array is there, but has not all */
VS_MUST_CHECK vs_status vs_changed_put(vs_jsonw *w, const vs_host *host, const vs_changed *changed);

/* What the processes of the run wrote, as figures. */
typedef struct vs_changed_sum {
  bool is_known;          /* all that they wrote was read; without it the figures are lower bounds */
  bool is_loaded;         /* a process loaded the hook that applies changes */
  uint32_t applied;       /* bit i: change i of the list was applied at least once */
  uint64_t blocks;        /* that are checkpointed, in one process */
  uint64_t copied_bytes;  /* between host and device because of the changes, of all processes */
  bool is_copied_at_most; /* copied_bytes is an upper bound: the driver decides how much of it is copied */
} vs_changed_sum;

/* Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_changed_add_up(const vs_changed *changed, const vs_host *host,
                                          vs_changed_sum *sum);

#endif
