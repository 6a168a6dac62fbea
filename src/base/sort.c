#include "base/sort.h"

/* ---- rows: runs of a few by insertion, then merges from the bottom up */

enum { RUN = VS_HOSTILE ? 2 : 16 };

static void insertion_sort(uint32_t *rows, size_t count, vs_sort_before before, const void *ctx) {
  for (size_t i = 1; i < count; i++) {
    const uint32_t row = rows[i];
    size_t at = i;
    for (; at > 0 && before(ctx, row, rows[at - 1]); at--) rows[at] = rows[at - 1];
    rows[at] = row;
  }
}

/* Merges the sorted rows[..middle] and rows[middle..count]; the first part is copied to `scratch`. */
static void merge(uint32_t *rows, size_t middle, size_t count, uint32_t *scratch, vs_sort_before before,
                  const void *ctx) {
  VS_ASSERT(middle > 0 && middle < count);
  if (!before(ctx, rows[middle], rows[middle - 1])) return;
  memcpy(scratch, rows, middle * sizeof *rows);
  size_t left = 0, right = middle, to = 0;
  while (left < middle && right < count)
    rows[to++] = before(ctx, rows[right], scratch[left]) ? rows[right++] : scratch[left++];
  memcpy(rows + to, scratch + left, (middle - left) * sizeof *rows);
}

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

vs_status vs_sort_rows(const vs_host *host, uint32_t *rows, size_t count, vs_sort_before before,
                       const void *ctx) {
  if (count < 2) return VS_OK;
  uint32_t *scratch = vs_host_alloc(host, count * sizeof *scratch);
  if (scratch == NULL) return VS_NO_MEMORY;
  for (size_t at = 0; at < count; at += RUN)
    insertion_sort(rows + at, min_size(RUN, count - at), before, ctx);
  for (size_t width = RUN; width < count; width *= 2)
    for (size_t at = 0; at + width < count; at += 2 * width)
      merge(rows + at, width, min_size(2 * width, count - at), scratch, before, ctx);
  vs_host_free(host, scratch, count * sizeof *scratch);
  return VS_OK;
}

/* ---- pairs: radix sort, from the lowest byte of the key on */

enum { KEY_BYTES = 8, BYTE_VALUES = 256 };

static unsigned key_byte(vs_sort_pair pair, unsigned byte) {
  return (unsigned)(pair.key >> (8 * byte)) & 0xff;
}

/* Moves `from` to `to` in the order of one byte of the key. `places` has the number of pairs with each value of that
 * byte, and is destroyed. */
static void distribute(const vs_sort_pair *from, vs_sort_pair *to, size_t count, unsigned byte,
                       size_t *places) {
  size_t place = 0;
  for (unsigned value = 0; value < BYTE_VALUES; value++) {
    const size_t here = places[value];
    places[value] = place;
    place += here;
  }
  VS_ASSERT(place == count);
  for (size_t i = 0; i < count; i++) to[places[key_byte(from[i], byte)]++] = from[i];
}

/* One bit is set in `differing` for each byte in which the keys are not all equal. */
static uint64_t differing_bits(const vs_sort_pair *pairs, size_t count) {
  uint64_t differing = 0;
  for (size_t i = 1; i < count; i++) differing |= pairs[i].key ^ pairs[0].key;
  return differing;
}

vs_status vs_sort_pairs(const vs_host *host, vs_sort_pair *pairs, size_t count) {
  if (count < 2) return VS_OK;
  const uint64_t differing = differing_bits(pairs, count);
  vs_sort_pair *scratch = vs_host_alloc(host, count * sizeof *scratch);
  if (scratch == NULL) return VS_NO_MEMORY;
  vs_sort_pair *from = pairs, *to = scratch;
  for (unsigned byte = 0; byte < KEY_BYTES; byte++) {
    if ((differing >> (8 * byte) & 0xff) == 0) continue;
    size_t places[BYTE_VALUES] = {0};
    for (size_t i = 0; i < count; i++) places[key_byte(from[i], byte)]++;
    distribute(from, to, count, byte, places);
    vs_sort_pair *const swap = from;
    from = to;
    to = swap;
  }
  if (from != pairs) memcpy(pairs, from, count * sizeof *pairs);
  vs_host_free(host, scratch, count * sizeof *scratch);
  return VS_OK;
}
