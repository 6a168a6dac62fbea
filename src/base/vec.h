/* A growable array of any type.
 *
 *   VS_VEC(uint64_t) marks = {0};
 *   VS_TRY(vs_vec_reserve(host, &marks, 1));      room for one more
 *   marks.data[marks.count++] = position;
 *   vs_vec_free(host, &marks);
 *
 * Invariant: count <= capacity, data is NULL exactly while capacity is 0. It grows by one half, or by the requested
 * room if that is more, so that little of a bounded budget is unused. The hostile build grows by little, so that
 * nearly every growth moves the array and every overrun is detected. */
#ifndef VS_BASE_VEC_H
#define VS_BASE_VEC_H

#include "base/host.h"

#define VS_VEC(type) \
  struct {           \
    type *data;      \
    size_t count;    \
    size_t capacity; \
  }

/* Makes room for `extra` elements behind the last one. */
#define vs_vec_reserve(host, vec, extra)                                                             \
  ((vec)->capacity - (vec)->count >= (size_t)(extra)                                                 \
       ? VS_OK                                                                                       \
       : vs_vec_grow((host), (void **)&(vec)->data, &(vec)->capacity, (vec)->count, (size_t)(extra), \
                     sizeof *(vec)->data))

#define vs_vec_free(host, vec)                                                                   \
  (vs_host_free((host), (vec)->data, (vec)->capacity * sizeof *(vec)->data), (vec)->data = NULL, \
   (vec)->count = 0, (vec)->capacity = 0)

/* The slow path of vs_vec_reserve: *capacity becomes at least count + extra elements of `size` bytes. */
VS_MUST_CHECK vs_status vs_vec_grow(const vs_host *host, void **data, size_t *capacity, size_t count,
                                    size_t extra, size_t size);

#endif
