/* The statistics of PyTorch's allocator as numbers, and where they lie in memory.
 *
 * torch._C._cuda_memoryStats takes about 11 us, because it makes a dict of dicts of 130 numbers. A cheaper scope
 * reads the same numbers where the allocator keeps them. PyTorch exports no function for that, only the pointer to
 * its allocator (c10::cuda::CUDACachingAllocator::allocator), and the layout behind it differs between versions. So
 * no layout is assumed: the numbers of the dict are searched for in memory. A place is used only after it has agreed
 * with the dict twice, in different states, and is compared again now and then (torch_statistics.c).
 *
 * PyTorch makes the dict under the card's lock. Reading without the lock could see half of an update by another
 * thread. So a place is accepted only if the lock, a std::recursive_mutex, is before the statistics, and a reading is
 * valid only if the lock was free.
 *
 * Memory is only read, and only by process_vm_readv, which returns an error for an invalid address. */
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
  int64_t retries, ooms; /* num_alloc_retries, num_ooms: since the last reset of sums */
  bool has_oversize;     /* max_split_size is set; without it the two oversize statistics stay 0 */
  bool has_pools;        /* private pools have statistics of their own, which only the dict has */
} vs_torch_stats;

/* Where the statistics are. `base` is the address of the lock; `at` counts words of 8 bytes from there;
 * VS_TORCH_NOWHERE: that statistic is always 0. */
enum { VS_TORCH_NOWHERE = UINT16_MAX, VS_TORCH_MOST_WORDS = 256, VS_TORCH_MOST_GAPS = 32 };

typedef struct vs_torch_place {
  uint64_t base;
  uint32_t words;
  bool has_oversize;
  uint16_t at[VS_TORCH_STATS];
  uint16_t counts_at; /* of the two scalars, retries and ooms, which follow the groups */
  /* The words between two groups (the table of private pools), as they are without a private pool. */
  uint16_t gaps, gap_at[VS_TORCH_MOST_GAPS];
  uint64_t gap[VS_TORCH_MOST_GAPS];
} vs_torch_place;

/* Looks for the statistics of card `card`, which just now are `now`, without private pools. `allocator`: the
 * allocator's address. */
bool vs_torch_place_find(uint64_t allocator, uint32_t card, const vs_torch_stats *now, vs_torch_place *place);

/* Reads them. The result is a consistent state: two readings in a row were equal, and no thread had the lock. Returns false
 * if the memory cannot be read, if there are private pools now, or if other threads changed the statistics each time. */
bool vs_torch_place_read(const vs_torch_place *place, vs_torch_stats *stats);

/* The address of PyTorch's allocator; 0 if this process has no PyTorch with CUDA, or one without that symbol. */
uint64_t vs_torch_allocator(void);

#endif
