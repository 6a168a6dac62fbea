/* A job as tables of typed rows, for databases and data frames (job_tables.def). Rows are added file by file; the caller writes and clears the
 * batches, so that the memory does not grow with the number of ranks. */
#ifndef VS_DIFF_JOB_TABLES_H
#define VS_DIFF_JOB_TABLES_H

#include "codec/json_doc.h"
#include "codec/records.h"

typedef enum vs_job_table { VS_JOB_RANKS, VS_JOB_OWNERS, VS_JOB_STEPS, VS_JOB_TABLES } vs_job_table;

extern const vs_record_type vs_job_table_types[VS_JOB_TABLES];

/* The batches, by vs_job_table. */
typedef struct vs_job_tables {
  const vs_host *host;
  vs_records of[VS_JOB_TABLES];
} vs_job_tables;

void vs_job_tables_init(vs_job_tables *tables, const vs_host *host);
void vs_job_tables_deinit(vs_job_tables *tables);

/* What the engine says of a file about one device: the replies of these methods, `report` with all owners and lines that grow. */
typedef struct vs_job_replies {
  vs_json inventory, report, steps;
} vs_job_replies;

/* Adds the rows of a file. Fails: VS_NO_MEMORY, VS_LIMIT. Then the tables may have a part of its rows. */
VS_MUST_CHECK vs_status vs_job_tables_add(vs_job_tables *tables, vs_str name, const vs_job_replies *replies);
/* A file that could not be read: a row with the reason. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_job_tables_add_failed(vs_job_tables *tables, vs_str name, vs_str why);

#endif
