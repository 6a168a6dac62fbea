/* The device of a replay: addresses and bytes, no memory. A part of replay.h.
 *
 * Following a recording it does what the recorded device did, as the steps of the current request tell:
 *   the next step is segment_alloc or segment_map   memory is given, at that address
 *   the next step gives memory back                 memory is refused, once for each such step: the
 *                                                   allocator has to give back first
 *   there is no further step                        a request that failed is refused; any other gets
 *                                                   memory, as the recording can say nothing about it
 * Else memory is given as long as the card has it, at the lowest address that fits, in granules of 2 MiB.
 *
 * An event is made when a block is freed that waits for other streams, and knows when the recording
 * completed that free.
 *
 * Invariant: every address that is not in `free_addresses` is in `ranges`, and these do not overlap;
 * used = segments + mapped pages. */
#ifndef VS_ANALYZE_REPLAY_DEVICE_H
#define VS_ANALYZE_REPLAY_DEVICE_H

#include "analyze/replay.h"
#include "base/map.h"
#include "device/device.h"
#include "device/sim/free_set.h"

typedef struct vs_replay_range {
  uint64_t address, size; /* size 0: a spare entry, address is the next one */
} vs_replay_range;

typedef struct vs_replay_device {
  const vs_host *host;
  vs_sim_free_set free_addresses;
  VS_VEC(vs_replay_range) ranges;
  uint32_t spare; /* of ranges; UINT32_MAX: none */
  vs_map by_address;
  uint64_t capacity, used; /* bytes */
  uint64_t pages_left;     /* calls that may still be made: bounds the time for hostile files */
  uint64_t
      unmapped; /* unmapped ranges less the ranges mapped since: an upper bound of the gaps in expandable segments */
  uint64_t work, most_work; /* visited blocks and gaps, estimated; above most_work the device fails */

  const vs_replay_step *steps; /* of the whole recording */
  uint32_t next, end;          /* of the current request: those not met yet */
  bool follows, must_fail;
  bool is_capturing;   /* every stream, while a request of a capture is made */
  uint32_t refused_at; /* `next` when memory was refused last; UINT32_MAX: not yet for this request */

  uint32_t now;                 /* event of the current request */
  uint32_t completes_at;        /* event at which the recording completed the free that goes on */
  VS_VEC(uint32_t) completions; /* by event handle - 1 */
  uint64_t last_unmapped;       /* bytes */
} vs_replay_device;

VS_MUST_CHECK vs_status vs_replay_device_init(const vs_host *host, vs_replay_device *device);
void vs_replay_device_deinit(vs_replay_device *device);

/* A range that was there before. `bytes` count as used. Fails: VS_BAD_ARGUMENT (something is there),
 * VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_replay_device_put(vs_replay_device *device, uint64_t address, uint64_t size,
                                             uint64_t bytes);
void vs_replay_device_take(vs_replay_device *device, uint64_t address);

extern const vs_device_ops vs_replay_device_ops;

#endif
