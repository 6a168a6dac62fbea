/* The figures of this process (record/figures.h), made when the first device of a recording has something to tell.
 *
 * A child of a fork makes its own: the memory that it inherits is its parent's. */
#ifndef VS_PRELOAD_OWN_FIGURES_H
#define VS_PRELOAD_OWN_FIGURES_H

#include "record/figures.h"

/* The row of a device, emptied for this era. Where there is no memory for the figures it is a row that no one reads. The device's lock is held. */
vs_figures_device *vs_own_figures_begin(uint32_t device, uint32_t era);

/* No recording is written any more. */
void vs_own_figures_end(void);

#endif
