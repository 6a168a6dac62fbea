/* NVIDIA's management library behind the face of device/telemetry.h. Nothing of NVIDIA's is linked: the library is looked for
 * when somebody asks, and each of its functions on its own, so an old one loses figures and not the whole. */
#ifndef VS_DEVICE_NVML_NVML_H
#define VS_DEVICE_NVML_NVML_H

#include "device/telemetry.h"

/* Opens `path`, or with NULL the system's library: libnvidia-ml.so.1, else the place where WSL keeps it. `host` and the
 * library live until close. Zero cards is a success with no units.
 * Fails: VS_NOT_FOUND  there is no such library (failure.code is 12)
 *        VS_DEVICE     it does not connect to the driver: failure has NVML's number and our sentence, and where the versions
 *                      of library and driver differ (18) the library's, for who can read the driver's
 *        VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_nvml_open(const vs_host *host, const char *path, vs_telemetry *telemetry,
                                     vs_telemetry_failure *failure);

#endif
