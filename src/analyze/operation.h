/* The operation that made an allocation: what ran below the innermost line of Python.
 *
 * PyTorch's dispatcher calls an operation through a function of its own, "at::_ops::addmm::call(...)", and an operation may call
 * others. The outermost of them is the one that the program called. */
#ifndef VS_ANALYZE_OPERATION_H
#define VS_ANALYZE_OPERATION_H

#include "analyze/frames.h"

/* "aten::linear" (of the library's own operations without the namespace: "linear" of "at::_ops::linear::call"); else the node of
 * the backward pass ("AddmmBackward0"); else the function of the innermost frame of Python; else that of the innermost C++
 * frame. Nothing is put where the stack has none of them. */
void vs_put_operation(vs_frames *frames, vs_text *text, uint32_t stack);

#endif
