/* Private to live*.c: the allocator under PyTorch, and where a Python thread is. */
#ifndef VS_PYTHON_LIVE_H
#define VS_PYTHON_LIVE_H

#include "faces/python/python.h"
#include "torch/where.h"

/* NULL with an error set: it is not in use. */
vs_live *vs_python__live(void);

/* Each a vs_torch_where: the Python frames of the calling thread, innermost first. On a thread that runs no Python the
 * first says that there are none, the second that somebody else may know: the machine's stack is taken. */
vs_stack vs_python__where(vs_live *live);
vs_stack vs_python__where_or_native(vs_live *live);

/* vs_live_options.processes, by NVML. */
size_t vs_python__processes(void *ctx, uint32_t device, vs_live_process *rows, size_t capacity);

#endif
