/* What an allocator counts: every figure of torch.cuda.memory_stats(), and a few more.
 *
 * A statistic has four metrics. Three are kept, as `freed` follows from them:
 *
 *   freed = allocated - (current - base)        base: what was current when the totals were reset
 *
 * Active = allocated + pending (freed, but still used by other streams). So the figures of ACTIVE and ACTIVE_BYTES are not
 * kept at every event: vs_alloc_active_count writes them from those of ALLOCATION and ALLOCATED_BYTES when they are read, and,
 * for their peaks, at every allocation while a block is pending. While none is, both peaks rise together.
 *
 * Each of the nine groups (groups.def) is kept for all memory, the small pools and the large pools. For all memory only
 * current and peak are kept, because the others are sums of the two pools. */
#ifndef VS_ALLOC_STATISTICS_H
#define VS_ALLOC_STATISTICS_H

#include "base/text.h"
#include "event/event.h"

typedef enum vs_alloc_group {
#define VS_ALLOC_GROUP(name, text, is_bytes, words) VS_ALLOC_##name,
#include "alloc/groups.def"
#undef VS_ALLOC_GROUP
  VS_ALLOC_GROUPS
} vs_alloc_group;

typedef enum vs_alloc_part { VS_ALLOC_ALL, VS_ALLOC_SMALL, VS_ALLOC_LARGE, VS_ALLOC_PARTS } vs_alloc_part;

typedef struct vs_alloc_figures {
  int64_t current[VS_ALLOC_GROUPS];
  int64_t peak[VS_ALLOC_GROUPS];
  int64_t allocated[VS_ALLOC_GROUPS]; /* of the part VS_ALLOC_ALL: not kept, see vs_alloc_statistics_at */
  int64_t base[VS_ALLOC_GROUPS];      /* likewise */
} vs_alloc_figures;

/* A statistic without groups, in its four metrics. */
typedef struct vs_alloc_stat {
  int64_t current, peak, allocated, freed;
} vs_alloc_stat;

/* The fallback that served an allocation. */
typedef enum vs_alloc_step {
#define VS_ALLOC_STEP(name, key, words) VS_ALLOC_##name,
#include "alloc/steps.def"
#undef VS_ALLOC_STEP
  VS_ALLOC_STEPS
} vs_alloc_step;

enum { VS_ALLOC_CLASSES = 64 };

typedef struct vs_alloc_statistics {
  vs_alloc_figures part[VS_ALLOC_PARTS];
  vs_alloc_stat oversize_allocations, oversize_segments;
  int64_t num_alloc_retries, num_ooms, num_oom_rejections;
  int64_t num_sync_all_streams, num_device_alloc, num_device_free;
  int64_t max_split_size; /* when the allocator was created; -1: unlimited */
  /* Beyond PyTorch; reset with the totals. */
  uint64_t steps[VS_ALLOC_STEPS];
  uint64_t sizes[VS_ALLOC_CLASSES]; /* requests by floor(log2(bytes)) */
  /* Frees by floor(log2(allocations made since the block's own, that one included)). */
  uint64_t lifetimes[VS_ALLOC_CLASSES];
} vs_alloc_statistics;

/* The four metrics of one group. */
static inline vs_alloc_stat vs_alloc_statistics_at(const vs_alloc_statistics *statistics,
                                                   vs_alloc_group group, vs_alloc_part part) {
  VS_ASSERT(group < VS_ALLOC_GROUPS && part < VS_ALLOC_PARTS);
  const vs_alloc_figures *figures = &statistics->part[part];
  const vs_alloc_figures *small = &statistics->part[VS_ALLOC_SMALL],
                         *large = &statistics->part[VS_ALLOC_LARGE];
  const bool is_sum = part == VS_ALLOC_ALL;
  const int64_t allocated =
      is_sum ? small->allocated[group] + large->allocated[group] : figures->allocated[group];
  const int64_t base = is_sum ? small->base[group] + large->base[group] : figures->base[group];
  return (vs_alloc_stat){.current = figures->current[group],
                         .peak = figures->peak[group],
                         .allocated = allocated,
                         .freed = allocated - figures->current[group] + base};
}

static inline void vs_alloc_stat_increase(vs_alloc_stat *stat, int64_t amount) {
  stat->current += amount;
  stat->allocated += amount;
  if (stat->current > stat->peak) stat->peak = stat->current;
}
static inline void vs_alloc_stat_decrease(vs_alloc_stat *stat, int64_t amount) {
  stat->current -= amount;
  stat->freed += amount;
}

/* peak := current everywhere; and allocated := freed := 0 with all counters, as PyTorch's two resets do. */
void vs_alloc_statistics_reset_peak(vs_alloc_statistics *statistics);
void vs_alloc_statistics_reset_totals(vs_alloc_statistics *statistics);

/* Reserved bytes of one private pool, in PyTorch's three parts. */
typedef struct vs_alloc_private {
  vs_pool_id id;
  vs_alloc_stat reserved[VS_ALLOC_PARTS];
} vs_alloc_private;

/* Calls `visit` with every key of torch.cuda.memory_stats() in its sorted order, flat ("allocation.all.current"); keys
 * that the rules of `settings` do not know are left out. The key is borrowed for the call. */
struct vs_alloc_settings;
VS_MUST_CHECK vs_status vs_alloc_statistics_visit(const vs_alloc_statistics *statistics,
                                                  const vs_alloc_private *pools, uint64_t pool_count,
                                                  const struct vs_alloc_settings *settings,
                                                  vs_status (*visit)(void *ctx, vs_str key, int64_t value),
                                                  void *ctx);

/* Calls `visit` with what PyTorch does not count: every step ("requests.cache", ...), and the classes of sizes and
 * lifetimes that are not empty, by their lower bound ("sizes.4096": requests of 4096 to 8191 bytes; "lifetimes.8": frees
 * of blocks since whose allocation 8 to 15 allocations were made, that one included). Returns a failure of `visit`. */
VS_MUST_CHECK vs_status vs_alloc_extras_visit(const vs_alloc_statistics *statistics,
                                              vs_status (*visit)(void *ctx, vs_str key, int64_t value),
                                              void *ctx);

/* Appends torch.cuda.memory_summary(device, abbreviated), byte for byte. */
VS_MUST_CHECK vs_status vs_alloc_summary_write(const vs_alloc_statistics *statistics, uint32_t device,
                                               bool abbreviated, vs_text *out);

#endif
