/* Sizes as PyTorch's messages have them: "512 bytes", "20.00 MiB"; GiB is the largest unit. */
#ifndef VS_ALLOC_SIZE_TEXT_H
#define VS_ALLOC_SIZE_TEXT_H

#include "base/text.h"

void vs_alloc_write_size(vs_text *out, uint64_t bytes);

#endif
