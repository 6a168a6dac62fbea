#include "device/sim/profile.h"

/* ---- the table ----------------------------------------------------------------------------------------- */

#define MIB(n) (UINT64_C(n) << 20)

/* The limits that follow from the compute capability. From 8.0 on CUDA reserves 1 KiB of each block's shared memory, so a kernel
 * can opt in to 1 KiB less than an SM has. */
#define LIMITS(threads, blocks, shared, reserved)                                                      \
  .threads_per_sm = (threads), .blocks_per_sm = (blocks), .shared_per_sm = (shared),                   \
  .shared_per_block = 49152, .shared_optin = (shared) - (reserved), .shared_reserved = (reserved),     \
  .registers_per_sm = 65536, .registers_per_block = 65536, .threads_per_block = 1024, .warp_size = 32, \
  .constant_bytes = 65536
#define LIMITS_7_0  LIMITS(2048, 32, 98304, 0)
#define LIMITS_7_5  LIMITS(1024, 16, 65536, 0)
#define LIMITS_8_0  LIMITS(2048, 32, 167936, 1024)
#define LIMITS_8_6  LIMITS(1536, 16, 102400, 1024)
#define LIMITS_8_9  LIMITS(1536, 24, 102400, 1024)
#define LIMITS_9_0  LIMITS(2048, 32, 233472, 1024)
#define LIMITS_10_0 LIMITS(2048, 32, 233472, 1024)
#define LIMITS_10_3 LIMITS(2048, 32, 233472, 1024)
#define LIMITS_12_0 LIMITS(1536, 24, 102400, 1024)

static const vs_sim_profile profiles[] = {
#define VS_SIM_GPU(key_, aliases_, name_, architecture_, major, minor, sms, total, nvml, l2, core, memory, \
                   bus, pci, driver_, confidence_)                                                         \
  {.key = (key_),                                                                                          \
   .aliases = (aliases_),                                                                                  \
   .name = (name_),                                                                                        \
   .architecture = (architecture_),                                                                        \
   .driver = (driver_),                                                                                    \
   .confidence = (confidence_),                                                                            \
   .figures = {.total_bytes = (total),                                                                     \
               .nvml_total_bytes = MIB(nvml),                                                              \
               .l2_bytes = (l2),                                                                           \
               .compute_major = (major),                                                                   \
               .compute_minor = (minor),                                                                   \
               .sm_count = (sms),                                                                          \
               .core_khz = (core)*1000,                                                                    \
               .memory_khz = (memory)*1000,                                                                \
               .bus_bits = (bus),                                                                          \
               .pci_device = (pci),                                                                        \
               LIMITS_##major##_##minor}},
#include "device/sim/gpus.def"
};

enum { PROFILE_COUNT = sizeof profiles / sizeof *profiles };

uint32_t vs_sim_profile_count(void) { return PROFILE_COUNT; }

const vs_sim_profile *vs_sim_profile_at(uint32_t index) {
  VS_ASSERT(index < PROFILE_COUNT);
  return &profiles[index];
}

const vs_sim_profile *vs_sim_profile_keyed(vs_str key) {
  for (uint32_t i = 0; i < PROFILE_COUNT; i++)
    if (vs_str_equal(key, vs_str_from(profiles[i].key))) return &profiles[i];
  return NULL;
}

static const struct {
  const char *key;
  uint64_t bytes;
} measured_contexts[] = {
#define VS_SIM_CONTEXT(key_, bytes_) {.key = (key_), .bytes = (bytes_)},
#include "device/sim/gpus.def"
};

/* 0: it was not measured. */
static uint64_t measured_context(const vs_sim_profile *profile) {
  for (size_t i = 0; i < sizeof measured_contexts / sizeof *measured_contexts; i++)
    if (vs_str_equal(vs_str_from(measured_contexts[i].key), vs_str_from(profile->key)))
      return measured_contexts[i].bytes;
  return 0;
}

bool vs_sim_context_is_measured(const vs_sim_profile *profile) { return measured_context(profile) != 0; }

uint64_t vs_sim_context_bytes(const vs_sim_profile *profile) {
  const uint64_t measured = measured_context(profile);
  if (measured != 0) return measured;
  return VS_SIM_CONTEXT_BYTES_PER_THREAD * profile->figures.sm_count * profile->figures.threads_per_sm +
         VS_SIM_CONTEXT_BYTES_BASE;
}
