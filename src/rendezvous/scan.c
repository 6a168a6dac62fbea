#include "rendezvous/scan.h"

static const char *const grammars[] = {
#define VS_STORE_QUERY(name, code, grammar) [code] = (grammar),
#include "rendezvous/queries.def"
#undef VS_STORE_QUERY
};
enum { QUERY_COUNT = sizeof grammars / sizeof *grammars };

static size_t ahead(const vs_scan *scan) {
  VS_ASSERT(scan->at <= scan->size);
  return scan->size - scan->at;
}

static uint64_t peek_u64(const vs_scan *scan) {
  uint64_t number;
  VS_ASSERT(ahead(scan) >= sizeof number);
  memcpy(&number, scan->data + scan->at, sizeof number);
  return number;
}

/* Skips `size` bytes if they have arrived. */
static bool skip(vs_scan *scan, size_t size) {
  if (ahead(scan) < size) return false;
  scan->at += size;
  return true;
}

static vs_status skip_sized(vs_scan *scan, uint64_t most, bool *is_whole, vs_error *error) {
  *is_whole = false;
  if (ahead(scan) < sizeof(uint64_t)) return VS_OK;
  const uint64_t size = peek_u64(scan);
  if (size > most)
    return vs_fail(error, VS_LIMIT, VS_NO_OFFSET,
                   "a client of the store sends a field of %U bytes, of at most %U", size, most);
  *is_whole = skip(scan, sizeof size + (size_t)size);
  return VS_OK;
}

/* K and P: skips the count, then the items, and remembers how far it came. */
static vs_status skip_list(vs_scan *scan, bool has_values, bool *is_whole, vs_error *error) {
  *is_whole = false;
  if (!scan->is_list) {
    if (ahead(scan) < sizeof(uint64_t)) return VS_OK;
    scan->items = peek_u64(scan);
    if (scan->items > VS_STORE_COUNT_MOST)
      return vs_fail(error, VS_LIMIT, VS_NO_OFFSET,
                     "a client of the store names %U keys at once, of at most %d", scan->items,
                     VS_STORE_COUNT_MOST);
    if (has_values) scan->items *= 2;
    scan->is_list = skip(scan, sizeof(uint64_t));
  }
  while (scan->items != 0) {
    const bool is_value = has_values && scan->items % 2 == 1;
    bool is_item;
    VS_TRY(skip_sized(scan, is_value ? VS_STORE_VALUE_MOST : VS_STORE_KEY_MOST, &is_item, error));
    if (!is_item) return VS_OK;
    scan->items--;
  }
  scan->is_list = false;
  *is_whole = true;
  return VS_OK;
}

static vs_status skip_field(vs_scan *scan, char field, bool *is_whole, vs_error *error) {
  switch (field) {
    case 'k': return skip_sized(scan, VS_STORE_KEY_MOST, is_whole, error);
    case 'v': return skip_sized(scan, VS_STORE_VALUE_MOST, is_whole, error);
    case 'K': return skip_list(scan, false, is_whole, error);
    case 'P': return skip_list(scan, true, is_whole, error);
    default: *is_whole = skip(scan, field == 'i' ? sizeof(int64_t) : sizeof(uint32_t)); return VS_OK;
  }
}

static vs_status begin_query(vs_scan *scan, bool is_valid, vs_error *error) {
  const uint8_t code = scan->data[0];
  if (!is_valid && code != VS_QUERY_VALIDATE)
    return vs_fail(error, VS_BAD_FORMAT, VS_NO_OFFSET,
                   "a client of the store does not speak PyTorch's protocol");
  if (code >= QUERY_COUNT || (is_valid && code == VS_QUERY_VALIDATE))
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "the store does not know the query %u that a client sends", (unsigned)code);
  VS_ASSERT(grammars[code] != NULL); /* the codes of queries.def have no gaps */
  scan->field = grammars[code];
  scan->at = 1;
  return VS_OK;
}

vs_status vs_scan_query(vs_scan *scan, const uint8_t *data, size_t size, bool is_valid, bool *is_whole,
                        vs_error *error) {
  *is_whole = false;
  scan->data = data;
  scan->size = size;
  if (size == 0) return VS_OK;
  if (scan->field == NULL) VS_TRY(begin_query(scan, is_valid, error));
  while (*scan->field != 0) {
    bool is_field;
    VS_TRY(skip_field(scan, *scan->field, &is_field, error));
    if (!is_field && size > VS_STORE_QUERY_MOST)
      return vs_fail(error, VS_LIMIT, VS_NO_OFFSET, "a query to the store is larger than %d bytes",
                     VS_STORE_QUERY_MOST);
    if (!is_field) return VS_OK;
    scan->field++;
  }
  *is_whole = true;
  return VS_OK;
}
