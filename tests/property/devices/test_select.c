/* The selection: every unit answers to every spelling of itself, alone and in random lists, and random bytes give
 * an answer or an error that points into the text. */
#include "support/random.h"
#include "unit/devices/machine.h"

#include <ctype.h>
#include <stdio.h>

enum { LISTS = 4000, NOISE = 40000, UNITS = 8 };

/* In small or capital letters at random. */
static void mix(test_random *random, char *text) {
  for (; *text != 0; text++)
    if (isalpha((unsigned char)*text))
      *text = (char)(random_below(random, 2) == 0 ? toupper((unsigned char)*text)
                                                  : tolower((unsigned char)*text));
}

static bool is_alone(const vs_devices *devices, const char *uuid, size_t size) {
  uint32_t fits = 0;
  for (uint32_t i = 0; i < vs_devices_count(devices); i++)
    fits += strncmp(info_of(devices, i).uuid, uuid, size) == 0;
  return fits == 1;
}

/* One of the ways to write the unit. */
static void spell(test_random *random, const vs_devices *devices, uint32_t unit, char *to, size_t capacity) {
  const vs_devices_info info = info_of(devices, unit),
                        card = info.is_mig ? info_of(devices, info.parent) : info;
  size_t size = 5 + random_below(random, strlen(info.uuid) - 4);
  while (!is_alone(devices, info.uuid, size)) size++;
  switch (random_below(random, info.is_mig ? 3 : 6)) {
    case 0: snprintf(to, capacity, "%s", info.uuid); break;
    case 1: snprintf(to, capacity, "%.*s", (int)size, info.uuid); break;
    case 2:
      if (!info.is_mig) snprintf(to, capacity, "%u", info.index);
      else if (random_below(random, 2) == 0) snprintf(to, capacity, "%u:%u", info.index, info.mig_index);
      else snprintf(to, capacity, "MIG-%s/%u/%u", card.uuid, info.gpu_instance, info.compute_instance);
      break;
    case 3: snprintf(to, capacity, "%s", info.bus_id); break;
    case 4: snprintf(to, capacity, "%x:%x:%x", info.pci_domain, info.pci_bus, info.pci_device); break;
    default: snprintf(to, capacity, "%s", info.serial);
  }
  mix(random, to);
}

static void test_spellings(void **state) {
  test_random random = {3};
  (void)state;
  vs_devices *devices = open_machine("mixed", (vs_devices_options){0});
  for (uint32_t run = 0; run < LISTS; run++) {
    char list[1024] = "";
    uint32_t wanted[UNITS], got[UNITS], wanted_count = 0;
    size_t count;
    vs_error error;
    for (uint64_t entries = 1 + random_below(&random, 7); entries != 0; entries--) {
      const uint32_t unit = (uint32_t)random_below(&random, vs_devices_count(devices));
      char entry[160];
      spell(&random, devices, unit, entry, sizeof entry);
      snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s%s", list[0] == 0 ? "" : ",",
               random_below(&random, 4) == 0 ? " " : "", entry);
      bool is_new = true;
      for (uint32_t i = 0; i < wanted_count; i++) is_new &= wanted[i] != unit;
      if (is_new) wanted[wanted_count++] = unit;
    }
    if (vs_devices_select(devices, list, got, UNITS, &count, &error) != VS_OK)
      fail_msg("%s: %s", list, error.text);
    if (count != wanted_count || memcmp(got, wanted, count * sizeof *got) != 0)
      fail_msg("%s: other units", list);
  }
  vs_devices_close(devices);
}

static void test_noise(void **state) {
  static const char *const pieces[] = {
      "0",  "1", "2",    "7",     ":",    ".",        ",",       "-",   "/",        " ",    "GPU-", "gpu-a",
      "83", "f", "MIG-", "cuda:", "cuda", "MIG-GPU-", "a1b2c3d", "all", "00000000", "\x1b", "x",    "\xff"};
  test_random random = {4};
  uint64_t good = 0;
  (void)state;
  vs_devices *devices = open_machine("mixed", (vs_devices_options){0});
  for (uint32_t run = 0; run < NOISE; run++) {
    char text[160] = "";
    uint32_t got[UNITS];
    size_t count;
    vs_error error = {.offset = VS_NO_OFFSET};
    for (uint64_t left = random_below(&random, 9); left != 0; left--)
      strcat(text, pieces[random_below(&random, sizeof pieces / sizeof *pieces)]);
    const vs_status status = vs_devices_select(devices, text, got, UNITS, &count, &error);
    if (status == VS_OK) {
      good++;
      assert_true(count >= 1 && count <= vs_devices_count(devices));
      for (size_t i = 0; i < count; i++) assert_true(got[i] < vs_devices_count(devices));
      continue;
    }
    assert_true(status == VS_NOT_FOUND || status == VS_BAD_ARGUMENT || status == VS_UNSUPPORTED);
    assert_true(error.offset <= strlen(text) && error.text[0] != 0 && count == 0);
    for (const char *at = error.text; *at != 0; at++) assert_false((unsigned char)*at < 32); /* printable */
  }
  assert_true(good > NOISE / 100);
  vs_devices_close(devices);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spellings),
      cmocka_unit_test(test_noise),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
