#include "rendezvous/peers.h"
#include "rendezvous/scan.h"

enum { SUFFIX_MOST = 64 };

static const char inferred_id[128] = "an NCCL id of a rank that does not run";

static bool ends_with(vs_str text, vs_str end) {
  return text.size >= end.size && memcmp(text.data + text.size - end.size, end.data, end.size) == 0;
}

static bool is_count(const vs_entries *entries, vs_str key) {
  const vs_entry *entry = vs_entries_find(entries, key);
  return entry != NULL && entry->has_value && entry->is_count;
}

/* Rule 4 of store.h: "barrier:last_worker" next to the count "barrier", "x/last_member" next to "x/num_members". */
static bool follows_a_count(const vs_entries *entries, vs_str key) {
  static const char last[] = "/last_member", members[] = "/num_members";
  if (ends_with(key, VS_STR("/last_member"))) {
    char sibling[VS_STORE_KEY_MOST];
    VS_ASSERT(key.size <= VS_STORE_KEY_MOST);
    const size_t stem = key.size - (sizeof last - 1), size = stem + sizeof members - 1;
    VS_ASSERT(size <= sizeof sibling);
    memcpy(sibling, key.data, stem);
    memcpy(sibling + stem, members, sizeof members - 1);
    if (is_count(entries, (vs_str){sibling, size})) return true;
  }
  for (size_t i = 1; i <= SUFFIX_MOST && i < key.size; i++) {
    const char byte = key.data[key.size - i];
    if ((byte == ':' || byte == '/' || byte == '_' || byte == '.') &&
        is_count(entries, (vs_str){key.data, key.size - i}))
      return true;
  }
  return false;
}

/* The part behind the last slash. */
static vs_str name_in(vs_str key) {
  size_t begin = key.size;
  while (begin > 0 && key.data[begin - 1] != '/') begin--;
  return (vs_str){key.data + begin, key.size - begin};
}

bool vs_peers_is_numbered(vs_str key, vs_str device) {
  const vs_str name = name_in(key);
  if (name.size == 0 || !vs_str_contains((vs_str){key.data, key.size - name.size}, device)) return false;
  for (size_t i = 0; i < name.size; i++)
    if ((name.data[i] < '0' || name.data[i] > '9') && name.data[i] != ':') return false;
  return true;
}

/* Whether ProcessGroupNCCL exchanges its ids under this key; others are ".../UniqueNCCLID:1" and "nccl_storekey_2". */
static bool is_nccl_key(vs_str key) {
  const vs_str name = name_in(key);
  return vs_str_contains(name, VS_STR("UniqueNCCLID")) || vs_str_starts(name, VS_STR("nccl_storekey")) ||
         vs_peers_is_numbered(key, VS_STR("cuda/"));
}

bool vs_peers_value(const vs_entries *entries, vs_str key, vs_str *value) {
  VS_ASSERT(vs_entries_find(entries, key) == NULL);
  const vs_entry *like = vs_entries_find_like(entries, key);
  if (like != NULL) *value = vs_bytes_view(&like->value);
  if (like != NULL) return true;
  if (follows_a_count(entries, key)) {
    *value = VS_STR("1");
    return true;
  }
  *value = (vs_str){inferred_id, sizeof inferred_id};
  return is_nccl_key(key);
}
