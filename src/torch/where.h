/* Who says where a thread is when PyTorch allocates: for the Python extension, which knows Python's stack. */
#ifndef VS_TORCH_WHERE_H
#define VS_TORCH_WHERE_H

#include <vramscope/torch.h>

/* What is asked, on the thread that calls and before any lock is taken, where an allocation (and with `on_free` a free)
 * happens; VS_STACK_NONE: nowhere that is known. NULL: this function is not called any more. Where both ask, history's is taken. */
typedef vs_stack (*vs_torch_where)(vs_live *live);
typedef enum vs_torch_asker { VS_TORCH_HISTORY, VS_TORCH_RECORDING, VS_TORCH_ASKERS } vs_torch_asker;
void vs_torch_where_set(vs_torch_asker asker, vs_torch_where where, bool on_free);

/* Frees of addresses that are not ours, so far: PyTorch is told nothing of them. */
uint64_t vs_torch_strange_frees(void);

#endif
