/* The process' one allocator under PyTorch.
 *
 * PyTorch can be given an allocator once in a process, and never takes it back: so there is one vs_live, it is opened once,
 * and it stays until the process ends. The functions that PyTorch calls are exported by their names (functions.c, pools.c)
 * and declared in no header, since nobody here calls them. */
#ifndef VS_FACES_TORCH_TORCH_H
#define VS_FACES_TORCH_TORCH_H

#include <vramscope/live.h>

/* Opens it. `options` as for vs_live_open; current_stream is PyTorch's, where it is loaded. `is_global`: PyTorch's own
 * allocator is to be replaced, so running out of memory has to be thrown.
 * Fails: VS_BAD_ARGUMENT (it is open already), VS_UNSUPPORTED (`is_global`, and PyTorch or the C++ runtime have not got what
 * that takes: `error` names it), and as vs_live_open does */
VS_MUST_CHECK vs_status vs_torch_open(const vs_live_options *options, bool is_global, vs_error *error);

/* NULL: it is not open. It never closes. */
vs_live *vs_torch_live(void);

/* What is asked, on the thread that calls and before any lock is taken, where an allocation (and with `on_free` a free)
 * happens; VS_STACK_NONE: nowhere that is known. NULL: this one asks nobody any more. Where both ask, history's is taken. */
typedef vs_stack (*vs_torch_where)(vs_live *live);
typedef enum vs_torch_asker { VS_TORCH_HISTORY, VS_TORCH_RECORDING, VS_TORCH_ASKERS } vs_torch_asker;
void vs_torch_where_set(vs_torch_asker asker, vs_torch_where where, bool on_free);

/* Frees of addresses that are not ours, so far: PyTorch is told nothing of them. */
uint64_t vs_torch_strange_frees(void);

#endif
