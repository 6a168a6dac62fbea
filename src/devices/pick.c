/* Which units a program should use: those with the most free memory. */
#include "base/check.h"
#include "base/human.h"
#include "base/sized.h"
#include "devices/state.h"

enum { MOST = 512 };

typedef struct picking {
  vs_devices *devices;
  const vs_devices_wish *wish;
  size_t wanted;
  uint32_t among[MOST];
  size_t among_count;  /* 0: all */
  uint32_t best[MOST]; /* by falling free memory */
  uint64_t free[MOST]; /* of these */
  size_t count;
  uint32_t seen;         /* units on which a program could run, also with too little free memory */
  uint32_t fullest_unit; /* of these the one with the most free memory */
  uint64_t most;
} picking;

static bool is_named(const picking *p, uint32_t unit) {
  if (p->among_count == 0) return true;
  const uint32_t parent = p->devices->units.data[unit].parent;
  for (size_t i = 0; i < p->among_count; i++)
    if (p->among[i] == unit || p->among[i] == parent) return true;
  return false;
}

/* A process can use one MIG device, so several units are whole cards. */
static bool is_candidate(const picking *p, uint32_t unit) {
  const vs_devices_info *info = &p->devices->units.data[unit];
  if (info->is_divided || info->cuda_index.reason == VS_REASON_NOT_VISIBLE) return false;
  return (!info->is_mig || p->wanted == 1) && is_named(p, unit);
}

/* Of units with equally much the first stays before the others. */
static void insert(picking *p, uint32_t unit, uint64_t bytes) {
  size_t at = p->count < MOST ? p->count++ : MOST - 1;
  for (; at > 0 && p->free[at - 1] < bytes; at--) {
    p->free[at] = p->free[at - 1];
    p->best[at] = p->best[at - 1];
  }
  p->free[at] = bytes;
  p->best[at] = unit;
}

static vs_status look(picking *p) {
  for (uint32_t unit = 0; unit < vs_devices_count(p->devices); unit++) {
    vs_devices_memory memory;
    if (!is_candidate(p, unit)) continue;
    VS_TRY(vs_devices_memory_of(p->devices, unit, false, &memory));
    if (!vs_metric_is_known(memory.free)) continue;
    const uint64_t bytes = memory.free.value;
    if (p->seen++ == 0 || bytes > p->most) p->most = bytes, p->fullest_unit = unit;
    if (bytes >= p->wish->free_bytes) insert(p, unit, bytes);
  }
  return VS_OK;
}

static vs_status name_them(picking *p, vs_error *error) {
  if (p->wish->among == NULL) return VS_OK;
  VS_TRY(vs_devices_select(p->devices, p->wish->among, p->among, MOST, &p->among_count, error));
  if (p->among_count > MOST) p->among_count = MOST;
  return VS_OK;
}

/* Which units are hidden has to be known. If the variables do not tell, CUDA's driver is asked if the caller allows it. */
static vs_status learn_hidden(vs_devices *devices, vs_error *error) {
  vs_error why;
  if (devices->options.visible == NULL || !vs_devices__needs_cuda(devices)) return VS_OK;
  if (devices->options.may_ask_cuda && vs_devices_ask_cuda(devices, &why) == VS_OK) return VS_OK;
  return vs_fail(
      error, VS_UNSUPPORTED, VS_NO_OFFSET,
      "only CUDA's driver knows which GPUs CUDA_VISIBLE_DEVICES names, because it orders the fastest GPU "
      "first: set CUDA_DEVICE_ORDER=PCI_BUS_ID");
}

enum { SIZE_TEXT = 32 };

static void size_text(const vs_devices *devices, uint64_t bytes, char to[static SIZE_TEXT]) {
  vs_text text;
  vs_text_init(&text, devices->options.host, NULL);
  vs_text_bytes(&text, bytes, VS_UNIT_BINARY);
  vs_format(to, SIZE_TEXT, "%S", vs_text_view(&text));
  vs_text_deinit(&text);
}

static bool has_mig(const vs_devices *devices) {
  for (size_t i = 0; i < devices->units.count; i++)
    if (devices->units.data[i].is_mig) return true;
  return false;
}

static vs_status too_few(const picking *p, vs_error *error) {
  char size[SIZE_TEXT], most[SIZE_TEXT];
  const char *visible = p->devices->options.visible;
  if (p->seen == 0 && p->wanted > 1 && has_mig(p->devices))
    return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET,
                   "there is no whole GPU to choose from, and a process can use only one MIG device");
  if (p->seen == 0)
    return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "there is no GPU to choose from%s%s%s",
                   visible == NULL ? "" : ": CUDA_VISIBLE_DEVICES is \"", visible == NULL ? "" : visible,
                   visible == NULL ? "" : "\"");
  size_text(p->devices, p->wish->free_bytes, size);
  size_text(p->devices, p->most, most);
  if (p->wish->free_bytes == 0)
    return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "%U GPUs were requested, and there %s %u",
                   (uint64_t)p->wanted, p->seen == 1 ? "is" : "are", p->seen);
  if (p->count == 0)
    return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "no GPU has %s free; GPU %u has the most, %s", size,
                   p->devices->units.data[p->fullest_unit].index, most);
  return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET, "%U GPUs with %s free were requested, and there %s %U",
                 (uint64_t)p->wanted, size, p->count == 1 ? "is" : "are", (uint64_t)p->count);
}

static vs_status pick(picking *p, uint32_t *units, vs_error *error) {
  if (p->wanted > MOST)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "at most %d GPUs can be chosen", MOST);
  VS_TRY(learn_hidden(p->devices, error));
  VS_TRY(name_them(p, error));
  const vs_status status = look(p);
  if (status != VS_OK) return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  if (p->count < p->wanted) return too_few(p, error);
  for (size_t i = 0; i < p->wanted; i++) units[i] = p->best[i];
  VS_ASSERT(p->free[p->wanted - 1] >= p->wish->free_bytes);
  return VS_OK;
}

vs_status vs_devices_pick_sized(vs_devices *devices, const vs_devices_wish *wish, size_t size,
                                uint32_t *units, vs_error *error) {
  vs_devices_wish own;
  VS_TRY(vs_sized_take(&own, sizeof own, wish, size, error));
  picking p = {.devices = devices, .wish = &own, .wanted = own.count == 0 ? 1 : own.count};
  return pick(&p, units, error);
}
