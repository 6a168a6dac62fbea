/* A PCI id as four numbers: NVML writes eight digits of domain and capitals ("00000000:83:00.0"), CUDA four, Linux
 * four and small letters, people leave the domain out. Texts are therefore never compared. */
#ifndef VS_DEVICES_PCI_H
#define VS_DEVICES_PCI_H

#include "base/text.h"

typedef struct vs_pci {
  bool has_domain; /* else it means any */
  uint32_t domain, bus, device, function;
} vs_pci;

/* [DOMAIN:]BUS:DEVICE[.FUNCTION] in hexadecimal; without a domain there has to be a function, because 0:2 is
 * something else. False: it is none. */
bool vs_pci_parse(vs_str text, vs_pci *pci);

/* Whether both mean one place. */
bool vs_pci_fits(const vs_pci *a, const vs_pci *b);

#endif
