/* The profiles of the cards: the rows of gpus.def, with the limits that follow from the compute capability. Names and figures are
 * those that a driver reports; gpus.def has the source of each.
 *
 * Also the names of cards in options: "H100", "A100 40GB", "24GiB", "RTX4090:20GiB", "2xH100,L4". */
#ifndef VS_DEVICE_SIM_PROFILE_H
#define VS_DEVICE_SIM_PROFILE_H

#include "base/text.h"

/* Granularity of device memory, for allocations and for mappings. */
#define VS_SIM_GRANULE (UINT64_C(2) << 20)

/* The largest card; the address windows are laid out for it. */
#define VS_SIM_MOST_TOTAL (UINT64_C(1) << 40)

enum { VS_SIM_MAX_DEVICES = 8 };

/* The numbers of a card. Plain values, because they are copied into the shared machine. */
typedef struct vs_sim_figures {
  uint64_t total_bytes;      /* total memory as CUDA reports it, in properties and memory info */
  uint64_t nvml_total_bytes; /* as NVML and nvidia-smi report it; the difference is reserved by the driver */
  uint64_t l2_bytes;
  uint32_t compute_major, compute_minor;
  uint32_t sm_count;
  uint32_t core_khz, memory_khz, bus_bits;
  uint32_t pci_device; /* of vendor 0x10de; 0: unknown */
  /* The rest follows from the compute capability. */
  uint32_t threads_per_sm, blocks_per_sm;
  uint32_t shared_per_sm;    /* bytes */
  uint32_t shared_per_block; /* bytes without opting in: 48 KiB */
  uint32_t shared_optin;     /* bytes per block that a kernel may opt in to */
  uint32_t shared_reserved;  /* bytes of each block that CUDA reserves */
  uint32_t registers_per_sm, registers_per_block;
  uint32_t threads_per_block, warp_size;
  uint32_t constant_bytes;
} vs_sim_figures;

typedef struct vs_sim_profile {
  const char *key;          /* short and stable: "RTX4090" */
  const char *aliases;      /* other names, separated by spaces; "" if there is none */
  const char *name;         /* as a driver reports it: "NVIDIA GeForce RTX 4090" */
  const char *architecture; /* "Ada" */
  const char *driver; /* the driver branch or CUDA version that reported the total: "12.4"; "?" if unknown */
  char confidence;    /* 'A' several independent logs agree, 'B' one or two, 'C' data sheet or inference */
  vs_sim_figures figures;
} vs_sim_profile;

uint32_t vs_sim_profile_count(void);
const vs_sim_profile *vs_sim_profile_at(uint32_t index); /* index < count; in the order of gpus.def */

/* The card with exactly this key; NULL if there is none. */
const vs_sim_profile *vs_sim_profile_keyed(vs_str key);

/* Finds a card by a name as users write it: "h100-80g", "H100 SXM", "rtx 4090", "NVIDIA GeForce RTX 4090 (simulated)". Case,
 * punctuation and the order of words do not matter, and vendor and brand may be left out (profile_names.c has the rule). NULL if
 * there is none or if several cards have such a name. */
const vs_sim_profile *vs_sim_profile_find(vs_str text);

/* The bytes that the context of one process takes on such a card, before the program has loaded a kernel. It was measured on the
 * H100 and the H200 (VS_SIM_CONTEXT in gpus.def). For the others it is  2 KiB x SMs x threads per SM + 20 MiB: the product is
 * local memory for every thread that can be resident; the 20 MiB are calibrated on eleven cards, of which the worst were 14 MiB
 * below and 36 MiB above the product alone. own_memory.h has what is added later. */
#define VS_SIM_CONTEXT_BYTES_PER_THREAD UINT64_C(2048)
#define VS_SIM_CONTEXT_BYTES_BASE       (UINT64_C(20) << 20)
uint64_t vs_sim_context_bytes(const vs_sim_profile *profile);
/* Whether that, and what own_memory.h adds, was measured on such a card. */
bool vs_sim_context_is_measured(const vs_sim_profile *profile);

/* One card of a simulated machine, as an option describes it. */
typedef struct vs_sim_gpu {
  const vs_sim_profile *profile;
  uint64_t total_bytes;   /* instead of the profile's; 0: the profile's */
  uint64_t taken_bytes;   /* held all the time by an imaginary other process */
  uint64_t context_bytes; /* counts only with has_context_bytes */
  bool has_context_bytes; /* else vs_sim_context_bytes */
  bool is_only_size;      /* the text was a size, and the card of the profile was chosen for it */
} vs_sim_gpu;

/* A size alone selects a card of a kind that has such a size: the first key up to 48 GiB, the second above. */
#define VS_SIM_SMALL_CARD     (UINT64_C(48) << 30)
#define VS_SIM_SMALL_CARD_KEY "RTX4090"
#define VS_SIM_CARD_KEY       "H100"

/* "H100"           a card of the table
 * "RTX4090:20GiB"  the same with another total
 * "24GiB"          a card of that size, see above; its total is exactly this size
 *
 * Sizes: a number, also with a fraction, and KiB MiB GiB TiB or K M G T (powers of two), KB MB GB TB (powers of
 * ten), or a plain number of bytes. They are rounded down to 64 KiB, as a driver's totals are, and range from 64 MiB to
 * 1 TiB.
 *
 * Fails: VS_BAD_ARGUMENT  with the offset in `text`; of an ambiguous name with the cards that have it, of an unknown one with "did
 *        you mean" if there is a similar one */
VS_MUST_CHECK vs_status vs_sim_gpu_parse(vs_str text, vs_sim_gpu *out, vs_error *error);

/* A list of cards: "H100,H100", "2xH100", "2xH100:40GiB, L4". At most `capacity` (a machine has up to VS_SIM_MAX_DEVICES).
 * Fails as above, and with VS_LIMIT for more cards than that. */
VS_MUST_CHECK vs_status vs_sim_gpus_parse(vs_str text, vs_sim_gpu *out, uint32_t capacity, uint32_t *count,
                                          vs_error *error);

/* Reads a size as above, without the bounds, for other options: "24GiB", "1.5GiB", "512MiB". */
VS_MUST_CHECK bool vs_sim_size_parse(vs_str text, uint64_t *bytes);

#endif
