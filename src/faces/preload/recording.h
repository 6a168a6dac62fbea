/* The recording of this process: a file that is created when PyTorch's CUDA allocator is first used, or another library takes memory from the
 * CUDA driver (driver.h), or where recording is begun from inside the program, and complete when the process exits or the program ends it. A
 * child of a fork that does so has a file of its own.
 *
 * What is wanted comes from the environment, if the library is there from the beginning:
 *
 *   VRAMSCOPE_RECORD       the path for the first process that records; where a file is there already, the next ones take NAME.PID.vram for
 *                          NAME.vram (NAME.PID for other names), then NAME.PID.2.vram ...; one of several ranks NAME.rank3.vram, NAME.rank3.PID.vram ...;
 *                          without it nothing is recorded
 *   VRAMSCOPE_RECORD_EACH  set: all take such a name, without the rank
 *   VRAMSCOPE_RECORD_RING  the most bytes of a file, which has the newest events then; "300s": those of so many seconds; 0, or not set: all
 *   VRAMSCOPE_RECORD_ON_OOM  set: a recording is kept only if a request fails, up to that
 *   VRAMSCOPE_RECORD_LIST  a file to which each process appends a line: "PID\tPATH" for a recording, "PID\t=" once that has memory
 *                          of PyTorch's allocator, "PID\t\tSENTENCE" for what it says to its user
 *   VRAMSCOPE_RECORD_QUIET set: sentences go only to that file, and a recording that is begun from inside takes the place of this one
 *   VRAMSCOPE_RECORD_STACKS "python": a thread without a Python frame has no stack, as in PyTorch's history with stacks="python"
 *
 * Sentences go to standard error, each kind once.
 *
 * Era: a number that grows with each fork and with each recording that is begun. What is known of the memory belongs to an era. */
#ifndef VS_PRELOAD_RECORDING_H
#define VS_PRELOAD_RECORDING_H

#include "faces/preload/recording_file.h"
#include "record/record.h"

typedef struct vs_preload_recording {
  vs_recorder *_Atomic recorder; /* NULL: this process does not record, or does not any more */
  vs_record_stacks *stacks;      /* NULL if it never did */
} vs_preload_recording;

/* Reads the environment. Called once, when the library is loaded; `is_early`: before the program begins. Else what the environment wants is
 * recorded once that is begun. `put_state`: as vs_record_options.checkpoint. `tell_opened` is called with each recording that is opened, before
 * any thread uses it; it may not ask for the recording. */
void vs_recording_prepare(bool is_early, bool (*put_state)(void *ctx, vs_recorder *recorder),
                          void (*tell_opened)(vs_recorder *recorder));

/* Whether this process records, or will once it uses PyTorch's allocator or a library takes memory. The second is false if the recording could not be opened. */
bool vs_recording_is_wanted(void);
bool vs_recording_is_on(void);

/* The recording of this process, which the first call in each era opens. Takes no lock if it is open. */
const vs_preload_recording *vs_recording_now(void);

/* The same, without opening one. NULL: there is none. */
vs_recorder *vs_recording_current(void);

/* The stacks and texts of this process' recordings; NULL before the first one. */
vs_record_stacks *vs_recording_stacks(void);

/* Whether the recording is that of a dry run, which ends when the program begins one of its own. */
bool vs_recording_gives_way(void);

/* Whether a thread without a Python frame has its native stack. */
bool vs_recording_has_native_stacks(void);

uint32_t vs_recording_era(void);

/* Begins a recording, in a new era. Fails with a sentence: VS_BAD_ARGUMENT (the process is being recorded already), VS_IO, VS_NOT_FOUND,
 * VS_NO_MEMORY; then nothing is recorded */
typedef struct vs_recording_wish {
  const char *
      path; /* may be relative; NULL: as the environment wants it, and opened by the first call of the allocator */
  bool may_replace; /* an existing file at `path` */
  bool
      is_on_oom; /* it is kept only if a request fails; `path` is its name then, or the next one that is free */
  uint64_t most_bytes, most_ns; /* of the file, which has the newest events then; at most one is not 0 */
} vs_recording_wish;
VS_MUST_CHECK vs_status vs_recording_begin(const vs_recording_wish *wish, vs_error *error);

/* The path of the recording that is written, "" where none is. It is constant while one is written. */
const char *vs_recording_path(void);

/* The path of the recording of this era that was kept because a request failed, "" if there is none. */
const char *vs_recording_kept(void);

/* The recording has memory of PyTorch's allocator from here on. */
void vs_recording_note_pytorch(void);

/* PyTorch's settings, as its own snapshots have them. */
void vs_recording_put_settings(vs_recorder *recorder);

/* Whether recordings are kept only if a request fails. */
bool vs_recording_is_on_oom(void);

/* A recording that no call takes any more. The caller keeps other threads from using the recorder that they got before, and closes it. */
typedef struct vs_recording_taken {
  vs_recorder *recorder;
  char path[VS_PRELOAD_PATH];
} vs_recording_taken;

/* Nothing is recorded from here on, until a recording is begun. False: there is none. */
bool vs_recording_take(vs_recording_taken *taken);

/* Another recording takes its place, which is returned. NULL: it cannot be opened, so nothing is recorded any more. There is one. */
vs_recorder *vs_recording_change(vs_recording_taken *taken);

/* Completes the file; where only those with a failed request are kept, gives it its name, or removes it. Fails with a sentence: VS_IO */
VS_MUST_CHECK vs_status vs_recording_close(const vs_recording_taken *taken, bool has_oom, vs_error *error);

/* A sentence for the user, with "vramscope: " before it. */
void vs_recording_say(const char *sentence);

#endif
