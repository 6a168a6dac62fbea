#include "devices/visible.h"
#include "base/text.h"

/* ---- UUIDs */

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool starts(const char *text, vs_str with, bool any_case) {
  for (size_t i = 0; i < with.size; i++) {
    if (text[i] == 0) return false;
    if (any_case ? small(text[i]) != small(with.data[i]) : text[i] != with.data[i]) return false;
  }
  return true;
}

uint32_t vs_unit_with_prefix(const vs_devices_info *infos, uint32_t count, vs_str prefix, bool is_mig,
                             bool any_case, bool *is_ambiguous) {
  uint32_t found = VS_DEVICES_NONE;
  *is_ambiguous = false;
  for (uint32_t i = 0; i < count; i++) {
    if (infos[i].is_mig != is_mig || !starts(infos[i].uuid, prefix, any_case)) continue;
    if (infos[i].uuid[prefix.size] == 0) { /* the whole of it */
      *is_ambiguous = false;
      return i;
    }
    if (found != VS_DEVICES_NONE) *is_ambiguous = true;
    else found = i;
  }
  return *is_ambiguous ? VS_DEVICES_NONE : found;
}

/* "/<GI>/<CI>" to the end of the text. */
static bool take_instances(vs_str rest, uint64_t *gpu_instance, uint64_t *compute_instance) {
  if (rest.size == 0 || rest.data[0] != '/') return false;
  size_t middle = 1;
  while (middle < rest.size && rest.data[middle] != '/') middle++;
  return middle < rest.size && vs_parse_u64((vs_str){rest.data + 1, middle - 1}, gpu_instance) &&
         vs_parse_u64((vs_str){rest.data + middle + 1, rest.size - middle - 1}, compute_instance);
}

uint32_t vs_unit_with_old_mig(const vs_devices_info *infos, uint32_t count, vs_str text, bool any_case) {
  uint64_t gpu_instance, compute_instance;
  size_t slash = 4;
  while (slash < text.size && text.data[slash] != '/') slash++;
  if (slash >= text.size) return VS_DEVICES_NONE;
  const vs_str card = {text.data + 4, slash - 4}; /* "GPU-..." behind "MIG-" */
  if (!take_instances((vs_str){text.data + slash, text.size - slash}, &gpu_instance, &compute_instance))
    return VS_DEVICES_NONE;
  for (uint32_t i = 0; i < count; i++) {
    if (!infos[i].is_mig || infos[i].gpu_instance != gpu_instance ||
        infos[i].compute_instance != compute_instance)
      continue;
    VS_ASSERT(infos[i].parent < i);
    const char *uuid = infos[infos[i].parent].uuid;
    if (starts(uuid, card, any_case) && uuid[card.size] == 0) return i;
  }
  return VS_DEVICES_NONE;
}

/* ---- the cards in the order in which CUDA numbers them */

static bool is_before(const vs_devices_info *a, const vs_devices_info *b) {
  if (a->pci_domain != b->pci_domain) return a->pci_domain < b->pci_domain;
  if (a->pci_bus != b->pci_bus) return a->pci_bus < b->pci_bus;
  if (a->pci_device != b->pci_device) return a->pci_device < b->pci_device;
  return a->pci_function < b->pci_function;
}

/* The n-th whole card by PCI id; VS_DEVICES_NONE if there are fewer. Quadratic, but a machine has few cards. */
static uint32_t card_at(const vs_devices_info *infos, uint32_t count, uint64_t n) {
  for (uint32_t i = 0; i < count; i++) {
    uint64_t before = 0;
    for (uint32_t k = 0; k < count; k++)
      before += !infos[k].is_mig && (is_before(&infos[k], &infos[i]) ||
                                     (k < i && !is_before(&infos[i], &infos[k]))); /* equal ids: by index */
    if (!infos[i].is_mig && before == n) return i;
  }
  return VS_DEVICES_NONE;
}

static bool is_order_known(const vs_devices_info *infos, uint32_t count, const char *order) {
  if (order != NULL && vs_str_equal(vs_str_from(order), VS_STR("PCI_BUS_ID"))) return true;
  const char *name = NULL;
  for (uint32_t i = 0; i < count; i++) {
    if (infos[i].is_mig) continue;
    if (name == NULL) name = infos[i].name;
    if (!vs_str_equal(vs_str_from(name), vs_str_from(infos[i].name))) return false;
  }
  return true;
}

/* ---- the list */

typedef enum vs_list_kind { VS_OF_NUMBERS, VS_OF_CARDS, VS_OF_MIG } vs_list_kind;

static vs_list_kind kind_of(vs_str text) {
  if (vs_str_starts(text, VS_STR("GPU-"))) return VS_OF_CARDS;
  return vs_str_starts(text, VS_STR("MIG-")) ? VS_OF_MIG : VS_OF_NUMBERS;
}

