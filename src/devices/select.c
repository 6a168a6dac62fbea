/* The grammar in which users name cards; include/vramscope/devices.h describes it. Each form has one function that finds
 * the unit of an entry or reports why there is none; find() chooses the function. */
#include "devices/pci.h"
#include "devices/state.h"
#include "devices/visible.h"
#include "base/nearest.h"

enum { VS_GUESS = 48 };

/* One entry of the list, and its offset in the whole text. */
typedef struct vs_choice {
  vs_devices *devices;
  vs_str text;
  uint64_t offset;
  vs_error *error;
} vs_choice;

static bool is_digits(vs_str text) {
  for (size_t i = 0; i < text.size; i++)
    if (text.data[i] < '0' || text.data[i] > '9') return false;
  return text.size != 0;
}

static char small(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* Compares without regard to case; `with` is in small letters. */
static bool begins(vs_str text, vs_str with) {
  if (text.size < with.size) return false;
  for (size_t i = 0; i < with.size; i++)
    if (small(text.data[i]) != with.data[i]) return false;
  return true;
}

static bool is_same(vs_str text, const char *other) {
  const size_t size = strlen(other);
  if (text.size != size) return false;
  for (size_t i = 0; i < size; i++)
    if (small(text.data[i]) != small(other[i])) return false;
  return true;
}

static vs_str behind(vs_str text, size_t count) {
  VS_ASSERT(count <= text.size);
  return (vs_str){text.data + count, text.size - count};
}

/* ---- errors, with a guess at what the user meant */

static uint32_t card_count(const vs_devices *devices) {
  uint32_t count = 0;
  for (size_t i = 0; i < devices->units.count; i++) count += !devices->units.data[i].is_mig;
  return count;
}

/* The known name that is nearest to the entry, without regard to case. */
typedef struct vs_guess {
  vs_nearest nearest;
  char typed[VS_GUESS], shown[VS_GUESS]; /* shown: the best name so far, "" if there is none */
} vs_guess;

static void lower(char to[static VS_GUESS], vs_str text) {
  VS_ASSERT(text.data != NULL || text.size == 0);
  const size_t size = text.size < VS_GUESS ? text.size : VS_GUESS - 1;
  for (size_t i = 0; i < size; i++) to[i] = small(text.data[i]);
  to[size] = 0;
}

static void offer(vs_guess *guess, vs_str known) {
  char low[VS_GUESS];
  vs_nearest tried = guess->nearest;
  if (known.size == 0 || known.size >= VS_GUESS) return;
  lower(low, known);
  vs_nearest_offer(&tried, vs_str_from(low));
  if (tried.distance >= guess->nearest.distance) return;
  guess->nearest.distance = tried.distance;
  memcpy(guess->shown, known.data, known.size);
  guess->shown[known.size] = 0;
}

/* Offers the whole UUID, and its beginning of the length that was typed if no other unit has the same beginning. */
static void offer_uuid(vs_guess *guess, const vs_devices *devices, const vs_devices_info *info) {
  bool is_ambiguous;
  const vs_str whole = vs_str_from(info->uuid), part = {info->uuid, guess->nearest.typed.size};
  offer(guess, whole);
  if (part.size >= whole.size) return;
  (void)vs_unit_with_prefix(devices->units.data, vs_devices_count(devices), part, info->is_mig, false,
                            &is_ambiguous);
  if (!is_ambiguous) offer(guess, part);
}

/* Offers the PCI id as NVML writes it, with four digits of domain as CUDA and Linux write it, and without a domain. */
static void offer_place(vs_guess *guess, const vs_devices_info *info) {
  const vs_str whole = vs_str_from(info->bus_id);
  offer(guess, whole);
  if (whole.size != sizeof "00000000:00:00.0" - 1) return;
  offer(guess, behind(whole, 4));
  offer(guess, behind(whole, 9));
}

static void offer_numbers(vs_guess *guess, const vs_devices_info *info) {
  char text[VS_GUESS];
  if (info->is_mig) {
    vs_format(text, sizeof text, "%u:%u", info->index, info->mig_index);
    offer(guess, vs_str_from(text));
  }
  if (!vs_metric_is_known(info->cuda_index)) return;
  vs_format(text, sizeof text, "cuda:%U", info->cuda_index.value);
  offer(guess, vs_str_from(text));
}

/* There is no guess for a number: every other number is similar to it. */
static void make_guess(const vs_choice *choice, vs_guess *guess) {
  const vs_devices *devices = choice->devices;
  guess->shown[0] = 0;
  lower(guess->typed, choice->text);
  guess->nearest = vs_nearest_to(vs_str_from(guess->typed));
  for (size_t i = 0; i < devices->units.count && !is_digits(choice->text); i++) {
    const vs_devices_info *info = &devices->units.data[i];
    offer_uuid(guess, devices, info);
    if (!info->is_mig) offer_place(guess, info);
    if (!info->is_mig) offer(guess, vs_str_from(info->serial));
    offer_numbers(guess, info);
  }
  if (!is_digits(choice->text)) offer(guess, VS_STR("all"));
}

static vs_status none_found(const vs_choice *choice) {
  vs_guess guess;
  make_guess(choice, &guess);
  const uint32_t cards = card_count(choice->devices);
  if (cards == 0)
    return vs_fail(choice->error, VS_NOT_FOUND, choice->offset, "no GPU is called \"%S\": none is here",
                   choice->text);
  if (guess.shown[0] != 0)
    return vs_fail(choice->error, VS_NOT_FOUND, choice->offset,
                   "no GPU is called \"%S\"; did you mean \"%s\"?", choice->text, guess.shown);
  if (cards == 1)
    return vs_fail(choice->error, VS_NOT_FOUND, choice->offset,
                   "no GPU is called \"%S\": the only one here is 0", choice->text);
  return vs_fail(choice->error, VS_NOT_FOUND, choice->offset,
                 "no GPU is called \"%S\": %u here, numbers 0 to %u", choice->text, cards, cards - 1);
}

static vs_status too_many(const vs_choice *choice, const char *of_what) {
  return vs_fail(choice->error, VS_BAD_ARGUMENT, choice->offset,
                 "more than one GPU fits \"%S\": write more of %s", choice->text, of_what);
}

/* ---- one function for each form */

static vs_status by_number(const vs_choice *choice, uint32_t *unit) {
  uint64_t number;
  const bool fits = vs_parse_u64(choice->text, &number);
  const vs_devices *devices = choice->devices;
  for (uint32_t i = 0; i < devices->units.count && fits; i++)
    if (!devices->units.data[i].is_mig && devices->units.data[i].index == number) {
      *unit = i;
      return VS_OK;
    }
  return VS_NOT_FOUND;
}

static vs_status by_serial(const vs_choice *choice, uint32_t *unit) {
  const vs_devices *devices = choice->devices;
  for (uint32_t i = 0; i < devices->units.count; i++)
    if (!devices->units.data[i].is_mig && is_same(choice->text, devices->units.data[i].serial)) {
      *unit = i;
      return VS_OK;
    }
  return none_found(choice);
}

/* A MIG device as CARD:SLOT. */
static vs_status by_mig_number(const vs_choice *choice, size_t colon, uint32_t *unit) {
  const vs_devices *devices = choice->devices;
  const vs_choice card_choice = {choice->devices, {choice->text.data, colon}, choice->offset, choice->error};
  uint64_t slot;
  uint32_t card;
  if (by_number(&card_choice, &card) != VS_OK) return none_found(choice);
  if (!vs_parse_u64(behind(choice->text, colon + 1), &slot)) return none_found(choice);
  for (uint32_t i = card + 1; i < devices->units.count; i++)
    if (devices->units.data[i].parent == card && devices->units.data[i].mig_index == slot) {
      *unit = i;
      return VS_OK;
    }
  if (!devices->units.data[card].is_divided)
    return vs_fail(choice->error, VS_NOT_FOUND, choice->offset, "GPU %S has no MIG devices: MIG is off",
                   card_choice.text);
  return vs_fail(choice->error, VS_NOT_FOUND, choice->offset, "GPU %S has no MIG device %U", card_choice.text,
                 slot);
}

static vs_status by_uuid(const vs_choice *choice, bool is_mig, uint32_t *unit) {
  const vs_devices *devices = choice->devices;
  const uint32_t count = vs_devices_count(devices);
  bool is_ambiguous = false;
  if (begins(choice->text, VS_STR("mig-gpu-")))
    *unit = vs_unit_with_old_mig(devices->units.data, count, choice->text, true);
  else *unit = vs_unit_with_prefix(devices->units.data, count, choice->text, is_mig, true, &is_ambiguous);
  if (is_ambiguous) return too_many(choice, "the UUID");
  return *unit == VS_DEVICES_NONE ? none_found(choice) : VS_OK;
}

static vs_status by_place(const vs_choice *choice, const vs_pci *place, uint32_t *unit) {
  const vs_devices *devices = choice->devices;
  *unit = VS_DEVICES_NONE;
  for (uint32_t i = 0; i < devices->units.count; i++) {
    const vs_devices_info *info = &devices->units.data[i];
    const vs_pci other = {true, info->pci_domain, info->pci_bus, info->pci_device, info->pci_function};
    if (info->is_mig || info->bus_id[0] == 0 || !vs_pci_fits(place, &other)) continue;
    if (*unit != VS_DEVICES_NONE) return too_many(choice, "the PCI id, with its domain");
    *unit = i;
  }
  return *unit == VS_DEVICES_NONE ? none_found(choice) : VS_OK;
}

/* The unit with one of CUDA's numbers. CUDA's driver is asked only if the variables do not determine the numbers and the
 * caller allows it. */
static vs_status by_cuda(const vs_choice *choice, uint32_t *unit) {
  vs_devices *devices = choice->devices;
  uint64_t number;
  if (!vs_parse_u64(behind(choice->text, 5), &number)) return none_found(choice);
  if (vs_devices__needs_cuda(devices) && !devices->has_cuda_numbers) {
    if (!devices->options.may_ask_cuda)
      return vs_fail(choice->error, VS_UNSUPPORTED, choice->offset,
                     "only CUDA's driver knows \"%S\", because it orders the fastest GPU first: set "
                     "CUDA_DEVICE_ORDER=PCI_BUS_ID, or name the GPU in another way",
                     choice->text);
    if (vs_devices_ask_cuda(devices, choice->error) != VS_OK) {
      choice->error->offset = choice->offset; /* the text already says why the numbers are unknown */
      return choice->error->status = VS_UNSUPPORTED;
    }
  }
  *unit = number < devices->by_cuda.count ? devices->by_cuda.data[number] : VS_DEVICES_NONE;
  if (*unit != VS_DEVICES_NONE) return VS_OK;
  const size_t count = devices->by_cuda.count;
  const char *visible = devices->options.visible;
  return vs_fail(choice->error, VS_NOT_FOUND, choice->offset,
                 "there is no \"%S\": CUDA offers %U GPU%s to this process%s%S", choice->text,
                 (uint64_t)count, count == 1 ? "" : "s", visible == NULL ? "" : ", CUDA_VISIBLE_DEVICES is ",
                 visible == NULL ? VS_STR("") : vs_str_from(visible));
}

static vs_status find(const vs_choice *choice, uint32_t *unit) {
  const vs_str text = choice->text;
  size_t colon = 0;
  vs_pci place;
  if (begins(text, VS_STR("cuda:"))) return by_cuda(choice, unit);
  if (begins(text, VS_STR("gpu-"))) return by_uuid(choice, false, unit);
  if (begins(text, VS_STR("mig-"))) return by_uuid(choice, true, unit);
  while (colon < text.size && text.data[colon] != ':') colon++;
  if (is_digits((vs_str){text.data, colon}) && colon < text.size && is_digits(behind(text, colon + 1)))
    return by_mig_number(choice, colon, unit);
  if (vs_pci_parse(text, &place)) return by_place(choice, &place, unit);
  if (by_number(choice, unit) == VS_OK) return VS_OK;
  return by_serial(choice, unit);
}

/* ---- the list */

typedef struct vs_chosen {
  uint32_t *units;
  size_t capacity, count;
  VS_VEC(bool) taken; /* one for each unit: already chosen */
} vs_chosen;

static void choose(vs_chosen *chosen, uint32_t unit) {
  VS_ASSERT(unit < chosen->taken.capacity);
  if (chosen->taken.data[unit]) return;
  chosen->taken.data[unit] = true;
  if (chosen->count < chosen->capacity) chosen->units[chosen->count] = unit;
  chosen->count++;
}

static void choose_all(const vs_devices *devices, vs_chosen *chosen) {
  for (uint32_t i = 0; i < devices->units.count; i++)
    if (!devices->units.data[i].is_mig) choose(chosen, i);
}

static vs_status choose_entry(vs_choice *choice, vs_chosen *chosen) {
  uint32_t unit = VS_DEVICES_NONE;
  if (choice->text.size == 0)
    return vs_fail(choice->error, VS_BAD_ARGUMENT, choice->offset, "a GPU is missing between commas");
  if (is_same(choice->text, "all")) {
    choose_all(choice->devices, chosen);
    return VS_OK;
  }
  VS_TRY(find(choice, &unit));
  choose(chosen, unit);
  return VS_OK;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static vs_status choose_list(vs_devices *devices, const char *text, vs_chosen *chosen, vs_error *error) {
  for (size_t at = 0;;) {
    size_t end = at;
    while (text[end] != 0 && text[end] != ',') end++;
    size_t first = at, last = end;
    while (first < last && is_blank(text[first])) first++;
    while (last > first && is_blank(text[last - 1])) last--;
    vs_choice choice = {devices, {text + first, last - first}, first, error};
    VS_TRY(choose_entry(&choice, chosen));
    if (text[end] == 0) return VS_OK;
    at = end + 1;
  }
}

/* Reads the list twice: the first time without storing, so that `units` is unchanged if an entry is wrong. */
vs_status vs_devices_select(vs_devices *devices, const char *text, uint32_t *units, size_t capacity,
                            size_t *count, vs_error *error) {
  vs_error unwanted;
  if (error == NULL) error = &unwanted;
  *count = 0;
  vs_chosen chosen = {.units = units};
  const size_t total = devices->units.count;
  if (vs_vec_reserve(devices->host, &chosen.taken, total) != VS_OK)
    return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
  vs_status status = VS_OK;
  for (uint32_t round = 0; round < 2 && status == VS_OK; round++) {
    chosen.capacity = round == 0 ? 0 : capacity;
    chosen.count = 0;
    if (total != 0) memset(chosen.taken.data, 0, total * sizeof *chosen.taken.data);
    status = choose_list(devices, text == NULL ? "all" : text, &chosen, error);
  }
  if (status == VS_OK) *count = chosen.count;
  vs_vec_free(devices->host, &chosen.taken);
  return status;
}

uint32_t vs_devices_with_uuid(const vs_devices *devices, const char *uuid) {
  for (uint32_t i = 0; i < devices->units.count && uuid[0] != 0; i++)
    if (is_same(vs_str_from(uuid), devices->units.data[i].uuid)) return i;
  return VS_DEVICES_NONE;
}
