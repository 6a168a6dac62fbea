/* XID errors as events: a scenario lists them, and each is told once. A lost card ends every wait, as that of a real driver does. */
#include "fake.h"

#include <stdlib.h>
#include <time.h>

struct nvmlEventSet_st {
  bool has[MOST_CARDS];
};

/* What waiting threads read, under the machine's lock: the scenario itself changes under them. */
static struct {
  uint32_t xids[MOST_EVENTS], count, told;
  int lost; /* the code of a lost card; 0 */
} cards[MOST_CARDS];

void fake_events_take(void) {
  for (uint32_t i = 0; i < MOST_CARDS; i++) {
    uint64_t lost = 0;
    const bool is_there = i < fake_machine.card_count;
    cards[i].count = is_there ? fake_machine.cards[i].xid_count : 0;
    cards[i].lost = is_there && fake_number(&fake_machine.cards[i], "lost", &lost) == 0 ? (int)lost : 0;
    for (uint32_t k = 0; k < cards[i].count; k++) cards[i].xids[k] = fake_machine.cards[i].xids[k];
  }
}

void fake_events_forget(void) {
  for (uint32_t i = 0; i < MOST_CARDS; i++) cards[i].told = 0;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set) {
  fake_never_refresh();
  TRY(fake_enter(__func__, true));
  *set = calloc(1, sizeof **set);
  return *set == NULL ? NVML_ERROR_MEMORY : NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) {
  TRY(fake_enter(__func__, true));
  free(set);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set) {
  CARD;
  if (card->parent != NULL || (types & ~(unsigned long long)VS_NVML_EVENT_XID) != 0)
    return NVML_ERROR_NOT_SUPPORTED;
  set->has[card - fake_machine.cards] = true;
  return NVML_SUCCESS;
}

/* An error that is to be told, or the code of a lost card, or NVML_ERROR_TIMEOUT. */
static nvmlReturn_t look(nvmlEventSet_t set, nvmlEventData_t *data) {
  nvmlReturn_t found = NVML_ERROR_TIMEOUT;
  fake_lock(true);
  for (uint32_t i = 0; i < MOST_CARDS && found != NVML_SUCCESS; i++) {
    if (!set->has[i]) continue;
    if (cards[i].told < cards[i].count) {
      *data = (nvmlEventData_t){.device = (nvmlDevice_t)(void *)&fake_machine.cards[i],
                                .eventType = VS_NVML_EVENT_XID,
                                .eventData = cards[i].xids[cards[i].told++],
                                .gpuInstanceId = UINT32_MAX,
                                .computeInstanceId = UINT32_MAX};
      found = NVML_SUCCESS;
    } else if (cards[i].lost != 0) {
      found = (nvmlReturn_t)cards[i].lost;
    }
  }
  fake_lock(false);
  return found;
}

static nvmlReturn_t wait_for(const char *function, nvmlEventSet_t set, nvmlEventData_t *data,
                             unsigned int milliseconds) {
  enum { STEP_MS = 5 };
  TRY(fake_enter(function, true));
  nvmlReturn_t found = look(set, data);
  for (unsigned int waited = 0; found == NVML_ERROR_TIMEOUT && waited < milliseconds; waited += STEP_MS) {
    nanosleep(&(struct timespec){0, STEP_MS * 1000000}, NULL);
    found = look(set, data);
  }
  return found;
}
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int milliseconds) {
  return wait_for(__func__, set, data, milliseconds);
}
nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int milliseconds) {
  return wait_for(__func__, set, data, milliseconds);
}
