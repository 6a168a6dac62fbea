/* What would have let a failed request pass. Each remedy is proven: a replay with it runs through the request and serves it. What
 * the program would have done after it is unknown.
 *
 *   kind          the replay
 *   SETTINGS      under a settings string of the search
 *   EMPTY_CACHE   the cache is emptied right before the request
 *   GROWTH        what a growing line allocated before the last step is freed right before the request
 *   OWNER         some blocks of one line, or all of two, are freed right before the request
 *   SHRINK        all that one line allocates is smaller, and the request, if that line makes it. Of the lines that hold most, and
 *                 not behind a backward pass: there the sizes of most lines follow from one another
 *   ACTIVATIONS   the activations (activations.h) and the request, if a line of theirs makes it, are smaller
 *   LIMIT         the process may reserve more of a GPU that has it
 *   CARD          a larger GPU: the allocator can reserve more
 *
 * What the process could reserve is the size at which a replay of the recorded settings fails at this request and not before:
 *   RECORDED      what was reserved after the cache was released, and what the driver reported as free
 *   LEAST         that does not reproduce the failure, or is unknown: the most bytes that it had reserved by then. A limit of the
 *                 process, or the driver, refused more; the true size may be a little larger, so fewer remedies may be found
 *   NONE          neither reproduces it: nothing is proven, and there are no remedies */
#ifndef VS_ANALYZE_REMEDIES_H
#define VS_ANALYZE_REMEDIES_H

#include "analyze/activations.h"
#include "analyze/growth.h"
#include "analyze/held.h"
#include "analyze/whatif.h"
#include "device/sim/own_memory.h"

typedef enum vs_remedy_kind {
#define VS_REMEDY(name, word) VS_REMEDY_##name,
#include "analyze/remedies.def"
} vs_remedy_kind;

enum {
  VS_REMEDY_KINDS = 0
#define VS_REMEDY(name, word) +1
#include "analyze/remedies.def"
};

const char *vs_remedy_word(vs_remedy_kind kind);

typedef enum vs_remedy_basis { VS_BASIS_NONE, VS_BASIS_RECORDED, VS_BASIS_LEAST } vs_remedy_basis;

/* Blocks of one line that are freed, or one line whose allocations are smaller. */
typedef struct vs_remedy_part {
  vs_group group; /* the line, with all that it holds at the request */
  uint32_t first,
      count; /* the blocks that the replay freed: rows[first, first + count); SHRINK, ACTIVATIONS: none */
  uint64_t bytes; /* of these, requested */
} vs_remedy_part;

typedef struct vs_remedy {
  vs_remedy_kind kind;
  uint32_t first_part, part_count;
  const char *settings;       /* SETTINGS: the string; else NULL */
  const vs_sim_profile *card; /* CARD: the smallest one that has room for that much; NULL: none */
  uint64_t room;              /* of `card`: vs_sim_room_bytes */
  uint64_t capacity;          /* that the replay could reserve */
  uint64_t bytes;             /* freed or saved at the request; 0 where that is not the point */
  uint32_t percent;           /* ACTIVATIONS: by which they are smaller */
  uint32_t before_event;      /* GROWTH: freed are the blocks that were allocated before it */
  bool is_any;                /* OWNER: each block of the line was tried alone, and each of them is enough */
  uint32_t alone;             /* OWNER: blocks of the line that are enough alone, if all were tried; else 0 */
  uint64_t reserved_peak, device_allocs, retries; /* of the run up to the request */
} vs_remedy;

/* Invariant: remedies are in the order of their kinds; of one kind those that change less come first. */
typedef struct vs_remedies {
  vs_remedy_basis basis;
  vs_capacity recorded; /* what was reserved and free at the request */
  uint64_t capacity;    /* that the replays can reserve; meaningful unless NONE */
  vs_replay
      baseline; /* of the recorded settings: up to the request; it serves the request where basis is NONE, or fails before */
  uint64_t held; /* bytes of the blocks that the program holds, each rounded up to 512 */
  bool is_full;  /* these and the request are more than `capacity`: no settings and no order of frees help */
  uint32_t settings_tried, settings_passing;
  bool is_cut;       /* not all that was to be freed could be tried: the search is bounded */
  bool has_backward; /* see vs_activations */
  VS_VEC(vs_remedy) list;
  VS_VEC(vs_remedy_part) parts;
  VS_VEC(uint32_t) rows; /* of lifetimes */
} vs_remedies;

/* Replays from the moment of the request; fewer where each copies much. */
enum { VS_REMEDY_MOST_TRIES = 4096 };

/* What they are searched in. */
typedef struct vs_remedy_case {
  const vs_replay_plan *plan;
  const vs_replay_options *recorded;  /* the settings of the recording, by the rules that reproduce it best */
  const vs_alloc_rules *rules_of_age; /* see vs_whatif_search_settings */
  const vs_spans *spans;              /* of all lifetimes */
  const vs_growths *growths;
  const vs_steps *steps;
  vs_frames *frames;
  uint32_t event;      /* the failed request */
  bool is_limited;     /* the GPU had enough free memory for it: a limit refused it */
  uint32_t most_tries; /* 0: VS_REMEDY_MOST_TRIES */
} vs_remedy_case;

/* Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_remedies_find(const vs_host *host, const vs_remedy_case *of, vs_remedies *out);
void vs_remedies_deinit(const vs_host *host, vs_remedies *remedies);

#endif
