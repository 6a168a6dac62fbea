/* vramscope dryrun: runs a CUDA program on a simulated GPU. Does it fit, what used the memory, on which cards would it run?
 *
 *   vs_dryrun_plan plan = {.command = (char *[]){"python3", "train.py", NULL}, .gpu = "24GiB"};
 *   vs_dryrun_end end;
 *   vs_error error;
 *   if (vs_dryrun_run(NULL, &plan, NULL, reply, &end, &error) != VS_OK) ... error.text says why, in one sentence
 *
 * The program is started unmodified, with the libraries of the simulated CUDA in place of NVIDIA's, and the call waits for its
 * end. The answer is one reply: a JSON object whose keys docs/formats/dryrun.md describes. `vramscope dryrun --json` prints it, and
 * the command's text is rendered from it.
 *
 * Units     Sizes are bytes, times microseconds.
 * Stable    vs_dryrun_plan, vs_dryrun_watch, vs_dryrun_end and vs_dryrun_progress may get more members at their ends; vs_dryrun_run is
 *           inline and passes their size.
 * Processes A run handles this process' signals: signals that would end it (INT, TERM, HUP) are passed to the program, whose end
 *           is then reported. So a process may have one run at a time, on its main thread.
 * Files     The processes write to a folder in TMPDIR, which is removed before this returns. */
#ifndef VRAMSCOPE_DRYRUN_H
#define VRAMSCOPE_DRYRUN_H

#include <vramscope/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vs_dryrun_streams {
  VS_DRYRUN_STREAMS_OURS,      /* the program's standard input, output and error are those of this process */
  VS_DRYRUN_STREAMS_TO_STDERR, /* its standard output goes to standard error */
  VS_DRYRUN_STREAMS_NONE,      /* it reads nothing, and its output is dropped */
} vs_dryrun_streams;

/* The program to run, and the machine. With all members zero except `command` it is one process on one H100. The members have the
 * meaning of the options of `vramscope dryrun`, and errors use these names. Texts are borrowed for the call; NULL: not given, so
 * that the program's environment decides. */
typedef struct vs_dryrun_plan {
  char *const *command; /* the program, searched in PATH, and its arguments; NULL after the last */
  const char *gpu;      /* "H100", "24GiB", "RTX4090:20GiB", "2xA100"; NULL: "H100" */
  const char *context;  /* the size of each process's context; NULL: as on the real card */
  const char
      *values; /* what the program reads back: "zeros", "true", "keep", and places: "keep,train.py:88=1" */
  const char *events; /* when work is done: "at-once", "at-sync" */
  const char *conf;   /* PyTorch's allocator settings */

  /* A job of several ranks: all of `ranks`, or the one numbered `rank` of `world`. */
  uint64_t ranks, world, rank;
  bool has_ranks, has_world, has_rank;

  bool has_no_history;    /* without PyTorch's history the report has no owners */
  bool finds_smallest;    /* run it again, silently, on cards with less memory, until the smallest is known */
  bool replaces_snapshot; /* the file may exist */

  /* Addresses and Python's hash seed are left random. Otherwise they are fixed, so that equal runs make equal events. */
  bool is_random;

  /* With `world`: runs rank 0, then, silently, others of the world until the memory of each rank is known or assumed, at most
   * `most_ranks` of them (0: 32). The report is about rank 0; the verdict and the needs are the worst of all that ran. */
  bool finds_ranks;
  uint64_t most_ranks;

  uint64_t history; /* the number of events in PyTorch's history; 0: a million */
  bool
      is_recorded; /* the recorder's history in place of PyTorch's: less time; it has no private pools. Not with has_no_history */
  uint64_t top;    /* owners in the report; 0: all of them */
  const char *snapshot; /* PyTorch's snapshot is copied to this new file; NULL: it is not kept */

  /* The folder that contains simcuda/ and dryrun/. NULL: they are searched beside the running program, in its library folder, and
   * likewise for the library that contains this function. */
  const char *libraries;

  /* "ready", "idle", or seconds ("30"): the program is ended then, as by Ctrl-C, and the reply is about the run until there. For
   * servers. NULL: the run lasts until the program ends. */
  const char *until;

  vs_dryrun_streams streams;

  /* The axes of a table, as the option --vary takes them: "gpu=H100,L4", "batch=8,16"; NULL after the last. The program runs once,
   * silently, for each combination of their values, at most 64 times, and the reply is about all of these runs ("method" is
   * "dryrun_vary"). Not together with finds_smallest, finds_ranks, history and snapshot. NULL: one run. */
  const char *const *vary;

  /* "batch=1..256": the largest of these values with which the program fits, as the option --find-largest takes them. The program runs, silently,
   * with one value after the other, and the reply is about all of these runs ("method" is "dryrun_find_largest"). Not together with vary,
   * finds_smallest, finds_ranks, history and snapshot. NULL: one run. */
  const char *find_largest;

  /* "1-2", "3-", "-2", "4": steps of the training, at whose peaks the reply has inventories, too ("step_ranges"); NULL after the last. NULL:
   * none. */
  const char *const *step_ranges;

  /* A fit.json (docs/formats/fit.md), or its text, which begins with "{": changes that are applied to the program from outside, which the reply
   * reports ("changes"). NULL: none. */
  const char *with;

  /* Searches the cheapest set of changes (docs/formats/fit.md) with which the program fits: it runs, silently, with sets of them, at most `most_runs`
   * times (0: 24), and the reply is about all of these runs ("method" is "fit"). Changes with other numerics are tried only with allows_numerics. Not
   * together with with, vary, find_largest, finds_smallest, finds_ranks, history and snapshot. */
  bool finds_changes;
  bool allows_numerics;
  uint64_t most_runs;
  /* With finds_changes: "batch=1..64", as find_largest has it, at most VS_DRYRUN_MOST_PARAMETERS of them; NULL after the last. The reply says, too, for
   * each of them with which of its values the program fits without a change; or, where no set of changes is enough, with the one that needs least. The
   * other parameters are then those of the command. NULL: none */
  const char *const *parameters;
  /* With finds_changes: PyTorch's snapshots of the program as it is and of the run with the set that was found are copied to these files, where there
   * are any. NULL: they are not kept */
  const char *plain_snapshot, *found_snapshot;
} vs_dryrun_plan;

