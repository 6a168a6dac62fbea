/* What nvidia-smi prints, byte for byte, and the same as JSON: the answer to a query as lines of CSV or as a document, the
 * overview without a query as a document, and the vendor's sentences for failures. faces/smi/table.c prints the overview as
 * text.
 *
 * CSV and the document of a query are two spellings of the same cells (value.h). CSV is not made of the JSON: its bytes are
 * nvidia-smi's, also where a name is no UTF-8, and in a loop it is written every few milliseconds. */
#ifndef VS_SMI_SMI_H
#define VS_SMI_SMI_H

#include "codec/json_writer.h"
#include "faces/smi/fields.h"
#include <vramscope/devices.h>

/* A request. Owner: the caller, vs_smi_deinit. */
typedef struct vs_smi {
  const vs_host *host;
  vs_devices *devices;    /* borrowed */
  vs_smi_query query;     /* VS_SMI_QUERY_COUNT: none, the overview */
  vs_smi_fields fields;   /* of the query */
  VS_VEC(uint32_t) units; /* that were chosen: cards, and MIG devices that were named */
  bool has_header, has_units;
} vs_smi;

void vs_smi_deinit(vs_smi *smi);

/* Chooses what `selection` names (vs_devices_select), NULL: all cards. Fails: as vs_devices_select; VS_NOT_FOUND without a
 * sentence: there is no GPU at all. */
VS_MUST_CHECK vs_status vs_smi_choose(vs_smi *smi, const char *selection, vs_error *error);

/* ---- one sample, appended to `text`. Fails: VS_NO_MEMORY */

/* The lines of the query; `is_first`: with the headings, if they are wanted. */
VS_MUST_CHECK vs_status vs_smi_put_csv(vs_smi *smi, vs_text *text, bool is_first);
/* The reply to the query, and that without one: a document of one line. */
VS_MUST_CHECK vs_status vs_smi_put_reply(vs_smi *smi, vs_text *text);
VS_MUST_CHECK vs_status vs_smi_put_overview(vs_smi *smi, vs_text *text);

/* ---- failures */

typedef struct vs_smi_failure {
  int status;                    /* the exit status, which is the driver's number; 0: nothing is wrong */
  char words[256];               /* nvidia-smi's, for standard output */
  char ours[VS_ERROR_TEXT_SIZE]; /* our own sentence, with more detail; "" for none */
  bool is_hint; /* `ours` suggests what was meant: shown on a terminal also where scripts read `words` */
} vs_smi_failure;

void vs_smi_fail_field(vs_smi_failure *to, vs_smi_query query, vs_str name);
void vs_smi_fail_open(vs_smi_failure *to, const vs_devices_failure *failure);
/* `why`: of the selection, "" where there is no GPU at all. */
void vs_smi_fail_none(vs_smi_failure *to, const char *why);
/* Whether one of the chosen GPUs fell off the bus. */
bool vs_smi_fail_lost(vs_smi_failure *to, const vs_smi *smi);
/* A sentence of ours about the command line. */
void vs_smi_fail_usage(vs_smi_failure *to, const char *sentence);

#endif
