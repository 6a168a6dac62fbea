/* Requests that failed, and what the memory looked like then. Only facts; advice is a face's business.
 *
 * At that moment: requested and reserved are exact (curves); cached = reserved - live blocks is estimated, since rounded
 * sizes are not in the trace (state.h). The full look at the address space is taken for VS_OOM_LOOKS of them at most:
 * the first, and the last ones. */
#ifndef VS_ANALYZE_OOMS_H
#define VS_ANALYZE_OOMS_H

#include "analyze/curve.h"
#include "analyze/groups.h"
#include "analyze/state.h"

typedef enum vs_oom_verdict {
  VS_OOM_UNKNOWN,    /* not looked at, or the free bytes of the device are not recorded and decide it */
  VS_OOM_FULL,       /* cached and free bytes together were not enough */
  VS_OOM_FRAGMENTED, /* they were enough, but in pieces */
  VS_OOM_ELSEWHERE,  /* a hole was large enough, but of another stream, pool or kind */
  VS_OOM_REFUSED, /* the device itself had enough free: a limit of the process, or the driver's own reasons */
} vs_oom_verdict;
enum { VS_OOM_VERDICTS = VS_OOM_REFUSED + 1, VS_OOM_LOOKS = 4 };
const char *
vs_oom_verdict_name(vs_oom_verdict verdict); /* "unknown", "full", "fragmented", "elsewhere", "refused" */

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
  uint64_t active;            /* estimated: bytes of live blocks, rounded */
  uint64_t cached;            /* estimated: reserved bytes in no live block */
  uint64_t largest_hole;      /* anywhere */
  uint64_t largest_hole_kind; /* in segments of the kind (small, large) that the request needs */
  uint64_t largest_hole_area; /* and of its stream and (where recorded) pool */
  vs_group top;               /* the stack that held most; count 0 if nothing was alive */
  vs_oom_verdict verdict;
} vs_oom;

typedef struct vs_ooms {
  VS_VEC(vs_oom) list; /* in order of the trace */
} vs_ooms;

/* What the driver reported as free when the request of `event` failed; false: the file does not say. */
bool vs_oom_device_free(const vs_slice *slice, uint32_t event, uint64_t *bytes);

VS_MUST_CHECK vs_status vs_ooms_build(const vs_host *host, const vs_moment_index *moments,
                                      const vs_curves *curves, vs_frames *frames, vs_ooms *out);
/* The full look at one that was not looked at. */
VS_MUST_CHECK vs_status vs_oom_look(const vs_host *host, const vs_moment_index *moments, vs_frames *frames,
                                    vs_oom *oom);
void vs_ooms_deinit(const vs_host *host, vs_ooms *ooms);

#endif
