/* The prediction of the next event of a frame from those before it. Writer and reader keep the same model, so a
 * record contains only what differs from the prediction; the steps of a training loop differ little.
 *
 *   site      a stack in a context: the place in the program that makes the event. Predicted is the site that followed the
 *             last one the time before; the first time, the site with the next number.
 *   sizes     a pair, requested and rounded bytes. Predicted is the last pair of the site.
 *   address   of an allocation: one of the last few at which blocks of these sizes were freed, or the end of the last
 *             allocation; else the record has its distance from the address before.
 *   block     of a free: how many allocations ago it was allocated, or its distance from the block freed before.
 *
 * Sites, sizes and contexts are numbered in each frame, in the order of their first use; the next unused number
 * defines a new one. So of an event only the stack depends on another frame, and a lost frame makes no other one
 * unreadable. */
#ifndef VS_TRACEFILE_MODEL_H
#define VS_TRACEFILE_MODEL_H

#include "base/vec.h"
#include "event/kinds.h"

/* ---- how events are written: the first byte (docs/formats/vram.md) */

enum {
  VS_EVENT_AS_IT_IS = 0x20,  /* + the kind: all fields follow */
  VS_EVENT_COMPLETED = 0x30, /* the free directly before is completed, at a later time */
  VS_EVENT_ALLOCATED = 0x40,
  VS_EVENT_FREED = 0x80,   /* requested and completed at once */
  VS_EVENT_FREEING = 0xc0, /* requested, not yet completed */
  VS_EVENT_FORM = 0xc0,    /* which of the last three */

  VS_ALLOC_TELLS_SITE = 0x20,
  VS_ALLOC_TELLS_SIZES = 0x10,
  VS_ALLOC_PLACE = 0x0c,
  VS_ALLOC_AT_DISTANCE = 0x00, /* a distance follows */
  VS_ALLOC_AT_FREED = 0x04,    /* where a block of these sizes was freed last */
  VS_ALLOC_AT_FREED_ONE =
      0x08,               /* where an earlier one was freed; which one follows: 1 is the last but one ... */
  VS_ALLOC_BEHIND = 0x0c, /* at the end of the last allocation */

  VS_FREE_SITE = 0x30,
  VS_FREE_AT_EXPECTED = 0x00,
  VS_FREE_TELLS_SITE = 0x10,
  VS_FREE_AT_ALLOCATION = 0x20, /* the site that allocated it */
  VS_FREE_COMPLETES = 0x30,     /* with VS_EVENT_FREED: completes an earlier free */
  VS_FREE_BLOCK = 0x0c,
  VS_FREE_TELLS_BLOCK = 0x00, /* sizes and distance of the address follow */
  VS_FREE_AGO = 0x04,         /* how many allocations ago follows */
  VS_FREE_NEAR = 0x08,        /* how far from the block freed before follows */
  VS_FREE_NEXT = 0x0c,        /* the block allocated next after the one freed before */

  VS_EVENT_LATER = 0x03, /* 0, 1, 2: microseconds since the event before; 3: they follow */
};

/* Where a free is completed: + the number of the site. */
enum { VS_COMPLETED_AT_FREE, VS_COMPLETED_AT_EXPECTED, VS_COMPLETED_AT_SITE };

enum { VS_AS_IT_IS_TIME = 1, VS_AS_IT_IS_ADDRESS = 2 }; /* optional fields of VS_EVENT_AS_IT_IS */

enum { VS_AS_IT_IS_MOST = VS_AS_IT_IS_TIME | VS_AS_IT_IS_ADDRESS };

/* The forms of the rounded bytes of a new pair. */
enum { VS_ROUNDED_UNKNOWN, VS_ROUNDED_TO_512, VS_ROUNDED_TOLD };

/* ---- the model */

#define VS_MODEL_NONE UINT32_MAX
enum { VS_MODEL_FREED = 8 };

typedef struct vs_model_site {
  uint32_t stack, context; /* the context's number in this frame */
  uint32_t next;           /* the site predicted after it; may be the next unused number */
  uint32_t sizes;          /* the last pair of this site; VS_MODEL_NONE: none yet */
} vs_model_site;

typedef struct vs_model_sizes {
  uint64_t requested, rounded;
  uint64_t freed[VS_MODEL_FREED]; /* addresses that were freed and not allocated again, the newest last */
  uint32_t freed_count;
} vs_model_sizes;

typedef struct vs_model {
  VS_VEC(vs_model_site) sites;
  VS_VEC(vs_model_sizes) sizes;
  uint32_t contexts;  /* number of contexts of this frame */
  uint32_t frame;     /* counts frames */
  uint32_t site;      /* of the last event, VS_MODEL_NONE before the first */
  uint32_t blocks;    /* allocations so far, numbered from 0 */
  uint32_t freed;     /* number of the block freed last, VS_MODEL_NONE before the first */
  uint32_t completed; /* likewise of the block whose completion was a record of its own */
  uint64_t address;   /* of the last event that had one */
  uint64_t end;       /* of the block allocated last */
  int64_t time_us;
} vs_model;

/* Begins a new frame. */
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
  VS_ASSERT(model->sites.count < model->sites.capacity);
  model->sites.data[model->sites.count++] =
      (vs_model_site){.stack = stack, .context = context, .next = next, .sizes = VS_MODEL_NONE};
}

static inline void vs_model_add_sizes(vs_model *model, uint64_t requested, uint64_t rounded) {
  VS_ASSERT(model->sizes.count < model->sizes.capacity);
  model->sizes.data[model->sizes.count++] = (vs_model_sizes){.requested = requested, .rounded = rounded};
}

/* At most the number of sites, which is the next unused one. */
static inline uint32_t vs_model_expected_site(const vs_model *model) {
  VS_ASSERT(model->site == VS_MODEL_NONE || model->site < model->sites.count);
  return model->site == VS_MODEL_NONE ? 0 : model->sites.data[model->site].next;
}

static inline void vs_model_take_site(vs_model *model, uint32_t site) {
  VS_ASSERT(site < model->sites.count);
  if (model->site != VS_MODEL_NONE) model->sites.data[model->site].next = site;
  model->site = site;
}

/* The allocator's usual rounding. */
static inline uint64_t vs_model_round(uint64_t requested) { return (requested + 511) & ~UINT64_C(511); }

/* A block of these sizes was allocated at `address`, or freed there. */
void vs_model_allocated(vs_model *model, uint32_t sizes, uint64_t address);
void vs_model_freed(vs_model *model, uint32_t sizes, uint64_t address);

/* Executes the invariants; NULL if they hold, else what does not, in words. */
const char *vs_model_check(const vs_model *model);

#endif
