/* The overview as text. */
#ifndef VS_SMI_TABLE_H
#define VS_SMI_TABLE_H

#include "codec/json_doc.h"
#include "faces/terminal/screen.h"

void vs_smi_table_put(vs_screen *screen, vs_json overview);

#endif
