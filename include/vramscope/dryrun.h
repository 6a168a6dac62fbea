/* vramscope dryrun: a CUDA program on a simulated GPU. Does it fit, what took the memory, on which cards would it run?
 *
 *   vs_dryrun_plan plan = {.command = (char *[]){"python3", "train.py", NULL}, .gpu = "24GiB"};
 *   vs_dryrun_end end;
 *   vs_error error;
 *   if (vs_dryrun_run(NULL, &plan, NULL, reply, &end, &error) != VS_OK) ... error.text says why, in one sentence
 *
 * The program is started unmodified, with the libraries of the simulated CUDA loaded in place of NVIDIA's, and waited for.
 * The answer is one reply: a JSON object whose keys docs/formats/dryrun.md describes. It is what `vramscope dryrun --json`
 * prints, and what that command renders its text from.
 *
 * Units     Sizes are bytes, times microseconds.
 * Stable    vs_dryrun_plan, vs_dryrun_watch, vs_dryrun_end and vs_dryrun_progress may get more members at their ends; vs_dryrun_run is
 *           inline and passes their size.
 * Processes A run takes part in this process' signals: what would end this process (INT, TERM, HUP) goes to the program
 *           instead, whose end is then reported. So one run at a time in a process, and on its main thread.
 * Files     What the processes leave behind lies in a folder in TMPDIR, which is gone when this returns. */
#ifndef VRAMSCOPE_DRYRUN_H
#define VRAMSCOPE_DRYRUN_H

#include <vramscope/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vs_dryrun_streams {
  VS_DRYRUN_STREAMS_OURS,      /* the program's standard input, output and error are those of this process */
  VS_DRYRUN_STREAMS_TO_STDERR, /* what it writes to standard output goes to standard error */
  VS_DRYRUN_STREAMS_NONE,      /* it reads nothing, and what it writes is dropped */
} vs_dryrun_streams;

/* What to run, and on which machine. All zero but `command` is a run of one process on one H100. The members mean what the
 * options of `vramscope dryrun` mean, and errors call them by these names. Texts are borrowed for the call; NULL: not
 * given, so that the program's environment decides. */
typedef struct vs_dryrun_plan {
  char *const *command; /* the program, looked for in PATH, and its arguments; NULL behind the last */
  const char *gpu;      /* "H100", "24GiB", "RTX4090:20GiB", "2xA100"; NULL: "H100" */
  const char *context;  /* what the context of each process takes: a size; NULL: as on the real card */
  const char *values;   /* what the program reads back: "zeros", "true", "keep" */
  const char *events;   /* when work is finished: "at-once", "at-sync" */
  const char *conf;     /* PyTorch's allocator settings */

  /* A job of several ranks: all of `ranks`, or the one numbered `rank` of `world`. */
  bool has_ranks, has_world, has_rank;
  uint64_t ranks, world, rank;

  /* PyTorch's history: of how many events (0: a million). Without it the report has no owners. */
  bool has_no_history;
  uint64_t history;

  uint64_t top;           /* owners in the report; 0: all of them */
  bool finds_smallest;    /* run it again, silently, on cards with less memory, until the smallest is known */
  const char *snapshot;   /* a copy of PyTorch's snapshot goes to this new file; NULL: none is kept */
  bool replaces_snapshot; /* the file may exist */
  vs_dryrun_streams streams;

  /* The folder in which simcuda/ and dryrun/ lie. NULL: they are looked for beside the running program, in the library
   * folder that belongs to it, and likewise beside the library that holds this function. */
  const char *libraries;
} vs_dryrun_plan;

typedef enum vs_dryrun_stage {
  VS_DRYRUN_RUNNING,   /* the program runs; its output is shown */
  VS_DRYRUN_SEARCHING, /* it runs silently with less memory */
  VS_DRYRUN_READING,   /* its history is read */
  VS_DRYRUN_PAUSED, /* this process is about to be stopped (Ctrl-Z), or the run is over: what was drawn has to go */
} vs_dryrun_stage;

/* How far it is. What does not belong to the stage is 0. */
typedef struct vs_dryrun_progress {
  vs_dryrun_stage stage;
  /* RUNNING: the machine, and of the cards in use the one with the highest peak. */
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
} vs_dryrun_progress;

/* Who watches. Each function may be NULL. */
typedef struct vs_dryrun_watch {
  void *ctx;
  /* Twice a second while a program runs, and when the stage changes. On the thread that called vs_dryrun_run. */
  void (*progress)(void *ctx, const vs_dryrun_progress *progress);
  /* What the user should know, though the run goes on: `subject` is the file in question or empty. Also called by a
   * thread of the run, while vs_dryrun_run has not returned. */
  void (*say)(void *ctx, vs_str subject, const vs_error *error);
} vs_dryrun_watch;

typedef struct vs_dryrun_end {
  /* What a command that stands for the program returns: the exit status of the program, 128 + N where signal N ended it;
   * of several processes that of the first which failed. 127: there is no such program; 126: it cannot be started. */
  int exit_code;
  const char
      *subject; /* after a failure: the program or file of the plan that `error` is about; NULL: none */
} vs_dryrun_end;

/* Runs the program and writes the reply, which is complete when this returns VS_OK. A program that fails, or runs out of
 * memory, is an answer and no failure of this call.
 *
 * host      NULL: vs_host_default(). watch, error: may be NULL
 * Fails: VS_BAD_ARGUMENT  the plan makes no sense; VS_IO  the simulated CUDA is not there, a file cannot be made, or the
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
