#include "base/interned_strings.h"
#include "base/text.h"

vs_status vs_strings_init(const vs_host *host, vs_strings *strings) {
  *strings = (vs_strings){0};
  vs_status status = vs_vec_reserve(host, &strings->ends, 64);
  if (status == VS_OK) status = vs_vec_reserve(host, &strings->bytes, 1024);
  if (status == VS_OK) {
    strings->ends.data[strings->ends.count++] = 0; /* VS_STRING_NONE */
    uint32_t empty;
    status = vs_strings_intern(host, strings, (vs_str){"", 0}, &empty);
    VS_ASSERT(status != VS_OK || empty == VS_STRING_EMPTY);
  }
  if (status != VS_OK) vs_strings_deinit(host, strings);
  return status;
}

void vs_strings_deinit(const vs_host *host, vs_strings *strings) {
  vs_vec_free(host, &strings->bytes);
  vs_vec_free(host, &strings->ends);
  vs_map_deinit(host, &strings->by_hash);
}

static uint32_t find_hashed(const vs_strings *strings, vs_str text, uint64_t hash) {
  for (size_t slot = vs_map_find(&strings->by_hash, hash); slot != VS_MAP_NONE;
       slot = vs_map_find_next(&strings->by_hash, slot)) {
    const uint32_t id = strings->by_hash.slots[slot].value;
    if (vs_str_equal(vs_strings_at(strings, id), text)) return id;
  }
  return VS_STRING_NONE;
}

uint32_t vs_strings_find(const vs_strings *strings, vs_str text) {
  return find_hashed(strings, text, vs_hash_bytes(text.data, text.size));
}

vs_status vs_strings_intern(const vs_host *host, vs_strings *strings, vs_str text, uint32_t *id) {
  const uint64_t hash = vs_hash_bytes(text.data, text.size);
  *id = find_hashed(strings, text, hash);
  if (*id != VS_STRING_NONE) return VS_OK;
  if (strings->ends.count >= UINT32_MAX) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(host, &strings->bytes, text.size));
  VS_TRY(vs_vec_reserve(host, &strings->ends, 1));
  VS_TRY(vs_map_reserve(host, &strings->by_hash));
  *id = (uint32_t)strings->ends.count;
  if (text.size != 0) memcpy(strings->bytes.data + strings->bytes.count, text.data, text.size);
  strings->bytes.count += text.size;
  VS_ASSERT(strings->bytes.count <= strings->bytes.capacity && strings->ends.count < strings->ends.capacity);
  strings->ends.data[strings->ends.count++] = strings->bytes.count;
  vs_map_add(&strings->by_hash, hash, *id);
  return VS_OK;
}

const char *vs_strings_check(const vs_strings *strings) {
  const size_t count = strings->ends.count;
  if (count <= VS_STRING_EMPTY || strings->ends.data[VS_STRING_NONE] != 0 ||
      strings->ends.data[VS_STRING_EMPTY] != 0)
    return "interned strings do not begin with none and the empty one";
  if (strings->ends.data[count - 1] != strings->bytes.count) return "the last interned string ends elsewhere";
  if (strings->by_hash.count != count - 1) return "an interned string is not in the table";
  for (uint32_t id = VS_STRING_EMPTY; id < count; id++) {
    if (strings->ends.data[id] < strings->ends.data[id - 1]) return "interned strings overlap";
    if (vs_strings_find(strings, vs_strings_at(strings, id)) != id)
      return "an interned string is not found by its text";
  }
  return vs_map_check(&strings->by_hash);
}
