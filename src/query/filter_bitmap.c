#include "query/filter_bitmap.h"
#include "base/text.h"

/* The number of set bits, by adding neighbouring groups of bits in parallel. The builtin would be a call to a
 * function where the target has no such instruction. */
static uint32_t bits_of(uint64_t word) {
  word -= word >> 1 & UINT64_C(0x5555555555555555);
  word = (word & UINT64_C(0x3333333333333333)) + (word >> 2 & UINT64_C(0x3333333333333333));
  word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return (uint32_t)(word * UINT64_C(0x0101010101010101) >> 56);
}

static vs_status fill(const vs_host *host, const vs_filter *filter, vs_keeps_row keeps, void *ctx,
                      vs_filter_bitmap *out) {
  const size_t words = (size_t)out->size / 64 + 1;
  VS_TRY(vs_vec_reserve(host, &out->filter, filter->text.count));
  if (filter->text.count != 0) memcpy(out->filter.data, filter->text.data, filter->text.count);
  out->filter.count = filter->text.count;
  VS_TRY(vs_vec_reserve(host, &out->bits, words));
  VS_TRY(vs_vec_reserve(host, &out->before, words / VS_BITMAP_WORDS + 1));
  for (size_t w = 0; w < words; w++) {
    const uint32_t first = (uint32_t)(w * 64), count = out->size - first < 64 ? out->size - first : 64;
    uint64_t word = 0;
    for (uint32_t i = 0; i < count; i++)
      if (keeps(ctx, first + i)) word |= UINT64_C(1) << i;
    if (w % VS_BITMAP_WORDS == 0) out->before.data[out->before.count++] = out->kept;
    out->bits.data[out->bits.count++] = word;
    out->kept += bits_of(word);
  }
  VS_ASSERT(out->kept <= out->size && out->bits.count == words);
  return VS_OK;
}

vs_status vs_filter_bitmap_build(const vs_host *host, const vs_filter *filter, bool is_folded, uint32_t size,
                                 vs_keeps_row keeps, void *ctx, vs_filter_bitmap *out) {
  *out = (vs_filter_bitmap){.size = size, .is_folded = is_folded};
  const vs_status status = fill(host, filter, keeps, ctx, out);
  if (status != VS_OK) vs_filter_bitmap_deinit(host, out);
  return status;
}

void vs_filter_bitmap_deinit(const vs_host *host, vs_filter_bitmap *bitmap) {
  vs_vec_free(host, &bitmap->filter);
  vs_vec_free(host, &bitmap->bits);
  vs_vec_free(host, &bitmap->before);
}

bool vs_filter_bitmap_is_of(const vs_filter_bitmap *bitmap, const vs_filter *filter, bool is_folded) {
  return bitmap->is_folded == is_folded && vs_str_equal((vs_str){bitmap->filter.data, bitmap->filter.count},
                                                        (vs_str){filter->text.data, filter->text.count});
}

/* ---- questions ------------------------------------------------------------------------------------------------- */

uint32_t vs_filter_bitmap_before(const vs_filter_bitmap *bitmap, uint32_t row) {
  const uint32_t word = row / 64;
  VS_ASSERT(row <= bitmap->size && word < bitmap->bits.count);
  uint32_t count = bitmap->before.data[word / VS_BITMAP_WORDS];
  for (uint32_t w = word / VS_BITMAP_WORDS * VS_BITMAP_WORDS; w < word; w++)
    count += bits_of(bitmap->bits.data[w]);
  return count + bits_of(bitmap->bits.data[word] & ((UINT64_C(1) << row % 64) - 1));
}

uint32_t vs_filter_bitmap_next(const vs_filter_bitmap *bitmap, uint32_t row) {
  return row >= bitmap->size ? VS_NO_MATCH
                             : vs_filter_bitmap_nth(bitmap, vs_filter_bitmap_before(bitmap, row));
}

uint32_t vs_filter_bitmap_previous(const vs_filter_bitmap *bitmap, uint32_t row) {
  const uint32_t before = vs_filter_bitmap_before(bitmap, row >= bitmap->size ? bitmap->size : row + 1);
  return before == 0 ? VS_NO_MATCH : vs_filter_bitmap_nth(bitmap, before - 1);
}

uint32_t vs_filter_bitmap_nth(const vs_filter_bitmap *bitmap, uint32_t n) {
  if (n >= bitmap->kept) return VS_NO_MATCH;
  size_t low = 0, high = bitmap->before.count; /* before[low] <= n < before[high] */
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (bitmap->before.data[middle] <= n) low = middle;
    else high = middle;
  }
  uint32_t left = n - bitmap->before.data[low];
  size_t word = low * VS_BITMAP_WORDS;
  for (uint32_t here; (here = bits_of(bitmap->bits.data[word])) <= left; word++) left -= here;
  uint64_t bits = bitmap->bits.data[word];
  for (; left > 0; left--) bits &= bits - 1;
  VS_ASSERT(bits != 0 && word * 64 < (size_t)bitmap->size + 64);
  return (uint32_t)(word * 64) + (uint32_t)__builtin_ctzll(bits);
}

/* ---- the cache ------------------------------------------------------------------------------------------------- */

void vs_bitmap_cache_deinit(const vs_host *host, vs_bitmap_cache *cache) {
  for (size_t i = 0; i < 2; i++) vs_filter_bitmap_deinit(host, &cache->slots[i]);
  *cache = (vs_bitmap_cache){0};
}

const vs_filter_bitmap *vs_bitmap_cache_find(vs_bitmap_cache *cache, const vs_filter *filter,
                                             bool is_folded) {
  for (uint8_t i = 0; i < 2; i++) {
    if (!cache->is_built[i] || !vs_filter_bitmap_is_of(&cache->slots[i], filter, is_folded)) continue;
    cache->latest = i;
    return &cache->slots[i];
  }
  return NULL;
}

const vs_filter_bitmap *vs_bitmap_cache_put(const vs_host *host, vs_bitmap_cache *cache,
                                            const vs_filter_bitmap *bitmap) {
  const uint8_t at = !cache->latest;
  VS_ASSERT(cache->latest < 2 && bitmap->kept <= bitmap->size);
  vs_filter_bitmap_deinit(host, &cache->slots[at]);
  cache->slots[at] = *bitmap;
  cache->is_built[at] = true;
  cache->latest = at;
  return &cache->slots[at];
}
