/* What the events of a frame so far let one expect of the next. Writer and reader keep the same model, so an
 * event only says where it differs; a training loop differs little from one step to the next.
 *
 *   site      a stack in a context: the place in the program where something happens. Expected is the site
 *             that followed the last one the time before, and at first the one with the next number.
 *   sizes     a pair, requested and rounded bytes. Expected are those that the site had the time before.
 *   address   of an allocation: one of the last few that blocks of these sizes were freed at, or right
 *             behind the last allocation; else it is told as the distance from the address before.
 *   block     of a free: how many allocations ago it was allocated, or how far from the one freed before.
 *
 * Sites, sizes and contexts are numbered as the frame meets them; a number that is one too high introduces a
 * new one. So nothing of an event but its stack depends on another frame, and a frame that is lost takes no
 * other with it. */
#ifndef VS_TRACEFILE_MODEL_H
#define VS_TRACEFILE_MODEL_H

#include "base/vec.h"
#include "event/kinds.h"

/* ---- how events are written: the first byte (docs/formats/vram.md) */

enum {
  VS_EVENT_AS_IT_IS = 0x20,  /* + the kind: everything is told */
  VS_EVENT_COMPLETED = 0x30, /* the free before is completed, a little later */
  VS_EVENT_ALLOCATED = 0x40,
  VS_EVENT_FREED = 0x80,   /* requested and completed at once */
  VS_EVENT_FREEING = 0xc0, /* requested, not yet completed */
  VS_EVENT_FORM = 0xc0,    /* which of the last three */

  VS_ALLOC_TELLS_SITE = 0x20,
  VS_ALLOC_TELLS_SIZES = 0x10,
  VS_ALLOC_PLACE = 0x0c,
  VS_ALLOC_AT_DISTANCE = 0x00,  /* a distance follows */
  VS_ALLOC_AT_FREED = 0x04,     /* where a block of these sizes was freed last */
  VS_ALLOC_AT_FREED_ONE = 0x08, /* where one was freed, which follows: 1 the last but one ... */
  VS_ALLOC_BEHIND = 0x0c,       /* behind the last allocation */

  VS_FREE_SITE = 0x30,
  VS_FREE_AT_EXPECTED = 0x00,
  VS_FREE_TELLS_SITE = 0x10,
  VS_FREE_AT_ALLOCATION = 0x20, /* the site that allocated it */
  VS_FREE_COMPLETES = 0x30,     /* with VS_EVENT_FREED: a free that was requested is completed */
  VS_FREE_BLOCK = 0x0c,
  VS_FREE_TELLS_BLOCK = 0x00, /* sizes and distance of the address follow */
  VS_FREE_AGO = 0x04,         /* how many allocations ago follows */
  VS_FREE_NEAR = 0x08,        /* how far from the block freed before follows */
  VS_FREE_NEXT = 0x0c,        /* the block allocated next after the one freed before */

  VS_EVENT_LATER = 0x03, /* 0, 1, 2: microseconds since the event before; 3: they follow */
};

/* Where a free is completed: + the number of the site. */
enum { VS_COMPLETED_AT_FREE, VS_COMPLETED_AT_EXPECTED, VS_COMPLETED_AT_SITE };

enum { VS_AS_IT_IS_TIME = 1, VS_AS_IT_IS_ADDRESS = 2 }; /* what an event told as it is has */

enum { VS_AS_IT_IS_MOST = VS_AS_IT_IS_TIME | VS_AS_IT_IS_ADDRESS };

/* How the rounded bytes of a new pair are told. */
enum { VS_ROUNDED_UNKNOWN, VS_ROUNDED_TO_512, VS_ROUNDED_TOLD };

/* ---- the model */

#define VS_MODEL_NONE UINT32_MAX
enum { VS_MODEL_FREED = 8 };

typedef struct vs_model_site {
  uint32_t stack, context; /* the context's number in this frame */
  uint32_t next;           /* the site expected behind it; may be one that is not there yet */
  uint32_t sizes;          /* the last ones here, VS_MODEL_NONE before */
} vs_model_site;

typedef struct vs_model_sizes {
  uint64_t requested, rounded;
  uint64_t
      freed[VS_MODEL_FREED]; /* addresses that were freed and not taken again, the last one at count - 1 */
  uint32_t freed_count;
} vs_model_sizes;

typedef struct vs_model {
  VS_VEC(vs_model_site) sites;
  VS_VEC(vs_model_sizes) sizes;
  uint32_t contexts;  /* how many this frame has */
  uint32_t frame;     /* counts frames */
  uint32_t site;      /* of the last event, VS_MODEL_NONE before the first */
  uint32_t blocks;    /* allocations so far, numbered from 0 */
  uint32_t freed;     /* number of the one freed last, VS_MODEL_NONE before */
  uint32_t completed; /* likewise of the one that a record of its own completed */
  uint64_t address;   /* of the last event that had one */
  uint64_t end;       /* of the block allocated last */
  int64_t time_us;
} vs_model;

/* A frame begins. */
static inline void vs_model_begin(vs_model *model, uint64_t address, int64_t time_us) {
  model->sites.count = model->sizes.count = 0;
  model->contexts = model->blocks = 0;
  model->frame++;
  model->site = model->freed = model->completed = VS_MODEL_NONE;
  model->address = model->end = address;
  model->time_us = time_us;
}

/* Makes room for one more site and one more pair of sizes. */
VS_MUST_CHECK vs_status vs_model_reserve(const vs_host *host, vs_model *model);

static inline void vs_model_add_site(vs_model *model, uint32_t stack, uint32_t context) {
  const uint32_t next = (uint32_t)model->sites.count + 1;
  model->sites.data[model->sites.count++] =
      (vs_model_site){.stack = stack, .context = context, .next = next, .sizes = VS_MODEL_NONE};
}

static inline void vs_model_add_sizes(vs_model *model, uint64_t requested, uint64_t rounded) {
  model->sizes.data[model->sizes.count++] = (vs_model_sizes){.requested = requested, .rounded = rounded};
}

/* At most one beyond the sites that there are. */
static inline uint32_t vs_model_expected_site(const vs_model *model) {
  return model->site == VS_MODEL_NONE ? 0 : model->sites.data[model->site].next;
}

static inline void vs_model_take_site(vs_model *model, uint32_t site) {
  if (model->site != VS_MODEL_NONE) model->sites.data[model->site].next = site;
  model->site = site;
}

/* A size as the allocator rounds most of them. */
static inline uint64_t vs_model_round(uint64_t requested) { return (requested + 511) & ~UINT64_C(511); }

/* A block of these sizes was allocated at `address`, or freed there. */
void vs_model_allocated(vs_model *model, uint32_t sizes, uint64_t address);
void vs_model_freed(vs_model *model, uint32_t sizes, uint64_t address);

#endif
