/* Frames as people want to see them: without noise, and the one line of the user's own code that asked.
 *
 *   noise     frames of the recording and of the interpreter's machinery, which say nothing (the filter of PyTorch's own
 *             viewers, plus the allocator's own frames)
 *   library   Python code that came with a package or the interpreter, by its path
 *   user      the innermost Python frame that is neither; else the innermost Python library frame; else (the threads of
 *             autograd have no Python frames) the innermost C++ frame that runs a node of the backward pass; else the
 *             innermost C++ frame that is no noise
 * What a string means is found out when it is first asked and remembered: the table changes, the snapshot does not. */
#ifndef VS_ANALYZE_FRAMES_H
#define VS_ANALYZE_FRAMES_H

#include "snapshot/model.h"

#define VS_NO_FRAME UINT32_MAX

/* Python code: has a file that is no library, source or header of C++, and a name without "::". */
bool vs_frame_is_python(const vs_snapshot *snapshot, uint32_t frame);

/* Whether `line` is a line. In C++ frames of PyTorch's it may be an offset in the library: never show that as a line. */
bool vs_frame_has_line(const vs_snapshot *snapshot, uint32_t frame);

/* The last part of a path, of either slash. */
vs_str vs_path_base(vs_str path);

typedef struct vs_frames {
  const vs_snapshot *snapshot;
  VS_VEC(uint8_t) names;  /* by string id: what the string means as a function's name; 0: not asked yet */
  VS_VEC(uint8_t) files;  /* by string id: what it means as a file's name */
  VS_VEC(uint32_t) users; /* by stack id: 0: not asked yet, else 2 + frame id, or 1 for none */
} vs_frames;

VS_MUST_CHECK vs_status vs_frames_init(const vs_host *host, const vs_snapshot *snapshot, vs_frames *frames);
void vs_frames_deinit(const vs_host *host, vs_frames *frames);

bool vs_frames_is_noise(vs_frames *frames, uint32_t frame);
bool vs_frames_is_library(vs_frames *frames, uint32_t frame);

/* The frame to show for a stack; VS_NO_FRAME if there is none worth it (no stack, an empty one, or only noise). */
uint32_t vs_frames_user(vs_frames *frames, uint32_t stack);

#endif
