/* Handles and descriptors of the mathematics libraries, and what their calls have in common.
 *
 * A program holds pointers to objects that it must not look into. Here an object begins with a tag that says
 * what it is; a call whose tag is not the expected one gets the library's error and not somebody else's
 * memory. Objects that are destroyed go back to a shelf and are never freed: a stale handle then meets no
 * tag, or a new object of the same kind, and never memory of another owner. */
#ifndef VS_SIMCUDA_OBJECTS_H
#define VS_SIMCUDA_OBJECTS_H

#include <pthread.h>
#include <stdlib.h>

#include "base/check.h"
#include "faces/simcuda/core/process.h"

/* The major version of the toolkit whose library a face stands for; the build says so where there are two. */
#ifndef VS_TOOLKIT
#define VS_TOOLKIT 13
#endif

typedef struct vs_object {
  uint64_t tag; /* 0: on the shelf */
  struct vs_object *next;
} vs_object;

/* What stands before each object: the one that was made before it, so that none is ever lost sight of. */
typedef struct vs_made {
  _Alignas(16) struct vs_made *before;
} vs_made;

/* All objects of one kind. A library defines one for each: {tag, size of the struct that begins with a
 * vs_object}. */
typedef struct vs_shelf {
  uint64_t tag;
  size_t size;
  vs_object *free;
  vs_made *made;
  pthread_mutex_t lock;
} vs_shelf;

#define VS_SHELF(tag_, type) \
  { .tag = (tag_), .size = sizeof(type), .free = NULL, .lock = PTHREAD_MUTEX_INITIALIZER }

/* Tags are four letters; they are the same in every face, because a cuBLAS handle serves as a cuBLASLt
 * handle, too. */
#define VS_TAG(a, b, c, d)                                                          \
  ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 | \
   UINT64_C(0x6d697376) << 32)
#define VS_TAG_CUBLAS VS_TAG('b', 'l', 'a', 's')

static inline bool vs_object_is(const void *object, uint64_t tag) {
  return object != NULL && ((const vs_object *)object)->tag == tag;
}

/* Under the shelf's lock. */
static inline vs_object *vs_shelf_make(vs_shelf *shelf) {
  vs_made *made = (vs_made *)calloc(1, sizeof *made + shelf->size);
  if (made == NULL) return NULL;
  made->before = shelf->made;
  shelf->made = made;
  return (vs_object *)(void *)(made + 1);
}

/* A new object, zero but for its head; NULL where the host has no memory. */
static inline void *vs_shelf_take(vs_shelf *shelf) {
  pthread_mutex_lock(&shelf->lock);
  vs_object *object = shelf->free;
  if (object != NULL) shelf->free = object->next;
  else object = vs_shelf_make(shelf);
  pthread_mutex_unlock(&shelf->lock);
  if (object == NULL) return NULL;
  memset(object, 0, shelf->size);
  object->tag = shelf->tag;
  return object;
}

/* false where `object` is none of this shelf: nothing happens then. */
static inline bool vs_shelf_put_back(vs_shelf *shelf, void *object) {
  if (!vs_object_is(object, shelf->tag)) return false;
  vs_object *old = object;
  old->tag = 0;
  pthread_mutex_lock(&shelf->lock);
  old->next = shelf->free;
  shelf->free = old;
  pthread_mutex_unlock(&shelf->lock);
  return true;
}

/* The context of the calling thread's device, which libraries make when a handle is created. */
static inline vs_sim_error vs_begin_library(void) {
  VS_SIM_TRY(vs_simcuda_begin());
  return vs_simcuda_use(vs_simcuda_this_thread()->device);
}

/* Whether an address lies where simulated device memory does: nothing can be written through it. */
static inline bool vs_is_on_device(const void *address) {
  const uint64_t at = (uintptr_t)address;
  return at >= UINT64_C(0x200000000000) && at < UINT64_C(0x500000000000);
}

/* A result of a call whose address may be the host's or the device's, by the library's rules. NULL is no
 * place. */
static inline void vs_result(void *to, const void *bytes, size_t size) {
  if (to == NULL) return;
  if (vs_is_on_device(to)) vs_simcuda_put((uintptr_t)to, bytes, size);
  else memcpy(to, bytes, size);
}

/* Zeros as a result. On the device zeros are what is read anyway, so that only small ones are put there. */
static inline void vs_result_zeros(void *to, uint64_t size) {
  static const uint8_t zeros[4096];
  if (to == NULL) return;
  if (!vs_is_on_device(to)) memset(to, 0, (size_t)size);
  else if (size <= sizeof zeros) vs_simcuda_put((uintptr_t)to, zeros, size);
}

#endif
