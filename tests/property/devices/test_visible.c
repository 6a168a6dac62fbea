/* CUDA_VISIBLE_DEVICES: random lists on random machines against a model that is as simple as can be. The model
 * splits the text first, as PyTorch's Python does, knows whole cards only by their order, and shares nothing with
 * the rule but the words. */
#include "devices/visible.h"
#include "support/random.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CARDS = 6, UNITS = 16, ENTRIES = 12, RUNS = 60000 };

typedef struct machine {
  vs_devices_info infos[UNITS];
  uint32_t count;
} machine;

static void make_machine(test_random *random, machine *made) {
  const uint32_t cards = (uint32_t)random_below(random, CARDS + 1), odd = (uint32_t)random_below(random, 4);
  uint32_t buses[CARDS];
  made->count = 0;
  for (uint32_t card = 0; card < cards; card++) {
    bool is_new;
    do {
      is_new = true;
      buses[card] = (uint32_t)random_below(random, 40);
      for (uint32_t i = 0; i < card; i++) is_new &= buses[i] != buses[card];
    } while (!is_new);
    const uint32_t unit = made->count++;
    vs_devices_info *info = &made->infos[unit];
    *info = (vs_devices_info){.index = card, .pci_bus = buses[card], .parent = VS_DEVICES_NONE};
    snprintf(info->uuid, sizeof info->uuid, "GPU-%c%c%u", 'a' + (int)random_below(random, 2),
             'a' + (int)random_below(random, 2), card);
    snprintf(info->name, sizeof info->name, "%s", odd == 0 && card == 0 ? "other" : "same");
    info->is_divided = random_below(random, 8) == 0;
    for (uint32_t i = info->is_divided ? (uint32_t)random_below(random, 3) : 0; i != 0; i--) {
      vs_devices_info *part = &made->infos[made->count++];
      *part = (vs_devices_info){.is_mig = true, .parent = unit, .gpu_instance = i, .compute_instance = 0};
      snprintf(part->uuid, sizeof part->uuid, "MIG-%c%u", 'a' + (int)random_below(random, 2), made->count);
    }
  }
}

static void make_entry(test_random *random, const machine *made, uint32_t kind, char *to, size_t capacity) {
  const vs_devices_info *any = made->count == 0 ? NULL : &made->infos[random_below(random, made->count)];
  switch (random_below(random, 12) == 0 ? 3 : kind) {
    case 0: snprintf(to, capacity, "%d", (int)random_below(random, made->count + 2)); break;
    case 1: snprintf(to, capacity, "%.20s", any == NULL ? "GPU-" : any->uuid); break;
    case 2:
      snprintf(to, capacity, "%.*s", (int)(5 + random_below(random, 3)), any == NULL ? "GPU-" : any->uuid);
      break;
    default: {
      static const char *const odd[] = {"",     "-1",   " 1",     "2 ",   "x",   "+0",
                                        "1gpu", "GPU-", "GPU-zz", "MIG-", "0x1", "-0"};
      snprintf(to, capacity, "%s", odd[random_below(random, sizeof odd / sizeof *odd)]);
    }
  }
}

/* ---- the model */

static int by_bus(const void *a, const void *b) {
  const vs_devices_info *left = *(const vs_devices_info *const *)a,
                        *right = *(const vs_devices_info *const *)b;
  return (left->pci_bus > right->pci_bus) - (left->pci_bus < right->pci_bus);
}

static long number_like_strtoul(const char *entry) {
  while (*entry == ' ') entry++;
  char *end;
  const long number = strtol(entry, &end, 10);
  return end == entry ? -1 : number;
}

static uint32_t model_uuid(const machine *made, const char *entry, bool is_mig) {
  uint32_t hits = 0, hit = 0;
  for (uint32_t i = 0; i < made->count; i++) {
    if (made->infos[i].is_mig != is_mig) continue;
    if (strcmp(made->infos[i].uuid, entry) == 0) return i;
    if (strncmp(made->infos[i].uuid, entry, strlen(entry)) == 0) {
      hits++;
      hit = i;
    }
  }
  return hits == 1 ? hit : VS_DEVICES_NONE;
}

