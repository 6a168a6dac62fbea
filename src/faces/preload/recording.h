/* The recording of this process: a file that is created when PyTorch's CUDA allocator is first used, and complete when the process
 * exits. A child of a fork that uses the allocator has a file of its own.
 *
 * Where: VRAMSCOPE_RECORD is the path for the first process that records; where a file is there already, the next ones take
 * NAME.PID.vram for NAME.vram (NAME.PID for other names), then NAME.PID.2.vram .... With VRAMSCOPE_RECORD_EACH set all take such
 * a name. Without VRAMSCOPE_RECORD nothing is recorded. VRAMSCOPE_RECORD_LIST is a file to which each process appends a line:
 * "PID\tPATH" for a recording that it began, "PID\t\tSENTENCE" for what it says to its user.
 *
 * Sentences go to standard error, each kind once; with VRAMSCOPE_RECORD_QUIET set only to that file. With VRAMSCOPE_RECORD_STACKS "python"
 * a thread without a Python frame has no stack, as in PyTorch's history with stacks="python". */
#ifndef VS_PRELOAD_RECORDING_H
#define VS_PRELOAD_RECORDING_H

#include "record/record.h"

typedef struct vs_preload_recording {
  vs_recorder *_Atomic recorder; /* NULL: this process does not record, or does not any more */
  vs_record_stacks *stacks;      /* NULL if it never did */
} vs_preload_recording;

/* Reads the environment. Called once, when the library is loaded. False: nothing is to be recorded. */
bool vs_recording_prepare(void);

/* The recording of this process, which the first call in each process opens. Takes no lock if it is open. */
const vs_preload_recording *vs_recording_now(void);

/* Whether a thread without a Python frame has its native stack. */
bool vs_recording_has_native_stacks(void);

/* The recorder, NULL as above; no call takes it after this one. The caller keeps other threads from using the one that it got
 * before. */
vs_recorder *vs_recording_take(void);

/* A sentence for the user, with "vramscope: " before it. */
void vs_recording_say(const char *sentence);

#endif
