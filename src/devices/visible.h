/* Which units CUDA offers to a process, and in which order: what CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER mean.
 *
 * The rule, as the CUDA programming guide ("environment variables") and the MIG user guide tell it, and as PyTorch
 * found it by trying (torch.cuda._parse_visible_devices):
 *   - not set: every card. Set to "": none.
 *   - The list is one of numbers or, where it begins with "GPU-" or "MIG-", one of such UUIDs, which may be cut
 *     short as long as they mean one unit. MIG-GPU-<UUID>/<GI>/<CI> is the old way to write a MIG device.
 *   - The first entry that means nothing ends the list. An entry that comes twice hides everything.
 *   - Of a number only the beginning counts ("1gpu" is 1), and blanks around it do not.
 *   - Numbers count the cards by PCI id where CUDA_DEVICE_ORDER is PCI_BUS_ID, else the fastest first, which only
 *     the driver knows. Cards of one name are taken to be equally fast and in the order of their PCI ids.
 *   - A divided card stands for its first MIG device. One MIG device hides all else, other MIG devices too. */
#ifndef VS_DEVICES_VISIBLE_H
#define VS_DEVICES_VISIBLE_H

#include <vramscope/devices.h>

typedef struct vs_visible {
  bool is_known;  /* false: only the driver knows */
  uint32_t count; /* units that CUDA offers; of them the n-th is `units[n]` */
} vs_visible;

/* `visible` and `order` are the variables, NULL where they are not set. `units` has room for `count` numbers. */
vs_visible vs_visible_units(const vs_devices_info *infos, uint32_t count, const char *visible,
                            const char *order, uint32_t *units);

/* How an entry of either kind is matched, for the selection too. `is_mig`: among MIG devices, else among whole
 * cards. Letters count as they are unless `any_case`. VS_DEVICES_NONE: none fits, or (*is_ambiguous) more than one. */
uint32_t vs_unit_with_prefix(const vs_devices_info *infos, uint32_t count, vs_str prefix, bool is_mig,
                             bool any_case, bool *is_ambiguous);

/* MIG-GPU-<UUID>/<GI>/<CI>; VS_DEVICES_NONE: it is none, or there is no such device. */
uint32_t vs_unit_with_old_mig(const vs_devices_info *infos, uint32_t count, vs_str text, bool any_case);

#endif
