/* A program that runs once with the recorder loaded into its processes (faces/preload), on the machine's own GPUs or on simulated
 * ones. What the recorder did is known from the lines of a file that each process appends to.
 *
 * Invariant: paths are absolute, and in the order in which the recordings began. */
#ifndef VS_DRYRUN_RECORDED_H
#define VS_DRYRUN_RECORDED_H

#include "base/text.h"
#include "base/vec.h"
#include "os/folder.h"
#include <vramscope/dryrun.h>

typedef struct vs_recorded_plan {
  char *const *command;
  const char *gpu;  /* as in vs_dryrun_plan; NULL: the machine's own */
  const char *path; /* of the recording; NULL: PROGRAM.PID.vram in the working folder */
  bool may_replace; /* the file at `path` */
  bool is_on_oom;   /* a recording is kept only of an out-of-memory error; has `path` */
  const char
      *ring; /* a size or a time: a file keeps its newest part in so many bytes, or of so long; NULL: all */
  const char *with; /* a fit.json, whose changes are applied to the program; NULL: none */
  vs_dryrun_streams streams;
} vs_recorded_plan;

typedef struct vs_recorded_file {
  int64_t pid;
  const char *path;
  bool has_pytorch; /* memory of PyTorch's allocator; else what libraries took alone */
} vs_recorded_file;

typedef struct vs_recorded {
  const vs_host *host;
  int exit_code; /* as in vs_dryrun_end */
  const char *subject;
  VS_VEC(vs_recorded_file) files;
  vs_text changes; /* what became of the plan's `with`, as JSON: the array "changes" of docs/formats/fit.md */
  vs_text lines;   /* of all processes; `files` points into it */
} vs_recorded;

/* Runs it, and waits for its end. The caller deinitialises `recorded` after a failure, too.
 * Fails: VS_BAD_ARGUMENT, VS_NOT_FOUND, VS_IO, VS_UNSUPPORTED, VS_NO_MEMORY; `error` says why, `recorded->subject` what it is about (NULL:
 * nothing), and `recorded->exit_code` is 127 or 126 where the program could not be started. */
VS_MUST_CHECK vs_status vs_recorded_run(vs_recorded *recorded, const vs_host *host,
                                        const vs_recorded_plan *plan, vs_error *error);
void vs_recorded_deinit(vs_recorded *recorded);

#endif