static bool next_entry(vs_str *rest, bool *is_last, vs_str *entry) {
  if (*is_last) return false;
  size_t size = 0;
  while (size < rest->size && rest->data[size] != ',') size++;
  *entry = (vs_str){rest->data, size};
  *is_last = size == rest->size;
  if (!*is_last) *rest = (vs_str){rest->data + size + 1, rest->size - size - 1};
  return true;
}

/* Reads the number at the start of an entry as strtoul does; false if there is none or it is negative. */
static bool number_of(vs_str entry, uint64_t *number) {
  size_t at = 0;
  while (at < entry.size && (entry.data[at] == ' ' || entry.data[at] == '\t')) at++;
  const bool is_negative = at < entry.size && entry.data[at] == '-';
  if (at < entry.size && (is_negative || entry.data[at] == '+')) at++;
  const size_t first = at;
  *number = 0;
  for (; at < entry.size && entry.data[at] >= '0' && entry.data[at] <= '9'; at++)
    if (*number < VS_DEVICES_NONE) *number = *number * 10 + (uint64_t)(entry.data[at] - '0');
  return at != first && !(is_negative && *number != 0);
}

/* Whether an entry is repeated, which hides every card. This holds even behind an entry that matches no card, because CUDA
 * reads the whole list before it looks for cards. */
static bool has_repeated(vs_str list, vs_list_kind kind) {
  bool is_last = false;
  vs_str entry, rest = list;
  for (uint64_t number = 0; next_entry(&rest, &is_last, &entry);) {
    if (kind == VS_OF_NUMBERS ? !number_of(entry, &number) : kind_of(entry) != kind) return false;
    bool ends = false;
    vs_str other, before = list;
    while (next_entry(&before, &ends, &other) && other.data != entry.data) {
      uint64_t earlier = 0;
      if (kind == VS_OF_NUMBERS ? number_of(other, &earlier) && earlier == number
                                : vs_str_equal(other, entry))
        return true;
    }
  }
  return false;
}

static uint32_t unit_of(const vs_devices_info *infos, uint32_t count, vs_str entry, vs_list_kind kind) {
  bool is_ambiguous;
  uint64_t number;
  if (kind == VS_OF_NUMBERS)
    return number_of(entry, &number) ? card_at(infos, count, number) : VS_DEVICES_NONE;
  if (kind_of(entry) != kind) return VS_DEVICES_NONE;
  if (vs_str_starts(entry, VS_STR("MIG-GPU-"))) return vs_unit_with_old_mig(infos, count, entry, false);
  return vs_unit_with_prefix(infos, count, entry, kind == VS_OF_MIG, false, &is_ambiguous);
}

/* Stores the units of the list in its order and returns how many there are; 0 if a unit is named twice. */
static uint32_t read_list(const vs_devices_info *infos, uint32_t count, vs_str list, uint32_t *units) {
  const vs_list_kind kind = kind_of(list);
  uint32_t found = 0;
  bool is_last = false;
  vs_str entry;
  if (has_repeated(list, kind)) return 0;
  while (next_entry(&list, &is_last, &entry)) {
    const uint32_t unit = unit_of(infos, count, entry, kind);
    if (unit == VS_DEVICES_NONE) break;
    for (uint32_t i = 0; i < found; i++) /* two different beginnings of one UUID */
      if (units[i] == unit) return 0;
    VS_ASSERT(found < count);
    units[found++] = unit;
  }
  return found;
}

/* Replaces a divided card by its first MIG device, or drops it if it has none. Then one MIG device hides the rest. */
static uint32_t apply_mig(const vs_devices_info *infos, uint32_t count, uint32_t *units, uint32_t found) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < found; i++) {
    uint32_t unit = units[i];
    if (infos[unit].is_divided) {
      do unit++;
      while (unit < count && (!infos[unit].is_mig || infos[unit].parent != units[i]));
      if (unit >= count) continue;
    }
    VS_ASSERT(kept <= i && unit < count);
    units[kept++] = unit;
  }
  for (uint32_t i = 0; i < kept; i++) {
    if (!infos[units[i]].is_mig) continue;
    units[0] = units[i];
    return 1;
  }
  return kept;
}

vs_visible vs_visible_units(const vs_devices_info *infos, uint32_t count, const char *visible,
                            const char *order, uint32_t *units) {
  uint32_t found = 0;
  const bool is_listed = visible != NULL;
  if (is_listed && visible[0] == 0) return (vs_visible){.is_known = true};
  if ((!is_listed || kind_of(vs_str_from(visible)) == VS_OF_NUMBERS) && !is_order_known(infos, count, order))
    return (vs_visible){.is_known = false};
  if (is_listed) found = read_list(infos, count, vs_str_from(visible), units);
  else
    while (found < count && (units[found] = card_at(infos, count, found)) != VS_DEVICES_NONE) found++;
  return (vs_visible){.is_known = true, .count = apply_mig(infos, count, units, found)};
}
