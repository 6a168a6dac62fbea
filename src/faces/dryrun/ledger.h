/* What a card held beside PyTorch's memory. */
#ifndef VS_FACES_DRYRUN_LEDGER_H
#define VS_FACES_DRYRUN_LEDGER_H

#include "faces/dryrun/sheet.h"

/* A line such as "405.0 MiB CUDA context, 92.00 MiB kernels, 66.00 MiB cuBLAS", about the card's peak; none if it was the
 * context alone. */
void vs_sheet_put_ledger(vs_sheet *p);

#endif
