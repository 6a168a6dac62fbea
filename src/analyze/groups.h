/* A set of allocations summed up by a property. The largest group is first; groups of equal bytes are ordered by count,
 * then by first appearance, so that files with the same content give the same order.
 *
 *   by           key                                              none
 *   STACK        VS_OWNER_frame + stack id                        a vs_owner_kind: there is no stack, or an empty one
 *   LINE         VS_OWNER_frame + id of a frame with that file    a vs_owner_kind: no frame can be shown
 *                and line; frames without a line are grouped by
 *                function, those of the backward pass by node. A
 *                line of the forward pass whose backward pass
 *                allocates is a group apart from the line itself
 *   INNERMOST    the same for the innermost frame, also of a       likewise
 *                package (vs_frames_innermost)
 *   STREAM       index into streams                               -
 *   POOL         1 + index into pools                             0: unknown
 *   SIZE         exponent: sizes in [2^key, 2^(key+1))            0 is also size 0
 *   CATEGORY     string id                                        VS_STRING_NONE: no category recorded
 *   METADATA     string id                                        VS_STRING_NONE: the program had set none
 *   ANNOTATION   string id of the innermost range at its alloc    VS_STRING_NONE: outside of every range, or unknown
 *   LIFETIME     VS_LIVES_US + n: ended 10^n us up to 10^(n+1)    VS_LIVES_ON: it does not end in the trace
 *                after it began; where there are no times         VS_LIVES_SINCE_BEFORE: it ends, but began before
 *                VS_LIVES_EVENTS + n, likewise; n = 0 is also 0 */
#ifndef VS_ANALYZE_GROUPS_H
#define VS_ANALYZE_GROUPS_H

#include "analyze/annotations.h"
#include "analyze/frames.h"
#include "analyze/liveset.h"

typedef enum vs_group_by {
  VS_BY_STACK,
  VS_BY_LINE,
  VS_BY_INNERMOST,
  VS_BY_STREAM,
  VS_BY_POOL,
  VS_BY_SIZE,
  VS_BY_CATEGORY,
  VS_BY_METADATA,
  VS_BY_ANNOTATION,
  VS_BY_LIFETIME,
} vs_group_by;
enum { VS_GROUP_BYS = VS_BY_LIFETIME + 1 };
enum {
  VS_LIVES_ON,
  VS_LIVES_SINCE_BEFORE,
  VS_LIVES_US,
  VS_LIVES_EVENTS = VS_LIVES_US + 20,
  VS_LIVES_KINDS = 42
};

/* "stack", "line", "innermost", "stream", "pool", "size", "category", "metadata", "annotation", "lifetime"; false if `name` is none of them. */
const char *vs_group_by_name(vs_group_by by);
bool vs_group_by_find(vs_str name, vs_group_by *by);

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* The properties of an allocation or a mapping that decide its group. */
typedef struct vs_keyed {
  uint64_t size;
  uint32_t start, end; /* events, VS_NO_EVENT */
  uint32_t stack, stream, pool;
} vs_keyed;

/* Computes keys, all below `bound`. */
typedef struct vs_keys {
  const vs_host *host;
  const vs_slice *slice;
  vs_group_by by;
  vs_frames *frames; /* for VS_BY_STACK, VS_BY_LINE and VS_BY_INNERMOST */
  uint32_t bound;
  VS_VEC(uint32_t) line_of_stack; /* 0: not determined yet, else 1 + key */
  vs_map lines;                   /* hash of a frame's place -> frame, the first one met there */
  vs_named_ranges ranges;
} vs_keys;

/* `frames` is used for VS_BY_STACK, VS_BY_LINE and VS_BY_INNERMOST only, and may be NULL otherwise. */
VS_MUST_CHECK vs_status vs_keys_init(vs_keys *keys, const vs_host *host, const vs_slice *slice,
                                     vs_group_by by, vs_frames *frames);
void vs_keys_deinit(vs_keys *keys);
VS_MUST_CHECK vs_status vs_key_of(vs_keys *keys, const vs_keyed *what, uint32_t *key);

/* The properties of an allocation. Its pool is looked up in `segments`; with NULL it is 0. */
vs_keyed vs_keyed_lifetime(const vs_lifetimes *lifetimes, const vs_segment_index *segments, uint32_t row);

/* ---- groups -------------------------------------------------------------------------------------------- */

typedef struct vs_group {
  uint64_t bytes; /* requested; saturates */
  uint64_t count; /* allocations */
  uint64_t each;  /* bytes of each of them, where all are equal; else 0 */
  uint32_t key;
  uint32_t stack; /* the stack of its largest allocation (the first of equals), as an example */
} vs_group;

typedef struct vs_groups {
  vs_group_by by;
  VS_VEC(vs_group) list;
  uint64_t bytes, count; /* of all groups */
} vs_groups;

/* `rows` are rows of `lifetimes`, each counted once: those of a vs_liveset, or any others. */
VS_MUST_CHECK vs_status vs_groups_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                        const uint32_t *rows, size_t count, vs_group_by by, vs_frames *frames,
                                        vs_groups *out);
/* The same, with bytes[i] instead of the size of rows[i]. */
VS_MUST_CHECK vs_status vs_groups_build_weighed(const vs_host *host, const vs_lifetimes *lifetimes,
                                                const uint32_t *rows, const uint64_t *bytes, size_t count,
                                                vs_group_by by, vs_frames *frames, vs_groups *out);
/* Sorts groups into the order above, after their bytes were changed. */
VS_MUST_CHECK vs_status vs_groups_arrange(const vs_host *host, vs_groups *groups);
void vs_groups_deinit(const vs_host *host, vs_groups *groups);

/* ---- owners: groups by line, and what the largest consists of where it says little
 *
 * A program that leaves its work to a package, as to a trainer, has one line for nearly all of its memory. */

/* `parts` are of the first of `lines`, where it has more than half of their bytes: by innermost line. There are no groups where it
 * has less, or has one such line only. */
typedef struct vs_owners {
  vs_groups lines, parts;
} vs_owners;

/* `rows` as for vs_groups_build. */
VS_MUST_CHECK vs_status vs_owners_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                        const uint32_t *rows, size_t count, vs_frames *frames,
                                        vs_owners *out);
void vs_owners_deinit(const vs_host *host, vs_owners *owners);

/* The parts of a group's name, which a face composes; borrowed from the snapshot. */
typedef struct vs_group_name {
  bool known;  /* false: `text` says why there is none ("recorded without stacks") */
  vs_str text; /* function, category, range, or a sentence; empty for numbers */
  vs_str file; /* STACK and LINE: of the user's frame */
  bool has_line;
  bool is_forward;     /* LINE, STACK: of the forward pass, for what the backward pass allocates */
  int64_t line;        /* meaningful where has_line */
  uint32_t frame;      /* STACK and LINE: the frame shown, or VS_NO_FRAME */
  uint64_t numbers[2]; /* STREAM: handle; POOL: the pair; SIZE: smallest, largest; LIFETIME: from, below */
  bool is_in_events;   /* LIFETIME: the numbers are events, not microseconds */
} vs_group_name;

void vs_group_name_get(const vs_snapshot *snapshot, vs_frames *frames, vs_group_by by, const vs_group *group,
                       vs_group_name *out);

#endif
