/* NVIDIA's management library as an implementation of device/telemetry.h. It is not linked but loaded at the first use, and each
 * function is looked up separately, so with an old library only some figures are unknown. */
#ifndef VS_DEVICE_NVML_NVML_H
#define VS_DEVICE_NVML_NVML_H

#include "device/telemetry.h"

/* Opens `path`, or with NULL the system's library: libnvidia-ml.so.1, else the place where WSL keeps it. `host` and the
 * library live until close. Zero cards is a success with no units.
 * Fails: VS_NOT_FOUND  there is no such library (failure.code is 12)
 *        VS_DEVICE     it does not connect to the driver: failure has NVML's number and our sentence and, if the versions of
 *                      library and driver differ (18), the library's version
 *        VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_nvml_open(const vs_host *host, const char *path, vs_telemetry *telemetry,
                                     vs_telemetry_failure *failure);

#endif
