/* What there is to know of each card before a program runs on it: the rows of gpus.def, with the limits that
 * follow from the compute capability. Names and figures are those that a driver reports; where they come
 * from stands beside each row.
 *
 * And how people name a card: "H100", "A100 40GB", "24GiB", "RTX4090:20GiB", "2xH100,L4". */
#ifndef VS_DEVICE_SIM_PROFILE_H
#define VS_DEVICE_SIM_PROFILE_H

#include "base/text.h"

/* Granularity of device memory: what a card gives out, and what virtual memory is mapped in. */
#define VS_SIM_GRANULE (UINT64_C(2) << 20)

/* No card is larger than that: addresses are made for it. */
#define VS_SIM_MOST_TOTAL (UINT64_C(1) << 40)

enum { VS_SIM_MAX_DEVICES = 8 };

/* The numbers of a card. Plain values: they are copied into the shared node. */
typedef struct vs_sim_figures {
  uint64_t total_bytes;      /* what CUDA reports as total memory: properties and memory info alike */
  uint64_t nvml_total_bytes; /* what NVML and nvidia-smi report; the difference is the driver's own */
  uint64_t l2_bytes;
  uint32_t compute_major, compute_minor;
  uint32_t sm_count;
  uint32_t core_khz, memory_khz, bus_bits;
  uint32_t pci_device; /* of vendor 0x10de; 0: not known */
  /* From here on by compute capability. */
  uint32_t threads_per_sm, blocks_per_sm;
  uint32_t shared_per_sm;    /* bytes */
  uint32_t shared_per_block; /* bytes without opting in: 48 KiB */
  uint32_t shared_optin;     /* bytes per block that a kernel may opt in to */
  uint32_t shared_reserved;  /* bytes of each block that CUDA keeps for itself */
  uint32_t registers_per_sm, registers_per_block;
  uint32_t threads_per_block, warp_size;
  uint32_t constant_bytes;
} vs_sim_figures;

typedef struct vs_sim_profile {
  const char *key;          /* short and stable: "RTX4090" */
  const char *aliases;      /* other names, separated by spaces; "" if there is none */
  const char *name;         /* as a driver says it: "NVIDIA GeForce RTX 4090" */
  const char *architecture; /* "Ada" */
  const char *driver; /* the driver branch or CUDA version whose total it is: "12.4"; "?" where not known */
  char confidence;    /* 'A' several independent logs agree, 'B' one or two, 'C' data sheet or inference */
  vs_sim_figures figures;
} vs_sim_profile;

uint32_t vs_sim_profile_count(void);
const vs_sim_profile *vs_sim_profile_at(uint32_t index); /* index < count; in the order of gpus.def */

/* By key, alias or name, whatever the case and punctuation, with or without "NVIDIA", "GeForce", "Tesla" and
 * "(simulated)". NULL if it is none. */
const vs_sim_profile *vs_sim_profile_find(vs_str text);

/* What a context of one process costs on such a card:  2 KiB x SMs x threads per SM + 20 MiB. The product is
 * local memory for every thread that can be resident; the 20 MiB are calibrated on thirteen cards, of which
 * the worst were 14 MiB below and 36 MiB above the product alone. */
#define VS_SIM_CONTEXT_BYTES_PER_THREAD UINT64_C(2048)
#define VS_SIM_CONTEXT_BYTES_BASE       (UINT64_C(20) << 20)
uint64_t vs_sim_context_bytes(const vs_sim_profile *profile);

/* One card as it was asked for. */
typedef struct vs_sim_gpu {
  const vs_sim_profile *profile;
  uint64_t total_bytes;   /* instead of the profile's; 0: the profile's */
  uint64_t taken_bytes;   /* held by "another process" all the time */
  uint64_t context_bytes; /* counts only with has_context_bytes */
  bool has_context_bytes; /* else vs_sim_context_bytes */
} vs_sim_gpu;

/* A size alone means a card of the kind that has such a size: the first key up to 48 GiB, the second above. */
#define VS_SIM_SMALL_CARD     (UINT64_C(48) << 30)
#define VS_SIM_SMALL_CARD_KEY "RTX4090"
#define VS_SIM_CARD_KEY       "H100"

/* "H100"           a card of the table
 * "RTX4090:20GiB"  the same with another total
 * "24GiB"          a card of that size, see above; its total is exactly what was asked for
 *
 * Sizes: a number, perhaps with a fraction, and KiB MiB GiB TiB or K M G T (powers of two), KB MB GB TB (powers of
 * ten), or a plain number of bytes. They are rounded down to 64 KiB, as a driver's totals are, and lie between 64 MiB
 * and 1 TiB.
 *
 * Fails: VS_BAD_ARGUMENT  with the offset in `text` and, where something is near, "did you mean" */
VS_MUST_CHECK vs_status vs_sim_gpu_parse(vs_str text, vs_sim_gpu *out, vs_error *error);

/* "H100,H100", "2xH100", "2xH100:40GiB, L4": up to `capacity` cards (VS_SIM_MAX_DEVICES of them make sense).
 * Fails as above, and with VS_LIMIT for more cards than that. */
VS_MUST_CHECK vs_status vs_sim_gpus_parse(vs_str text, vs_sim_gpu *out, uint32_t capacity, uint32_t *count,
                                          vs_error *error);

/* "24GiB", "1.5GiB", "512MiB" as above, without the bounds: for other options that take a size. */
VS_MUST_CHECK bool vs_sim_size_parse(vs_str text, uint64_t *bytes);

#endif
