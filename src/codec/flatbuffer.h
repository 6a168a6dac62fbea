/* Builds a flatbuffer from its root on: what an object refers to is added after it, so that offsets point forwards. As far as Arrow's
 * metadata needs it.
 *
 *   vs_flat flat;
 *   vs_flat_init(&flat, host);
 *   static const uint8_t sizes[] = {2, 1, 4};                 of a table's fields; 0: absent
 *   size_t at[3];
 *   vs_flat_table(&flat, VS_FLAT_ROOT, sizes, 3, at);         at[i]: the place of field i
 *   vs_flat_put(&flat, at[0], 4, 2);                          a number of two bytes
 *   vs_flat_string(&flat, at[2], VS_STR("name"));             a field of four bytes refers to an object
 *   vs_flat_deinit(&flat);
 *
 * A failure is kept in bytes.status, and later calls do nothing. */
#ifndef VS_CODEC_FLATBUFFER_H
#define VS_CODEC_FLATBUFFER_H

#include "base/text.h"

enum { VS_FLAT_MOST_FIELDS = 8, VS_FLAT_ROOT = 0 };

typedef struct vs_flat {
  vs_text bytes;
} vs_flat;

void vs_flat_init(vs_flat *flat, const vs_host *host);
void vs_flat_deinit(vs_flat *flat);

/* Begins again. */
void vs_flat_clear(vs_flat *flat);

/* Sets a number of `size` bytes, 1 to 8. */
void vs_flat_put(vs_flat *flat, size_t place, uint64_t value, size_t size);

/* Each adds an object, to which the four bytes at `from` refer from now on. */
void vs_flat_table(vs_flat *flat, size_t from, const uint8_t *sizes, size_t count, size_t *at);
void vs_flat_string(vs_flat *flat, size_t from, vs_str text);
/* `count` zeros of `size` bytes each, at multiples of `alignment`, 4 or 8; returns the place of the first one. */
size_t vs_flat_vector(vs_flat *flat, size_t from, size_t count, size_t size, size_t alignment);

/* Fills up with zeros to a multiple of 8. */
void vs_flat_end(vs_flat *flat);

#endif
