/* Structs that a program passes by pointer and size, so that later versions can add members at their ends. The size
 * is that with which the program was compiled: an inline function in the public header passes it to each
 * `..._sized`.
 *
 *   in    members that the program does not have are 0, which is every member's default
 *   out   members that the program does not have are left out; those that the library does not have are 0 */
#ifndef VS_BASE_SIZED_H
#define VS_BASE_SIZED_H

#include "base/text.h"

/* Copies the program's struct to the library's. Fails: VS_UNSUPPORTED  a member that this version does not have is
 * not 0; `error` may be NULL */
static inline vs_status vs_sized_take(void *to, size_t to_size, const void *from, size_t from_size,
                                      vs_error *error) {
  const char *bytes = from;
  const size_t both = to_size < from_size ? to_size : from_size;
  memset(to, 0, to_size);
  memcpy(to, from, both);
  for (size_t i = both; i < from_size; i++)
    if (bytes[i] != 0)
      return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                     "the program asks for something that only a later version of libvramscope knows");
  return VS_OK;
}

/* Copies the library's struct to the program's. */
static inline void vs_sized_give(void *to, size_t to_size, const void *from, size_t from_size) {
  const size_t both = to_size < from_size ? to_size : from_size;
  memcpy(to, from, both);
  memset((char *)to + both, 0, to_size - both);
}

#endif