/* Returns how many units, or -1 where only the driver knows. */
static int model(const machine *made, const char *visible, const char *order, uint32_t *units) {
  const vs_devices_info *cards[UNITS];
  size_t card_count = 0;
  bool is_alike = true;
  for (uint32_t i = 0; i < made->count; i++)
    if (!made->infos[i].is_mig) cards[card_count++] = &made->infos[i];
  for (size_t i = 0; i < card_count; i++) is_alike &= strcmp(cards[i]->name, cards[0]->name) == 0;
  qsort(cards, card_count, sizeof *cards, by_bus);
  const bool is_ordered = is_alike || (order != NULL && strcmp(order, "PCI_BUS_ID") == 0);

  char copy[512], *entries[ENTRIES + 1];
  size_t entry_count = 0;
  int found = 0;
  if (visible != NULL && *visible == 0) return 0;
  if (visible == NULL) {
    if (!is_ordered) return -1;
    for (size_t i = 0; i < card_count; i++) units[found++] = (uint32_t)(cards[i] - made->infos);
  } else {
    snprintf(copy, sizeof copy, "%s", visible);
    for (char *at = copy, *comma; at != NULL; at = comma) {
      comma = strchr(at, ',');
      if (comma != NULL) *comma++ = 0;
      entries[entry_count++] = at;
    }
    const bool is_card = strncmp(visible, "GPU-", 4) == 0, is_mig = strncmp(visible, "MIG-", 4) == 0;
    if (!is_card && !is_mig && !is_ordered) return -1;
    size_t good = 0;
    for (; good < entry_count; good++) { /* of the list's kind, and none twice */
      if (is_card || is_mig) {
        if (strncmp(entries[good], visible, 4) != 0) break;
        for (size_t i = 0; i < good; i++)
          if (strcmp(entries[i], entries[good]) == 0) return 0;
      } else {
        if (number_like_strtoul(entries[good]) < 0) break;
        for (size_t i = 0; i < good; i++)
          if (number_like_strtoul(entries[i]) == number_like_strtoul(entries[good])) return 0;
      }
    }
    for (size_t i = 0; i < good; i++) {
      uint32_t unit = VS_DEVICES_NONE;
      if (is_card || is_mig) unit = model_uuid(made, entries[i], is_mig);
      else if ((size_t)number_like_strtoul(entries[i]) < card_count)
        unit = (uint32_t)(cards[number_like_strtoul(entries[i])] - made->infos);
      if (unit == VS_DEVICES_NONE) break;
      for (int k = 0; k < found; k++)
        if (units[k] == unit) return 0;
      units[found++] = unit;
    }
  }

  uint32_t whole[UNITS];
  int wholes = 0;
  for (int i = 0; i < found; i++) {
    const vs_devices_info *info = &made->infos[units[i]];
    if (info->is_mig ||
        (info->is_divided && units[i] + 1 < made->count && made->infos[units[i] + 1].is_mig)) {
      units[0] = info->is_mig ? units[i] : units[i] + 1;
      return 1;
    }
    if (!info->is_divided) whole[wholes++] = units[i];
  }
  memcpy(units, whole, sizeof *whole * (size_t)wholes);
  return wholes;
}

static void test_random_lists(void **state) {
  test_random random = {7};
  uint64_t with_some = 0, unknown = 0, with_mig = 0;
  (void)state;
  for (uint32_t run = 0; run < RUNS; run++) {
    machine made;
    char list[512] = "";
    make_machine(&random, &made);
    const uint32_t kind = (uint32_t)random_below(&random, 3);
    const size_t entries = 1 + random_below(&random, random_below(&random, 4) == 0 ? ENTRIES : 3);
    for (size_t i = 0; i < entries; i++) {
      char entry[32];
      make_entry(&random, &made, kind, entry, sizeof entry);
      snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i == 0 ? "" : ",", entry);
    }
    const char *visible = random_below(&random, 10) == 0 ? NULL : list;
    const char *order = random_below(&random, 2) == 0 ? "PCI_BUS_ID" : NULL;
    uint32_t got[UNITS], wanted[UNITS] = {0};
    const int count = model(&made, visible, order, wanted);
    const vs_visible seen = vs_visible_units(made.infos, made.count, visible, order, got);
    bool is_same = seen.is_known == (count >= 0) && (count < 0 || seen.count == (uint32_t)count);
    for (int i = 0; i < count && is_same; i++) is_same = got[i] == wanted[i];
    if (!is_same)
      fail_msg("run %u: %s order %s on %u units: %u, the model has %d", run,
               visible == NULL ? "(none)" : visible, order == NULL ? "(none)" : order, made.count, seen.count,
               count);
    with_some += count > 1;
    unknown += count < 0;
    with_mig += count == 1 && made.infos[wanted[0]].is_mig;
  }
  assert_true(with_some > RUNS / 20 && unknown > RUNS / 50 &&
              with_mig > RUNS / 50); /* it was about something */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_lists)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
