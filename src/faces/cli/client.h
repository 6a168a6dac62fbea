/* The engine for a command: a file loaded once, requests, replies as documents.
 *
 *   vs_client client;
 *   VS_TRY(vs_client_open(&client, &cli));              on failure the error has been printed
 *   vs_client_begin(&client, "live");
 *   vs_client_param(&client, "at", "peak");
 *   status = vs_client_ask(&client, &reply);            then vs_json_doc_deinit(&reply)
 *   vs_client_close(&client);
 *
 * Each failure is printed where it happens (standard_error.h), in one line; the functions return the exit code. */
#ifndef VS_CLI_CLIENT_H
#define VS_CLI_CLIENT_H

#include "codec/json_doc.h"
#include "codec/json_writer.h"
#include "faces/cli/standard_error.h"
#include "intake/linked/open.h"
#include "ranks/reading.h"

typedef struct vs_client {
  const vs_host *host;
  const char *name; /* the file, as it is shown */
  vs_engine *engine;
  vs_progress progress;
  vs_text request;
  vs_jsonw writer;
} vs_client;

/* The name of a file as it is shown: "standard input" for "-". */
static inline vs_str vs_client_shown_name(vs_str name) {
  return vs_str_equal(name, VS_STR("-")) ? VS_STR("standard input") : name;
}

/* vs_engine_need_pytorch, which prints the sentence. */
VS_MUST_CHECK vs_exit vs_client_need_pytorch(vs_client *client);

/* Loads the file at `path`, which is called `name` in messages and replies. */
VS_MUST_CHECK vs_exit vs_client_open(vs_client *client, const vs_host *host, const char *path,
                                     const char *name, bool wants_progress);
/* A client of an engine that has a file, called `name`, already. The engine becomes the client's. */
void vs_client_open_engine(vs_client *client, const vs_host *host, const char *name, vs_engine *engine);
void vs_client_close(vs_client *client);

/* A client without a file, for requests that need none. */
VS_MUST_CHECK vs_exit vs_client_open_empty(vs_client *client, const vs_host *host);

/* ---- a request: begin, parameters, then ask, pass or try */

void vs_client_begin(vs_client *client, const char *method);
void vs_client_param(vs_client *client, const char *name, const char *text);
void vs_client_param_u64(vs_client *client, const char *name, uint64_t value);
void vs_client_param_i64(vs_client *client, const char *name, int64_t value);

/* The reply as a document. Owner: the caller, if this returns VS_EXIT_OK. */
VS_MUST_CHECK vs_exit vs_client_ask(vs_client *client, vs_json_doc *reply);

/* Passes the bytes of the reply to `writer`. A failure of the writer is not printed here, but by the owner of the writer. */
VS_MUST_CHECK vs_exit vs_client_pass(vs_client *client, vs_writer writer);

/* Appends the reply to `reply`. A failure is not printed; `error` has it, with its offset in the text of the parameter. */
VS_MUST_CHECK vs_status vs_client_try(vs_client *client, vs_text *reply, vs_error *error);

#endif
