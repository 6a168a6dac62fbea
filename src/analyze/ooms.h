/* Requests that failed, what the memory looked like then, and why it was not enough. Only facts; advice is a face's business.
 *
 * A request is served from a free block of its own place, or by new memory of the driver:
 *   its place     segments of its stream, its pool, and the kind (small, large) that its size belongs to. Free blocks that
 *                 max_split_size keeps from it are not of its place
 *   new memory    a segment of at least 2 MiB or, above 1 MiB, of large_segment_size; with expandable segments whole pages
 *                 behind the free block at the end of its segment
 * Before it fails, PyTorch gives the driver back what it can: what is cached then shares segments with live blocks.
 *
 * Requested and reserved are exact (curves). What is allocated and cached is estimated before the end of the trace, since
 * rounded sizes are not in it (state.h): a block takes its request rounded up to 512 and, outside of expandable segments,
 * what is left of a free block if that is at most 1 MiB, since PyTorch does not split that off.
 *
 * The full look at the address space is taken for VS_OOM_LOOKS of them at most: the first, and the last ones. */
#ifndef VS_ANALYZE_OOMS_H
#define VS_ANALYZE_OOMS_H

#include "analyze/curve.h"
#include "analyze/groups.h"
#include "analyze/state.h"

/* The first of these that holds, from the bottom up: limit, fragmented, elsewhere, full. */
typedef enum vs_oom_verdict {
  VS_OOM_UNKNOWN, /* not looked at; or free bytes are not recorded and decide; or a free block was large enough */
  VS_OOM_FULL,       /* none of the others: neither new memory nor what was cached was enough */
  VS_OOM_ELSEWHERE,  /* all free blocks together were enough, those of its place were not */
  VS_OOM_FRAGMENTED, /* those of its place were enough (with expandable segments together with free memory) */
  VS_OOM_LIMIT,      /* the driver had enough free: a limit of the process, or the driver's own reasons */
} vs_oom_verdict;
enum { VS_OOM_VERDICTS = VS_OOM_LIMIT + 1, VS_OOM_LOOKS = 4 };
const char *
vs_oom_verdict_name(vs_oom_verdict verdict); /* "unknown", "full", "elsewhere", "fragmented", "limit" */

typedef struct vs_oom {
  uint32_t event;
  uint32_t stream; /* index into streams */
  uint32_t stack;
  int64_t time_us;
  uint64_t size; /* bytes of the request, rounded */
  bool is_free_known;
  uint64_t device_free;              /* as the driver said; meaningful where known */
  int64_t requested, held, reserved; /* curves after the event */
  /* From here on where is_looked_at: */
  bool is_looked_at;
  bool is_exact;      /* the sizes of blocks are those of the file, not estimated */
  bool is_expandable; /* new memory comes in pages of expandable segments */
  bool
      is_short_known; /* `short_by` is meaningful: free bytes are known, and less than the request was there */
  uint64_t active;    /* bytes of live blocks, rounded */
  uint64_t cached;    /* reserved bytes in no live block */
  uint64_t cached_usable;     /* of these in free blocks of its place */
  uint64_t short_by;          /* size - the larger of the largest free block of its place and of new memory */
  uint64_t largest_hole;      /* anywhere */
  uint64_t largest_hole_kind; /* in segments of the kind (small, large) that the request needs */
  uint64_t largest_hole_area; /* of its place */
  vs_group top;               /* the stack that held most; count 0 if nothing was alive */
  vs_owners owners;           /* of all that was alive */
  vs_oom_verdict verdict;
} vs_oom;

typedef struct vs_ooms {
  VS_VEC(vs_oom) list; /* in order of the trace */
} vs_ooms;

/* What the driver reported as free when the request of `event` failed; false: the file does not say. */
bool vs_oom_device_free(const vs_slice *slice, uint32_t event, uint64_t *bytes);
/* What the process could reserve when the request of `event` failed: what it had reserved then, after the allocator had released
 * its cache, and what the driver reported as free; false: the file does not say. */
bool vs_oom_capacity(const vs_slice *slice, uint32_t event, uint64_t reserved, uint64_t *bytes);

VS_MUST_CHECK vs_status vs_ooms_build(const vs_host *host, const vs_moment_index *moments,
                                      const vs_curves *curves, vs_frames *frames, vs_ooms *out);
/* The full look at one that was not looked at. */
VS_MUST_CHECK vs_status vs_oom_look(const vs_host *host, const vs_moment_index *moments, vs_frames *frames,
                                    vs_oom *oom);
void vs_ooms_deinit(const vs_host *host, vs_ooms *ooms);

#endif
