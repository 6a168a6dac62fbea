/* The functions that PyTorch calls instead of its own. */
#ifndef VS_PRELOAD_HOOKS_H
#define VS_PRELOAD_HOOKS_H

#include "faces/preload/pytorch.h"

const vs_pytorch_calls *vs_hooks(void);

#endif
