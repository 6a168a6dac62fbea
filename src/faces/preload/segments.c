#include "faces/preload/segments.h"
#include "base/check.h"
#include <string.h>

/* The number of segments that begin at `address` or before. */
static size_t rank_of(const vs_own_segments *segments, uint64_t address) {
  size_t low = 0, high = segments->rows.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (segments->rows.data[middle].address <= address) low = middle + 1;
    else high = middle;
  }
  return low;
}

static uint64_t end_of(const vs_own_segment *segment) { return segment->address + segment->bytes; }

static bool is_one(const vs_own_segment *left, const vs_own_segment *right) {
  return left->is_expandable && right->is_expandable && left->stream == right->stream &&
         end_of(left) == right->address;
}

static void remove_row(vs_own_segments *segments, size_t row) {
  vs_own_segment *data = segments->rows.data;
  VS_ASSERT(row < segments->rows.count);
  memmove(data + row, data + row + 1, (segments->rows.count - row - 1) * sizeof *data);
  segments->rows.count--;
}

vs_status vs_own_segments_add(vs_own_segments *segments, const vs_host *host, const vs_own_segment *segment) {
  const size_t at = rank_of(segments, segment->address);
  if (segment->bytes == 0 || segment->bytes > UINT64_MAX - segment->address) return VS_BAD_ARGUMENT;
  VS_TRY(vs_vec_reserve(host, &segments->rows, 1));
  vs_own_segment *data = segments->rows.data;
  if (at != 0 && end_of(&data[at - 1]) > segment->address) return VS_BAD_ARGUMENT;
  if (at != segments->rows.count && end_of(segment) > data[at].address) return VS_BAD_ARGUMENT;
  memmove(data + at + 1, data + at, (segments->rows.count - at) * sizeof *data);
  data[at] = *segment;
  segments->rows.count++;
  segments->bytes += segment->bytes;
  if (at + 1 < segments->rows.count && is_one(&data[at], &data[at + 1])) {
    data[at].bytes += data[at + 1].bytes;
    remove_row(segments, at + 1);
  }
  if (at != 0 && is_one(&data[at - 1], &data[at])) {
    data[at - 1].bytes += data[at].bytes;
    remove_row(segments, at);
  }
  return VS_OK;
}

bool vs_own_segments_take(vs_own_segments *segments, uint64_t address, vs_own_segment *taken) {
  const size_t count = rank_of(segments, address);
  if (count == 0 || segments->rows.data[count - 1].address != address) return false;
  *taken = segments->rows.data[count - 1];
  remove_row(segments, count - 1);
  VS_ASSERT(segments->bytes >= taken->bytes);
  segments->bytes -= taken->bytes;
  return true;
}

const vs_own_segment *vs_own_segments_at(const vs_own_segments *segments, uint64_t address) {
  const size_t count = rank_of(segments, address);
  if (count == 0) return NULL;
  const vs_own_segment *found = &segments->rows.data[count - 1];
  if (address < end_of(found)) return found;
  return address == end_of(found) ? found : NULL;
}
