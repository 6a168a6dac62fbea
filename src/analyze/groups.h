/* A set of allocations summed up by a property: who holds how much. Biggest first; equal bytes by count, then in order
 * of first appearance, so that files that say the same give the same order.
 *
 *   by           key                                              none
 *   STACK        stack id                                         VS_LIST_NONE or VS_LIST_EMPTY, told apart by nobody:
 *                                                                 one group "no stack recorded", key VS_LIST_NONE
 *   LINE         1 + id of a frame with that file and line        0: no stack recorded
 *                (with that file and function where it has no line)
 *   STREAM       index into streams                               -
 *   POOL         1 + index into pools                             0: not known
 *   SIZE         exponent: sizes in [2^key, 2^(key+1))            0 is also size 0
 *   CATEGORY     string id                                        VS_STRING_NONE: no category recorded
 *   ANNOTATION   string id of the innermost range at its alloc    VS_STRING_NONE: outside of every range, or not known */
#ifndef VS_ANALYZE_GROUPS_H
#define VS_ANALYZE_GROUPS_H

#include "analyze/annotations.h"
#include "analyze/frames.h"
#include "analyze/liveset.h"

typedef enum vs_group_by {
  VS_BY_STACK,
  VS_BY_LINE,
  VS_BY_STREAM,
  VS_BY_POOL,
  VS_BY_SIZE,
  VS_BY_CATEGORY,
  VS_BY_ANNOTATION,
} vs_group_by;
enum { VS_GROUP_BYS = VS_BY_ANNOTATION + 1 };

/* "stack", "line", "stream", "pool", "size", "category", "annotation"; false if `name` is none of them. */
const char *vs_group_by_name(vs_group_by by);
bool vs_group_by_find(vs_str name, vs_group_by *by);

typedef struct vs_group {
  uint64_t bytes; /* requested; saturates */
  uint64_t count; /* allocations */
  uint32_t key;
  uint32_t stack; /* the stack of its largest allocation (the first of equals): an example of who asked */
} vs_group;

typedef struct vs_groups {
  vs_group_by by;
  VS_VEC(vs_group) list;
  uint64_t bytes, count; /* of all groups */
} vs_groups;

/* `rows` are rows of `lifetimes`, each counted once (a vs_liveset's, or any other choice). `frames` is asked for
 * VS_BY_LINE only and may be NULL otherwise. */
VS_MUST_CHECK vs_status vs_groups_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                        const uint32_t *rows, size_t count, vs_group_by by, vs_frames *frames,
                                        vs_groups *out);
void vs_groups_deinit(const vs_host *host, vs_groups *groups);

/* The pieces of a group's name, for a face to put together; borrowed from the snapshot. */
typedef struct vs_group_name {
  bool known;  /* false: `text` says why there is none ("no stack recorded") */
  vs_str text; /* function, category, range, or a sentence; empty for numbers */
  vs_str file; /* STACK and LINE: of the user's frame */
  bool has_line;
  int64_t line;        /* meaningful where has_line */
  uint32_t frame;      /* STACK and LINE: the frame shown, or VS_NO_FRAME */
  uint64_t numbers[2]; /* STREAM: handle; POOL: the pair; SIZE: smallest and largest size */
} vs_group_name;

void vs_group_name_get(const vs_snapshot *snapshot, vs_frames *frames, vs_group_by by, const vs_group *group,
                       vs_group_name *out);

#endif
