/* The overview of faces/smi, as a person wants to see it. */
#ifndef VS_CLI_SMI_TABLE_H
#define VS_CLI_SMI_TABLE_H

#include "codec/json_doc.h"
#include "faces/cli/screen.h"

void vs_smi_table_put(vs_screen *screen, vs_json overview);

#endif
