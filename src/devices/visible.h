/* Which units CUDA offers to a process, and in which order: the meaning of CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER.
 *
 * The rule follows the CUDA programming guide ("environment variables"), the MIG user guide, and PyTorch's observations
 * (torch.cuda._parse_visible_devices):
 *   - not set: every card. Set to "": none.
 *   - The list has numbers or, if it begins with "GPU-" or "MIG-", such UUIDs, which may be shortened as long as only one
 *     unit matches. MIG-GPU-<UUID>/<GI>/<CI> is the old form of a MIG device.
 *   - The first entry that matches no unit ends the list. An entry that occurs twice hides every unit.
 *   - Only the digits at the beginning of a number count ("1gpu" is 1); blanks around it are ignored.
 *   - Numbers count the cards by PCI id if CUDA_DEVICE_ORDER is PCI_BUS_ID, else by speed, the fastest first, which only
 *     the driver knows. Cards with the same name are assumed to be equally fast and in the order of their PCI ids.
 *   - A divided card stands for its first MIG device. One MIG device hides all other units, other MIG devices too. */
#ifndef VS_DEVICES_VISIBLE_H
#define VS_DEVICES_VISIBLE_H

#include <vramscope/devices.h>

typedef struct vs_visible {
  bool is_known;  /* false: only the driver knows */
  uint32_t count; /* units that CUDA offers; CUDA's number n is units[n] */
} vs_visible;

/* `visible` and `order` are the variables, NULL if they are not set. `units` has space for `count` numbers. */
vs_visible vs_visible_units(const vs_devices_info *infos, uint32_t count, const char *visible,
                            const char *order, uint32_t *units);

/* The unit whose UUID begins with `prefix`, among the MIG devices if `is_mig`, else among the whole cards; used by
 * vs_devices_select too. Case counts unless `any_case`. VS_DEVICES_NONE: no unit matches, or (*is_ambiguous) several do. */
uint32_t vs_unit_with_prefix(const vs_devices_info *infos, uint32_t count, vs_str prefix, bool is_mig,
                             bool any_case, bool *is_ambiguous);

/* The unit of MIG-GPU-<UUID>/<GI>/<CI>; VS_DEVICES_NONE if the text has another form or there is no such device. */
uint32_t vs_unit_with_old_mig(const vs_devices_info *infos, uint32_t count, vs_str text, bool any_case);

#endif
