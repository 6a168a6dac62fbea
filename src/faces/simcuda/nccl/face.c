#define VS_FACE_REFUSAL 5 /* ncclInvalidUsage */
#include "faces/simcuda/core/trampoline.h"

/* The same entry under a second name; it counts as the first. */
#define VS_ALSO(name, as) __asm__(".globl " #name "\n.set " #name ", " #as "\n");
#include "faces/simcuda/nccl/names.def"
VS_FACE_LIBRARY("NCCL")