enum { VS_DRYRUN_MOST_PARAMETERS = 8 };

/* What became of the runs, as the exit status of `vramscope dryrun` says it. */
enum {
  VS_DRYRUN_EXIT_FITS = 0, /* also after out-of-memory errors that the program handled */
  VS_DRYRUN_EXIT_DOES_NOT_FIT = 1,
  VS_DRYRUN_EXIT_FAILED = 6, /* a program failed, but not for lack of memory, or did not use the GPU */
  VS_DRYRUN_EXIT_INTERRUPTED = 130,
};

typedef enum vs_dryrun_stage {
  VS_DRYRUN_RUNNING,   /* the program runs; its output is shown */
  VS_DRYRUN_SEARCHING, /* it runs silently with less memory */
  VS_DRYRUN_READING,   /* its history is read */
  VS_DRYRUN_PAUSED, /* this process is about to be stopped (Ctrl-Z), or the run is over: erase the progress display */
  VS_DRYRUN_RANKS,   /* another rank runs silently */
  VS_DRYRUN_VARYING, /* a run of a table begins, silently */
  VS_DRYRUN_FINDING, /* a run of a search for the largest value begins, silently */
  VS_DRYRUN_FITTING, /* a run of a search for changes begins, silently */
} vs_dryrun_stage;

/* The progress. Members that do not belong to the stage are 0. */
typedef struct vs_dryrun_progress {
  vs_dryrun_stage stage;
  /* RUNNING: the machine; `card` is the used card with the highest peak, whose bytes follow. */
  const char *name; /* of the first card */
  uint32_t cards_in_use, card;
  uint64_t used_bytes, peak_bytes, total_bytes;
  uint64_t steps;   /* calls of an optimizer's step(), of the process that made most */
  uint64_t time_us; /* since the program was started */
  /* SEARCHING: the run that begins. */
  uint32_t run;
  uint64_t tried_bytes, low_bytes, high_bytes; /* the answer is more than low, at most high */
  /* READING */
  uint64_t read_bytes, file_bytes;
  /* RANKS: `run` and `time_us`, and */
  uint64_t rank, world;
  /* VARYING: `run`, how many there are, and the values of this one: "gpu=L4, batch=8" */
  uint32_t runs;
  vs_str values;
  /* FINDING: `run` and `values`, and what is known: "16 fits, 128 does not"; empty: nothing. FITTING: the same, and `runs`, the most */
  vs_str known;
} vs_dryrun_progress;

/* Receives progress and messages. Each function may be NULL. */
typedef struct vs_dryrun_watch {
  void *ctx;
  /* Twice a second while a program runs, and when the stage changes. On the thread that called vs_dryrun_run. */
  void (*progress)(void *ctx, const vs_dryrun_progress *progress);
  /* A message for the user while the run continues; `subject` is the file that it is about, or empty. Also called by another
   * thread of the run, before vs_dryrun_run returns. */
  void (*say)(void *ctx, vs_str subject, const vs_error *error);
} vs_dryrun_watch;

typedef struct vs_dryrun_end {
  /* The exit status for a command that runs the program: that of the program, or 128 + N if signal N ended it; for several
   * processes that of the first one that failed. 127: there is no such program; 126: it cannot be started. With `vary`: 0 if all
   * runs have ended, however they ended; 130 if they were interrupted, 1 if one could not be started. With `find_largest` one of VS_DRYRUN_EXIT: whether a
   * value fits. */
  int exit_code;
  const char
      *subject; /* after a failure: the program or file of the plan that `error` is about; NULL: none */
  int answer; /* one of VS_DRYRUN_EXIT; 127 or 126 as exit_code. With `vary` and `find_largest` the same as exit_code */
} vs_dryrun_end;

/* Runs the program and writes the reply, which is complete when this returns VS_OK. If the program fails or runs out of memory,
 * that is part of the reply and not a failure of this call.
 *
 * host      NULL: vs_host_default(). watch, error: may be NULL
 * Fails: VS_BAD_ARGUMENT  the plan is invalid; VS_IO  the simulated CUDA is missing, a file cannot be made, or the
 *        program cannot be started; VS_NOT_FOUND  there is no such program; VS_UNSUPPORTED  this system cannot;
 *        VS_NO_MEMORY, and what the writer fails with */
VS_API VS_MUST_CHECK vs_status vs_dryrun_run_sized(const vs_host *host, const vs_dryrun_plan *plan,
                                                   size_t plan_size, const vs_dryrun_watch *watch,
                                                   size_t watch_size, vs_writer reply, vs_dryrun_end *end,
                                                   size_t end_size, vs_error *error);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status
vs_dryrun_run(const vs_host *host, const vs_dryrun_plan *plan, const vs_dryrun_watch *watch, vs_writer reply,
              vs_dryrun_end *end, vs_error *error) {
  return vs_dryrun_run_sized(host, plan, sizeof *plan, watch, sizeof *watch, reply, end, sizeof *end, error);
}

#ifdef __cplusplus
}
#endif
#endif
