/* Handles and descriptors of the mathematics libraries, and what their calls have in common.
 *
 * A program holds pointers to opaque objects. An object begins with a tag of its kind; a call with an object
 * of the wrong kind returns the library's error, and reads nothing behind the tag. Destroyed objects go to a
 * shelf, the free list of their kind, and their memory is never freed. So a stale handle points to an object
 * without a tag or to a new object of the same kind, never to memory of another use. */
#ifndef VS_SIMCUDA_OBJECTS_H
#define VS_SIMCUDA_OBJECTS_H

#include <pthread.h>
#include <stdlib.h>

#include "base/check.h"
#include "faces/simcuda/core/process.h"

/* The major version of the toolkit whose library this is; the build sets it for libraries of toolkit 12. */
#ifndef VS_TOOLKIT
#define VS_TOOLKIT 13
#endif

typedef struct vs_object {
  uint64_t tag; /* 0: on the shelf */
  struct vs_object *next;
} vs_object;

/* The header in front of each object. It links all objects that were ever made, so that leak checkers reach
 * them. */
typedef struct vs_made {
  _Alignas(16) struct vs_made *before;
} vs_made;

/* All objects of one kind. A library defines one shelf for each kind: its tag, and the size of a struct that
 * begins with a vs_object. */
typedef struct vs_shelf {
  uint64_t tag;
  size_t size;
  vs_object *free;
  vs_made *made;
  pthread_mutex_t lock;
} vs_shelf;

#define VS_SHELF(tag_, type) \
  { .tag = (tag_), .size = sizeof(type), .free = NULL, .lock = PTHREAD_MUTEX_INITIALIZER }

/* A tag is made of four letters. Tags are the same in every face, because a cuBLAS handle is also a valid
 * cuBLASLt handle. */
#define VS_TAG(a, b, c, d)                                                          \
  ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 | \
   UINT64_C(0x6d697376) << 32)
#define VS_TAG_CUBLAS VS_TAG('b', 'l', 'a', 's')

static inline bool vs_object_is(const void *object, uint64_t tag) {
  return object != NULL && ((const vs_object *)object)->tag == tag;
}

/* Allocates an object. Under the shelf's lock. */
static inline vs_object *vs_shelf_make(vs_shelf *shelf) {
  vs_made *made = (vs_made *)calloc(1, sizeof *made + shelf->size);
  if (made == NULL) return NULL;
  made->before = shelf->made;
  shelf->made = made;
  return (vs_object *)(void *)(made + 1);
}

/* A new object, zero except its head; NULL if the host is out of memory. */
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

/* Destroys an object. false, without effect, if `object` is not of this shelf's kind. */
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

/* Makes the context of the calling thread's device, as libraries do when a handle is created. */
static inline vs_sim_error vs_begin_library(void) {
  VS_SIM_TRY(vs_simcuda_begin());
  return vs_simcuda_use(vs_simcuda_this_thread()->device);
}

/* Whether an address is in the range of simulated device memory, which cannot be accessed. */
static inline bool vs_is_on_device(const void *address) {
  const uint64_t at = (uintptr_t)address;
  return at >= UINT64_C(0x200000000000) && at < UINT64_C(0x500000000000);
}

/* Writes a result to an address of the host or of the device, as the library's rules allow. NULL: no result is
 * wanted. */
static inline void vs_result(void *to, const void *bytes, size_t size) {
  if (to == NULL) return;
  if (vs_is_on_device(to)) vs_simcuda_put((uintptr_t)to, bytes, size);
  else memcpy(to, bytes, size);
}

/* Writes zeros as a result. Unknown device memory reads as zeros, so only small results are written there. */
static inline void vs_result_zeros(void *to, uint64_t size) {
  static const uint8_t zeros[4096];
  if (to == NULL) return;
  if (!vs_is_on_device(to)) memset(to, 0, (size_t)size);
  else if (size <= sizeof zeros) vs_simcuda_put((uintptr_t)to, zeros, size);
}

#endif
