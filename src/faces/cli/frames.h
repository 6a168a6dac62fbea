/* Frames as people read them: "train.py:42 forward".
 *
 * The engine says of each frame what kind it is and names groups itself; here single blocks, events and trees get their
 * names by the same rule: the innermost frame of the user's own, else of a package, else of the backward pass, else of
 * C++. */
#ifndef VS_CLI_FRAMES_H
#define VS_CLI_FRAMES_H

#include "codec/json_reply.h"

/* In rising order of what they say to the user. */
typedef enum vs_frame_kind {
  VS_FRAME_NOISE,
  VS_FRAME_NATIVE,
  VS_FRAME_BACKWARD, /* of PyTorch's backward pass: it runs in threads of its own, which no Python code called */
  VS_FRAME_LIBRARY,
  VS_FRAME_USER,
} vs_frame_kind;

vs_frame_kind vs_frame_kind_of(vs_json frame);

/* "train.py:42 forward", "at::native::empty_cuda", "backward pass, MulBackward0". Safe. */
void vs_frame_put(vs_text *text, vs_json frame);

/* The frame of a stack to show; absent if there is none. */
vs_json vs_frame_of_stack(vs_json stack);

/* That frame, or a word why there is none. */
void vs_frame_put_stack(vs_text *text, vs_json stack);

/* The name of a group of a reply: the engine's label, but for C++ a name that can be read. */
void vs_frame_put_group(vs_text *text, vs_json group);

#endif
