/* A PCI id as four numbers. Its texts are never compared, because they differ: NVML writes eight digits of domain in
 * capitals ("00000000:83:00.0"), CUDA four, Linux four in small letters, and users omit the domain. */
#ifndef VS_DEVICES_PCI_H
#define VS_DEVICES_PCI_H

#include "base/text.h"

typedef struct vs_pci {
  bool has_domain; /* false: any domain */
  uint32_t domain, bus, device, function;
} vs_pci;

/* Reads [DOMAIN:]BUS:DEVICE[.FUNCTION] in hexadecimal; false if the text has another form. Without a domain the function is
 * required, because 0:2 is a MIG device. */
bool vs_pci_parse(vs_str text, vs_pci *pci);

/* Whether both can be the same place. */
bool vs_pci_fits(const vs_pci *a, const vs_pci *b);

#endif
