/* The statistics of PyTorch's allocator as numbers, and where they lie in memory.
 *
 * torch._C._cuda_memoryStats takes about 11 us, because it makes a dict of dicts of 130 numbers. A scope that
 * shall cost less reads the same numbers where the allocator keeps them. PyTorch exports no function for
 * that, only the pointer to its allocator (c10::cuda::CUDACachingAllocator::allocator), and the layout behind
 * it belongs to a version. So nothing is assumed of it: the numbers are searched for, by what the dict says.
 * A place counts for nothing until it has agreed with the dict twice, in different states, and is compared
 * again now and then (torch_statistics.c).
 *
 * The dict is made under the card's lock. Reading without it would now and then see half of what another
 * thread is doing: the lock, a std::recursive_mutex, has to lie before the statistics, and a reading counts
 * only where it was free. Where there is none the place is not taken.
 *
 * Memory is only read, and only by process_vm_readv: an address that is none is an error of that call, not
 * ours. */
#ifndef VS_PYTHON_TORCH_LAYOUT_H
#define VS_PYTHON_TORCH_LAYOUT_H

#include <vramscope/base.h>

#include "base/mem.h"

typedef struct vs_torch_stat {
  int64_t current, peak;    /* peak: since the last reset of peaks */
  int64_t allocated, freed; /* sums since the last reset of sums */
} vs_torch_stat;

enum { VS_TORCH_POOLS = 3, VS_TORCH_METRICS = 4 };

/* The group's number of all pools; small and large follow it. */
typedef enum vs_torch_id {
#define VS_TORCH_GROUP(name)  VS_TORCH_##name, VS_TORCH_##name##_small, VS_TORCH_##name##_large,
#define VS_TORCH_SINGLE(name) VS_TORCH_##name,
#include "faces/python/torch_stats.def"
  VS_TORCH_STATS
} vs_torch_id;

typedef struct vs_torch_stats {
  vs_torch_stat of[VS_TORCH_STATS];
  bool has_oversize; /* max_split_size is set: without it the two about oversize stay 0 */
  bool has_pools;    /* private pools have statistics of their own, which only the dict has */
} vs_torch_stats;

/* Where they lie. `base` is the lock; `at` counts words of 8 bytes from there; VS_TORCH_NOWHERE: that one is
 * always 0. */
enum { VS_TORCH_NOWHERE = UINT16_MAX, VS_TORCH_MOST_WORDS = 256, VS_TORCH_MOST_GAPS = 32 };

typedef struct vs_torch_place {
  uint64_t base;
  uint32_t words;
  bool has_oversize;
  uint16_t at[VS_TORCH_STATS];
  /* What lies between two groups (the table of private pools), and was there when there was no such pool. */
  uint16_t gaps, gap_at[VS_TORCH_MOST_GAPS];
  uint64_t gap[VS_TORCH_MOST_GAPS];
} vs_torch_place;

/* Looks for the statistics of card `card`, which just now are `now`, without private pools. `allocator`: the
 * allocator's address. */
bool vs_torch_place_find(uint64_t allocator, uint32_t card, const vs_torch_stats *now, vs_torch_place *place);

/* Reads them. They are a state that was: two readings in a row were equal, and nobody had the lock. False:
 * they cannot be read, or not all of them (there are private pools now), or other threads change them without
 * end. */
bool vs_torch_place_read(const vs_torch_place *place, vs_torch_stats *stats);

/* The address of PyTorch's allocator, or 0: no PyTorch with CUDA in this process, or none that can be asked.
 * */
uint64_t vs_torch_allocator(void);

#endif
