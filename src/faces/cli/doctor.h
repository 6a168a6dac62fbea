/* What doctor says of the GPUs of this machine, and how it says a thing. */
#ifndef VS_CLI_DOCTOR_H
#define VS_CLI_DOCTOR_H

#include "faces/cli/cli.h"
#include "codec/json_writer.h"
#include <vramscope/devices.h>

/* "yes  what    value" as a row; `format` has one %s. */
void vs_doctor_put(vs_cli *cli, bool is_good, const char *what, const char *format, const char *value);

typedef struct vs_machine {
  vs_devices *devices;        /* NULL: `failure` says why */
  vs_devices_failure failure; /* its status is VS_OK otherwise */
  vs_devices_driver driver;
  uint32_t function_count,
      missing_count; /* of NVML: those that we know to use, and those that it has not got */
  bool has_cuda;     /* CUDA's driver loads; it is not initialised */
} vs_machine;

/* Asks NVML; makes no CUDA context. */
void vs_machine_look(vs_machine *machine, const vs_host *host);
void vs_machine_put(vs_cli *cli, const vs_machine *machine);
void vs_machine_put_json(vs_jsonw *json, const vs_machine *machine);
void vs_machine_close(vs_machine *machine);

#endif
