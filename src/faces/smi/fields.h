/* The fields of `vramscope smi`: the lists of fields.def and apps.def as tables, and queries parsed by them. */
#ifndef VS_SMI_FIELDS_H
#define VS_SMI_FIELDS_H

#include "base/vec.h"
#include "base/text.h"
#include <vramscope/metric.h>

/* What is asked about: a line for each GPU, for each process on one, or for each in the driver's account. */
typedef enum vs_smi_query {
  VS_SMI_QUERY_GPU,
  VS_SMI_QUERY_APPS,
  VS_SMI_QUERY_ACCOUNTED,
  VS_SMI_QUERY_COUNT
} vs_smi_query;

/* How a value is written. The BARE forms write N/A without brackets for an unknown value. */
typedef enum vs_smi_form {
  VS_SMI_TEXT,
  VS_SMI_TEXT_BARE,
  VS_SMI_COUNT,
  VS_SMI_COUNT_BARE,
  VS_SMI_SIGNED,  /* an int64_t */
  VS_SMI_PERCENT, /* as it is */
  VS_SMI_BYTES,   /* as MiB, rounded up */
  VS_SMI_WATTS,   /* of milliwatts, two decimals */
  VS_SMI_MASK,    /* 16 digits of hexadecimal, the others as many as they say, but at least */
  VS_SMI_HEX8,
  VS_SMI_HEX4,
  VS_SMI_HEX2,
  VS_SMI_HEX1,
  VS_SMI_CAPABILITY, /* major << 16 | minor */
  VS_SMI_PSTATE,
  VS_SMI_ENABLED, /* Enabled, Disabled; from here on a word for each number */
  VS_SMI_YES,
  VS_SMI_ACTIVE,
  VS_SMI_COMPUTE_MODE,
  VS_SMI_ADDRESSING,
  VS_SMI_RECOVERY,
  VS_SMI_OPERATION_MODE,
  VS_SMI_FABRIC_STATE,
  VS_SMI_FABRIC_STATUS,
} vs_smi_form;

/* Where the value comes from; `number` of the field says which one of these it is. */
typedef enum vs_smi_source {
  VS_SMI_FROM_NUMBER,  /* a vs_metric_id */
  VS_SMI_FROM_WORDS,   /* a vs_metric_text_id */
  VS_SMI_FROM_HERE,    /* a vs_smi_here */
  VS_SMI_FROM_APP,     /* a vs_smi_app */
  VS_SMI_FROM_NOTHING, /* always unknown */
  VS_SMI_FROM_GONE,    /* deprecated by the driver */
} vs_smi_source;

typedef enum vs_smi_here {
  VS_SMI_TIMESTAMP,
  VS_SMI_DRIVER_VERSION,
  VS_SMI_KERNEL_VERSION,
  VS_SMI_DEVICE_COUNT,
  VS_SMI_INDEX,
  VS_SMI_PCI_DOMAIN,
  VS_SMI_PCI_BUS,
  VS_SMI_PCI_DEVICE,
} vs_smi_here;

typedef enum vs_smi_app {
  VS_SMI_APP_PID,
  VS_SMI_APP_NAME,
  VS_SMI_APP_USED,
  VS_SMI_APP_USER,
  VS_SMI_APP_COMMAND,
  VS_SMI_APP_GI,
  VS_SMI_APP_CI,
  VS_SMI_APP_TYPE,
  VS_SMI_APP_CONTAINER,
  VS_SMI_APP_START_TIME,
  VS_SMI_APP_GPU_UTILIZATION,
  VS_SMI_APP_MEMORY_UTILIZATION,
  VS_SMI_APP_MOST_USED,
  VS_SMI_APP_TIME,
} vs_smi_app;

typedef struct vs_smi_field {
  const char *name;
  const char *alias; /* NULL: none */
  const char *unit;  /* NULL: none */
  const char *sentence;
  vs_smi_form form;
  vs_smi_source source;
  uint32_t number;
  uint32_t bit; /* 0, or the bit of the number that is the value */
  bool is_own;  /* nvidia-smi does not have it */
} vs_smi_field;

typedef VS_VEC(const vs_smi_field *) vs_smi_fields;

const vs_smi_field *vs_smi_list(vs_smi_query query, size_t *count);

/* The fields of "name,memory.used", in that order and as often as they stand there. Spaces around a name do not count.
 * Fails: VS_BAD_ARGUMENT, *unknown is the name; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_smi_fields_parse(const vs_host *host, vs_smi_query query, vs_str text,
                                            vs_smi_fields *fields, vs_str *unknown);

/* The known name nearest to one that is not; empty: none is near. */
vs_str vs_smi_fields_nearest(vs_smi_query query, vs_str name);

/* --help-query-gpu and the like: each name in quotes behind an empty line, as scripts look for it there. */
void vs_smi_fields_help(vs_text *text, vs_smi_query query);

#endif
