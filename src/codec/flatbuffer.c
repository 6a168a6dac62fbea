#include "codec/flatbuffer.h"

enum { OFFSET = 4, LARGEST = 8 };

void vs_flat_init(vs_flat *flat, const vs_host *host) {
  vs_text_init(&flat->bytes, host, NULL);
  vs_flat_clear(flat);
}

void vs_flat_deinit(vs_flat *flat) { vs_text_deinit(&flat->bytes); }

static void put_zeros(vs_flat *flat, size_t count) {
  static const char zeros[64];
  for (size_t part; count != 0; count -= part) {
    part = count < sizeof zeros ? count : sizeof zeros;
    vs_text_put(&flat->bytes, zeros, part);
    if (flat->bytes.status != VS_OK) return;
  }
}

static size_t size_of(const vs_flat *flat) { return flat->bytes.bytes.count; }

/* Zeros until a place `before` bytes behind the end is at a multiple of `alignment`. */
static void align(vs_flat *flat, size_t before, size_t alignment) {
  const size_t over = (size_of(flat) + before) % alignment;
  if (over != 0) put_zeros(flat, alignment - over);
}

void vs_flat_clear(vs_flat *flat) {
  flat->bytes.bytes.count = 0;
  put_zeros(flat, OFFSET);
}

void vs_flat_put(vs_flat *flat, size_t place, uint64_t value, size_t size) {
  if (flat->bytes.status != VS_OK) return;
  VS_ASSERT(place + size <= size_of(flat) && size <= LARGEST);
  for (size_t i = 0; i < size; i++, value >>= 8) flat->bytes.bytes.data[place + i] = (char)value;
}

static void refer(vs_flat *flat, size_t from, size_t to) { vs_flat_put(flat, from, to - from, OFFSET); }

/* Places the fields behind the first `OFFSET` bytes of a table, each at a multiple of its size; returns the size of the table. */
static size_t place_fields(const uint8_t *sizes, size_t count, uint16_t *places) {
  static const uint8_t widths[] = {OFFSET, LARGEST, 2, 1};
  size_t size = OFFSET;
  for (size_t w = 0; w < sizeof widths; w++)
    for (size_t i = 0; i < count; i++) {
      if (sizes[i] != widths[w]) continue;
      size = (size + widths[w] - 1) / widths[w] * widths[w];
      places[i] = (uint16_t)size;
      size += widths[w];
    }
  return size;
}

/* The list of the fields' places, "vtable", then the table, which begins with the distance to that. */
void vs_flat_table(vs_flat *flat, size_t from, const uint8_t *sizes, size_t count, size_t *at) {
  const size_t list_size = 2 * (count + 2);
  uint16_t places[VS_FLAT_MOST_FIELDS] = {0};
  VS_ASSERT(count <= VS_FLAT_MOST_FIELDS);
  const size_t size = place_fields(sizes, count, places);
  align(flat, list_size, LARGEST);
  const size_t list = size_of(flat), table = list + list_size;
  put_zeros(flat, list_size + size);
  vs_flat_put(flat, list, list_size, 2);
  vs_flat_put(flat, list + 2, size, 2);
  for (size_t i = 0; i < count; i++) {
    vs_flat_put(flat, list + 4 + 2 * i, places[i], 2);
    at[i] = table + places[i];
  }
  vs_flat_put(flat, table, list_size, OFFSET);
  refer(flat, from, table);
}

void vs_flat_string(vs_flat *flat, size_t from, vs_str text) {
  align(flat, 0, OFFSET);
  const size_t at = size_of(flat);
  put_zeros(flat, OFFSET);
  vs_flat_put(flat, at, text.size, OFFSET);
  vs_text_str(&flat->bytes, text);
  put_zeros(flat, 1); /* strings end in 0 */
  refer(flat, from, at);
}

size_t vs_flat_vector(vs_flat *flat, size_t from, size_t count, size_t size, size_t alignment) {
  align(flat, OFFSET, alignment);
  const size_t at = size_of(flat);
  put_zeros(flat, OFFSET + count * size);
  vs_flat_put(flat, at, count, OFFSET);
  refer(flat, from, at);
  return at + OFFSET;
}

void vs_flat_end(vs_flat *flat) { align(flat, 0, LARGEST); }
