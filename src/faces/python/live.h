/* Private to live*.c: the allocator under PyTorch, and where a Python thread is. */
#ifndef VS_PYTHON_LIVE_H
#define VS_PYTHON_LIVE_H

#include "faces/python/python.h"
#include "torch/where.h"

/* The process's allocator under PyTorch; NULL with an error set if there is none. */
vs_live *vs_python__live(void);

/* Each is a vs_torch_where: the Python frames of the calling thread, innermost first. On a thread that runs no Python the
 * first returns an empty stack; the second returns VS_STACK_NONE, so that the native stack is taken. */
vs_stack vs_python__where(vs_live *live);
vs_stack vs_python__where_or_native(vs_live *live);

/* vs_live_options.processes, by NVML. */
size_t vs_python__processes(void *ctx, uint32_t device, vs_live_process *rows, size_t capacity);

#endif
