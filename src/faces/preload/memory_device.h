/* The memory of a device, as memory.c follows it and state.c writes it. Private to both. */
#ifndef VS_PRELOAD_MEMORY_DEVICE_H
#define VS_PRELOAD_MEMORY_DEVICE_H

#include "faces/preload/blocks.h"
#include "faces/preload/own_figures.h"
#include "faces/preload/pytorch.h"
#include "faces/preload/recording.h"
#include "faces/preload/segments.h"
#include "os/thread.h"

typedef struct vs_memory_device {
  vs_lock lock;          /* guards all below */
  uint32_t era;          /* the one that it is about (recording.h); 0: none */
  vs_recorder *recorder; /* of the era's recording, as long as the lock is held; NULL: there is none */
  uint32_t forks;        /* the generation of the process that has the memory below */
  bool is_unsure;        /* the segments are not all that there are */
  /* where `blocks` looks for addresses, for vs_memory_fetch alone, which is called without the lock: it may be from before */
  _Atomic uint64_t near_slots, near_mask;
  vs_live_blocks blocks;
  vs_own_segments segments;
  vs_figures_device *figures; /* of this era, for other processes; NULL: nothing was told in it */
  /* while older memory is learned: the addresses of blocks and of segments about which a call told */
  vs_map told_blocks, told_segments;
} vs_memory_device;

extern vs_memory_device vs_memory_devices[C10_MOST_DEVICES];

/* The device with its lock taken, and without what an earlier era left there. Opens no recording. */
vs_memory_device *vs_memory_enter(uint32_t index);
/* The same, unless another thread has the lock. */
bool vs_memory_try(uint32_t index);
static inline void vs_memory_leave(vs_memory_device *d) { vs_lock_give(&d->lock); }

/* The era in which it is learned what was allocated before the recording, 0 if none: nothing is recorded until that is known. Changes under
 * the locks of all devices. */
extern _Atomic uint32_t vs_memory_learning;
extern _Atomic bool vs_memory_has_failed_to_learn; /* for lack of memory */

/* The era in which a request failed since its recording, or the last one of several, began; 0: none did. Under a device's lock. */
extern _Atomic uint32_t vs_memory_refusal;

/* The doubts about PyTorch (pytorch.h) that this era's recording does not have yet, which are also said; or these, which are not. */
void vs_memory_put_doubts(vs_recorder *recorder);
void vs_memory_put_marks(vs_recorder *recorder, uint32_t doubts);

static inline bool vs_memory_is_learning(void) {
  const uint32_t era = atomic_load_explicit(&vs_memory_learning, memory_order_relaxed);
  return __builtin_expect(era != 0, 0) && era == vs_recording_era();
}

#endif
