/* Properties of a card beyond its figures, in one place, so that the driver, the runtime and NVML agree. */
#ifndef VS_SIMCUDA_ATTRIBUTES_H
#define VS_SIMCUDA_ATTRIBUTES_H

#include "faces/simcuda/core/process.h"

/* The CUDA version of the simulated driver and of the newest simulated runtime: 1000 * major + 10 * minor. */
enum { VS_SIMCUDA_DRIVER_VERSION = 13020 };

/* An attribute of a visible device; numbers as in attributes.def. Needs no context.
 * Fails: VS_SIM_INVALID_DEVICE, VS_SIM_INVALID_VALUE (a number that no driver of this version knows) */
VS_SIMCUDA_API vs_sim_error vs_simcuda_attribute(uint32_t device, uint32_t number, int32_t *value);

/* The following are for a card of the machine, not for a visible device. */

/* Its bus in PCI domain 0; it is device 0 there. */
static inline uint32_t vs_card_bus(uint32_t card) { return card + 1; }
/* PCI device and vendor in one word, as PCI has them. */
static inline uint32_t vs_card_pci_device(const vs_sim_figures *figures) {
  return figures->pci_device << 16 | (figures->pci_device != 0 ? 0x10de : 0);
}
/* Data-centre cards have half as many double-precision units as single-precision ones, and ECC that is always
 * on. */
static inline bool vs_card_is_for_data_centres(const vs_sim_figures *figures) {
  const uint32_t major = figures->compute_major;
  return major == 10 || (figures->compute_minor == 0 && major >= 6 && major <= 9);
}
static inline bool vs_card_has_ecc(const vs_sim_figures *figures) {
  return vs_card_is_for_data_centres(figures);
}
/* 16 bytes, which begin with the letters "simulated". */
static inline void vs_card_uuid(uint32_t card, uint8_t uuid[static 16]) {
  static const char word[] = "simulated";
  for (uint32_t i = 0; i < 16; i++) uuid[i] = i < sizeof(word) ? (uint8_t)word[i] : 0;
  uuid[15] = (uint8_t)card;
}

#endif
