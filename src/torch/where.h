/* How the Python extension supplies the stack of a thread that allocates: only it knows Python's stack. */
#ifndef VS_TORCH_WHERE_H
#define VS_TORCH_WHERE_H

#include <vramscope/torch.h>

/* The stack of the calling thread; VS_STACK_NONE if it is unknown. Called at each allocation, and with `on_free` at each free,
 * before any lock is taken. A `where` of NULL removes the function. If both askers have one, VS_TORCH_HISTORY's is called. */
typedef vs_stack (*vs_torch_where)(vs_live *live);
typedef enum vs_torch_asker { VS_TORCH_HISTORY, VS_TORCH_RECORDING, VS_TORCH_ASKERS } vs_torch_asker;
void vs_torch_where_set(vs_torch_asker asker, vs_torch_where where, bool on_free);

/* How many frees had an address that is not ours. They are ignored, and PyTorch is not told. */
uint64_t vs_torch_strange_frees(void);

#endif
