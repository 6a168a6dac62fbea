/* What doctor finds out about the machine's GPUs: the driver, whether it matches its library, what is visible, and why not. */
#ifndef VS_CLI_DOCTOR_H
#define VS_CLI_DOCTOR_H

#include "base/host.h"
#include "codec/json_writer.h"

/* The member "driver" of the reply. Asks NVML; makes no CUDA context. */
void vs_doctor_put_driver(vs_jsonw *w, const vs_host *host);

#endif
