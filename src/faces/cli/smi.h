/* `vramscope smi` while it runs, and its parts: smi.c reads the command line and loops, smi_rows.c answers queries,
 * smi_table.c shows what a person wants to see, smi_failure.c has the vendor's sentences.
 *
 * Where nvidia-smi would fail, so does this: with its words on standard output and the driver's number as exit status. With
 * --json nobody takes it for nvidia-smi, and its words go to standard error. */
#ifndef VS_CLI_SMI_H
#define VS_CLI_SMI_H

#include "faces/cli/cli.h"
#include "faces/cli/smi_fields.h"
#include <vramscope/devices.h>

typedef struct vs_smi {
  vs_cli *cli;
  vs_devices *devices;
  vs_smi_query query;     /* VS_SMI_QUERY_COUNT: none */
  vs_smi_fields fields;   /* of the query */
  VS_VEC(uint32_t) units; /* that were chosen: cards, and MIG devices that were named */
  bool has_header, has_units, is_json;
} vs_smi;

/* ---- what goes wrong. Each says it and returns VS_EXIT_OK, with the exit status in cli->program_exit. */

vs_exit vs_smi_fail_field(vs_smi *smi, vs_str name);
vs_exit vs_smi_fail_open(vs_smi *smi, const vs_devices_failure *failure);
vs_exit vs_smi_fail_none(vs_smi *smi,
                         const vs_error *why); /* `why` of a selection, NULL: there is no GPU at all */
vs_exit vs_smi_fail_lost(vs_smi *smi, uint32_t unit);
/* A sentence of ours about the command line. */
vs_exit vs_smi_fail_usage(vs_smi *smi, const char *sentence);

/* ---- one look. Fails: VS_NO_MEMORY */

VS_MUST_CHECK vs_status vs_smi_put_rows(vs_smi *smi, bool is_first);
VS_MUST_CHECK vs_status vs_smi_put_table(vs_smi *smi, bool is_first);
VS_MUST_CHECK vs_status vs_smi_put_json_table(vs_smi *smi);

/* "driver": {...}, of both JSON forms. */
void vs_smi_json_driver(vs_jsonw *w, const vs_smi *smi);

#endif
