/* The kinds of frames, their short names, and the frame of a stack that an allocation is attributed to. All answers
 * take these from here; no face has rules of its own.
 *
 *   noise     frames that carry no information: those of the recording and of the interpreter (the filter of PyTorch's
 *             own viewers), the allocators' own frames, destructors, and the C library's code that starts programs and
 *             threads
 *   library   Python code of a package or of the interpreter, recognized by its path
 *   user      other Python code. A snapshot without a single Python frame is of a C or C++ program: its functions with
 *             a source line are the user's, unless their namespace or path is that of a library
 *   backward  a C++ function "torch::autograd::...::NODE::apply", which runs NODE of autograd's graph, or one of
 *             autograd's engine, which runs the nodes; with or without a line
 *   native    other C and C++
 *
 * Where the forward line of a node of autograd's graph was recorded, the stacks of what the node allocates continue
 * with the frames of the forward pass (snapshot/forward.h), behind a border frame that counts as backward.
 *
 * A stack is attributed to its innermost user frame, else its innermost library frame, else its innermost backward
 * frame (autograd's threads have no Python frames), else its innermost native frame.
 *
 * The facts about a string are determined when they are first needed and kept in the table; the snapshot stays
 * unchanged. */
#ifndef VS_ANALYZE_FRAMES_H
#define VS_ANALYZE_FRAMES_H

#include "base/path.h"
#include "snapshot/model.h"

#define VS_NO_FRAME UINT32_MAX

typedef enum vs_frame_kind {
#define VS_FRAME_KIND(name, sentence) VS_FRAME_KIND_##name,
#include "analyze/frame_kinds.def"
#undef VS_FRAME_KIND
} vs_frame_kind;

const char *vs_frame_kind_name(vs_frame_kind kind);

/* "MulBackward0" of "torch::autograd::generated::MulBackward0::apply(...)": the node of autograd's graph that a
 * function runs, "Engine::evaluate_function" for the engine between the nodes; empty for all other functions. */
vs_str vs_autograd_node(vs_str function);

/* The name of a C++ function without its arguments, those of its templates, and what it returns:
 * "at::native::empty_cuda"; other names as they are. */
void vs_put_function(vs_text *text, vs_str function);

typedef struct vs_frames {
  const vs_snapshot *snapshot;
  VS_VEC(uint8_t) names;   /* by string id: its facts as a function's name; 0: not determined yet */
  VS_VEC(uint8_t) files;   /* by string id: its facts as a file's name */
  VS_VEC(uint32_t) users;  /* by stack id: 0: not determined yet, 1: none, else 2 + frame id */
  VS_VEC(uint32_t) places; /* by string id: offset of a path's shown part; empty: the last part is shown */
  uint8_t has_python;      /* 0: not determined yet, 1: no frame is Python, 2: one is */
} vs_frames;

VS_MUST_CHECK vs_status vs_frames_init(const vs_host *host, const vs_snapshot *snapshot, vs_frames *frames);
void vs_frames_deinit(const vs_host *host, vs_frames *frames);
/* After this call, files with equal last parts are shown with as many folders as distinguish them. */
VS_MUST_CHECK vs_status vs_frames_tell_apart(const vs_host *host, vs_frames *frames);

/* Whether the frame is the border between the frames of the backward pass and those of the forward pass. */
bool vs_frames_is_border(const vs_frames *frames, uint32_t frame);

vs_frame_kind vs_frames_kind(vs_frames *frames, uint32_t frame);

/* Whether `line` is a line of `file`. In C++ frames that PyTorch did not look up in the debug information, `line` is an
 * offset in the library, which must not be shown as a line. */
bool vs_frames_has_line(vs_frames *frames, uint32_t frame);

/* Frames of one line are one owner; frames without a line, and those of the backward pass, are by function. */
bool vs_frames_is_by_line(vs_frames *frames, uint32_t frame);

/* The frame that a stack is attributed to; VS_NO_FRAME if there is none (no stack, an empty one, or only noise). */
uint32_t vs_frames_user(vs_frames *frames, uint32_t stack);

/* The index of that frame in the stack. False if there is none, or if it is a line of the forward pass. */
bool vs_frames_user_place(vs_frames *frames, uint32_t stack, uint32_t *place);

/* The index of the innermost frame that says what allocated, also inside of packages: the innermost Python frame, else the innermost
 * node of the backward pass, else the innermost C++ frame; stack.count if all its frames are noise. */
uint32_t vs_frames_innermost_place(vs_frames *frames, vs_list stack);
/* That frame; VS_NO_FRAME where the stack is attributed to none, either. */
uint32_t vs_frames_innermost(vs_frames *frames, uint32_t stack);

/* ---- texts, written to a text without a writer: "train.py:42" and "forward", "" and "at::native::empty_cuda",
 * "backward pass" and "MulBackward0" */

void vs_frames_put_place(vs_frames *frames, vs_text *text, uint32_t frame);
void vs_frames_put_name(vs_frames *frames, vs_text *text, uint32_t frame);
/* Both: "train.py:42 forward", "at::native::empty_cuda", "backward pass, MulBackward0". */
void vs_frames_put_label(vs_frames *frames, vs_text *text, uint32_t frame);

/* ---- owners: the frame that an allocation is attributed to, or why there is none */

/* How the path of a file is written: "train.py" (with as many folders as distinguish it), or as recorded. */
typedef enum vs_path_form { VS_PATH_SHORT, VS_PATH_WHOLE } vs_path_form;

#define VS_BACKWARD_WORDS VS_FORWARD_BORDER
#define VS_BACKWARD_OF    VS_BACKWARD_WORDS " of "

/* The label of a frame that an allocation is attributed to; "backward pass of train.py:42 forward" if the frame is a
 * line of the forward pass and the allocation is of its backward pass. */
void vs_frames_put_owning(vs_frames *frames, vs_text *text, uint32_t frame, vs_path_form path);

typedef enum vs_owner_kind {
#define VS_OWNER(name, words) VS_OWNER_##name,
#include "analyze/owners.def"
#undef VS_OWNER
  VS_OWNER_frame,
} vs_owner_kind;

/* "backward pass (no Python stack)" ...; empty for VS_OWNER_frame, which the frame names. */
const char *vs_owner_words(vs_owner_kind kind);

/* VS_OWNER_frame, or why a stack names no frame. `is_older`: its allocation began before the trace. An empty stack in a
 * recording that has Python stacks was recorded on a thread without Python frames, which is one of autograd's. */
vs_owner_kind vs_frames_owner(vs_frames *frames, uint32_t stack, bool is_older);
/* The owner in words. All answers use them. */
void vs_frames_put_owner(vs_frames *frames, vs_text *text, uint32_t stack, bool is_older, vs_path_form path);

#endif
