/* What a program, or a debugger, calls to begin and to end a recording while the program runs. They are exported under these names.
 *
 * All but vramscope_record_script are called by a thread that holds Python's lock, so one at a time: ctypes.PyDLL does that. The order is
 *
 *   begin  ──▶  segment, block, ... (what the allocator has, as torch.cuda.memory_snapshot says)  ──▶  ready  ──▶ ...  ──▶  end
 *
 * Functions that return an int return a vs_status, 0 for success, else with a sentence of at most `size` bytes, its 0 included. */
#ifndef VS_PRELOAD_LATE_H
#define VS_PRELOAD_LATE_H

#include "faces/preload/pytorch.h"

/* Begins a recording in `path`, and leads PyTorch's calls here. Nothing is written before `ready`. NULL: as the environment wants it.
 * `most`: bytes of the file, which has the newest events then; with VRAMSCOPE_RECORD_TIME seconds; 0: all of them. */
enum {
  VRAMSCOPE_RECORD_REPLACE = 1, /* an existing file */
  VRAMSCOPE_RECORD_ON_OOM = 2,  /* keep it only if a request fails, up to that */
  VRAMSCOPE_RECORD_TIME = 4,    /* `most` is a number of seconds */
};
VS_PRELOAD_API int vramscope_record_begin(const char *path, int options, uint64_t most, char *sentence,
                                          size_t size);

/* What was allocated before. `stream` is a handle, sizes are bytes. */
VS_PRELOAD_API void vramscope_record_segment(uint32_t device, uint64_t address, uint64_t bytes,
                                             uint64_t stream, bool is_expandable);
VS_PRELOAD_API void vramscope_record_block(uint32_t device, uint64_t address, uint64_t bytes,
                                           uint64_t requested);
VS_PRELOAD_API int vramscope_record_ready(char *sentence, size_t size);

/* Ends a recording before it is ready, and removes its file. */
VS_PRELOAD_API void vramscope_record_cancel(void);

/* Whether this process is recorded, or will be once it uses PyTorch's allocator. */
VS_PRELOAD_API bool vramscope_record_is_on(void);

/* The path of the recording that is being written, "" while there is none; and of the one that was kept because a request failed, since the
 * last begin. Borrowed until the next begin, or failure. */
VS_PRELOAD_API const char *vramscope_record_path(void);
VS_PRELOAD_API const char *vramscope_record_kept(void);

/* A number that differs for each begin, and in children of a fork. */
VS_PRELOAD_API uint32_t vramscope_record_number(void);

/* Ends the recording, and leads the calls back. Does nothing where none is written. */
VS_PRELOAD_API int vramscope_record_end(char *sentence, size_t size);

/* The name of a status, such as "IO". */
VS_PRELOAD_API const char *vramscope_record_status(int status);

/* Runs the Python program `path` in this process, on a thread of its own that waits for Python's lock; returns at once. Called by a debugger, to
 * which it answers 0, or 1: there is no running interpreter, or no thread could be started. The answer is in memory, too, for a debugger that cannot
 * take what a function returns. */
VS_PRELOAD_API int vramscope_record_script(const char *path);
VS_PRELOAD_API extern int vramscope_record_script_answer;

#endif
