/* What the functions of the fake NVML have in common: the machine, how each begins, and how it answers. */
#ifndef VS_FAKE_FAKE_H
#define VS_FAKE_FAKE_H

#include "device/abi/nvml_types.h"
#include "scenario.h"

#include <stddef.h>

#define VS_NVML(name, parameters) __attribute__((visibility("default"))) nvmlReturn_t name parameters;
#include "device/nvml/nvml_api.def"
#undef VS_NVML

extern fake_scenario fake_machine;

/* Reads the scenario where it changed, takes its time, and answers what the scenario wants this function to. */
nvmlReturn_t fake_enter(const char *function, bool needs_init);

/* events.c: takes over the errors of a scenario that was read, and forgets which were told. The lock of the machine is held. */
void fake_events_take(void);
void fake_events_forget(void);
/* The machine's lock. A thread that makes a set of events never reads a scenario again: it only waits while others ask. */
void fake_lock(bool is_taken);
void fake_never_refresh(void);

/* Finds the card of a handle. A card with `lost = 15` answers everything with that. */
nvmlReturn_t fake_card_of(const char *function, nvmlDevice_t device, fake_card **card);

/* The value of a key, or the code that it has in place of one. */
nvmlReturn_t fake_put_text(fake_card *card, const char *key, char *to, size_t size);
nvmlReturn_t fake_put_uint(fake_card *card, const char *key, unsigned int *to);
nvmlReturn_t fake_put_ulong(fake_card *card, const char *key, unsigned long long *to);

#define TRY(expression)                                       \
  do {                                                        \
    const nvmlReturn_t try_code = (nvmlReturn_t)(expression); \
    if (try_code != NVML_SUCCESS) return try_code;            \
  } while (0)

/* Begins a function of a card. */
#define CARD       \
  fake_card *card; \
  TRY(fake_card_of(__func__, device, &card))

#define NEED_VERSION(pointer, type, number) \
  if ((pointer)->version != VS_NVML_VERSION(type, number)) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH

#endif
