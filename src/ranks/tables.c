#include "ranks/tables.h"
#include "codec/json_reply.h"

typedef struct making {
  const vs_host *host;
  const vs_rank_tables_options *options;
  vs_rank_tables_result *result;
  vs_job_tables tables;
  vs_status failure; /* of `put` */
} making;

/* Passes on the tables that have enough rows, or all of them. */
static vs_status put_tables(making *m, bool are_all) {
  for (size_t i = 0; i < VS_JOB_TABLES && m->failure == VS_OK; i++) {
    vs_records *records = &m->tables.of[i];
    if (!are_all && !vs_records_is_full(records)) continue;
    m->failure = m->options->put(m->options->ctx, records);
    vs_records_clear(records);
  }
  return m->failure;
}

enum { INVENTORY, REPORT, STEPS };

static vs_status ask(const void *ctx, size_t number, const char *name, vs_engine *engine,
                     vs_rank_replies *replies, vs_error *error) {
  const making *m = ctx;
  const char *device = m->options->device;
  (void)number, (void)name;
  VS_TRY(vs_rank_ask(m->host, device, engine, "inventory", "", replies, error));
  VS_TRY(vs_rank_ask(m->host, device, engine, "report", "\"top\": 0, \"frames\": 1, ", replies, error));
  return vs_rank_ask(m->host, device, engine, "steps", "", replies, error);
}

static vs_status take(void *ctx, size_t number, const char *name, const vs_rank_replies *replies,
                      vs_engine **engine, vs_error *error) {
  making *m = ctx;
  const vs_job_replies of_job = {.inventory = vs_rank_reply(replies, INVENTORY),
                                 .report = vs_rank_reply(replies, REPORT),
                                 .steps = vs_rank_reply(replies, STEPS)};
  (void)number, (void)engine, (void)error;
  VS_TRY(vs_job_tables_add(&m->tables, vs_str_from(name), &of_job));
  m->result->read++;
  if (!vs_reply_bool(of_job.inventory, "complete")) m->result->incomplete++;
  return put_tables(m, false);
}

/* Also called where `put` has failed: then reading ends. */
static vs_status fail(void *ctx, size_t number, const char *name, bool was_asked, const char *why) {
  making *m = ctx;
  (void)number, (void)was_asked;
  VS_TRY(m->failure);
  m->result->not_read++;
  if (m->options->fail != NULL) m->options->fail(m->options->ctx, name, why);
  VS_TRY(vs_job_tables_add_failed(&m->tables, vs_str_from(name), vs_str_from(why)));
  return put_tables(m, false);
}

vs_status vs_rank_tables_read(const vs_rank_files *files, const vs_rank_face *face,
                              const vs_rank_tables_options *options, vs_rank_tables_result *result) {
  *result = (vs_rank_tables_result){0};
  making *m = vs_host_alloc(files->host, sizeof *m); /* large for a stack */
  if (m == NULL) return VS_NO_MEMORY;
  *m = (making){.host = files->host, .options = options, .result = result};
  const vs_rank_reader reader = {.ctx = m, .ask = ask, .take = take, .fail = fail};
  vs_job_tables_init(&m->tables, files->host);
  vs_status status = vs_rank_files_read(files, face, &reader);
  if (status == VS_OK) status = put_tables(m, true);
  vs_job_tables_deinit(&m->tables);
  vs_host_free(files->host, m, sizeof *m);
  return status;
}
