#include "faces/cli/client.h"
#include "base/check.h"
#include "codec/json_reply.h"

enum { IN_PARAMS = 2 }; /* depth of the JSON between vs_client_begin and the request */

/* ---- loading */

static vs_exit say(const vs_client *client, const vs_error *error) {
  return vs_print_error(vs_client_shown_name(vs_str_from(client->name)), error);
}

vs_exit vs_client_open(vs_client *client, const vs_host *host, const char *path, const char *name,
                       bool wants_progress) {
  *client = (vs_client){.host = host, .name = name};
  vs_text_init(&client->request, host, NULL);
  vs_progress_begin(&client->progress, wants_progress, vs_client_shown_name(vs_str_from(name)));
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_intake intake = {.name = vs_str_from(name),
                            .input = {.watch = vs_progress_watch(&client->progress)}};
  const vs_status status = vs_intake_open(host, &intake, path, &client->engine, &error);
  if (status == VS_OK) {
    VS_ASSERT(client->engine != NULL);
    vs_progress_working(&client->progress);
    return VS_EXIT_OK;
  }
  vs_progress_end(&client->progress);
  error.status = status;
  (void)say(client, &error);
  vs_client_close(client);
  /* The exit code says that the input cannot be read, whatever the reason. */
  return status == VS_NO_MEMORY      ? VS_EXIT_NO_MEMORY
         : status == VS_BAD_ARGUMENT ? VS_EXIT_USAGE
                                     : VS_EXIT_FILE;
}

void vs_client_open_engine(vs_client *client, const vs_host *host, const char *name, vs_engine *engine) {
  *client = (vs_client){.host = host, .name = name, .engine = engine};
  vs_text_init(&client->request, host, NULL);
  vs_progress_begin(&client->progress, false, vs_str_from(name));
}

vs_exit vs_client_open_empty(vs_client *client, const vs_host *host) {
  *client = (vs_client){.host = host, .name = ""};
  vs_text_init(&client->request, host, NULL);
  vs_error error = {.offset = VS_NO_OFFSET};
  error.status = vs_engine_create(host, &client->engine);
  return error.status == VS_OK ? VS_EXIT_OK : say(client, &error);
}

vs_exit vs_client_need_pytorch(vs_client *client) {
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  if (vs_engine_need_pytorch(client->host, client->engine, &error) == VS_OK) return VS_EXIT_OK;
  vs_progress_end(&client->progress);
  return say(client, &error);
}

void vs_client_close(vs_client *client) {
  vs_progress_end(&client->progress);
  vs_engine_destroy(client->engine);
  client->engine = NULL;
  vs_text_deinit(&client->request);
}

/* ---- requests */

void vs_client_begin(vs_client *client, const char *method) {
  vs_text_deinit(&client->request);
  vs_text_init(&client->request, client->host, NULL);
  vs_jsonw_begin(&client->writer, &client->request, 0);
  vs_jsonw_object_begin(&client->writer);
  vs_jsonw_member_str(&client->writer, "method", vs_str_from(method));
  vs_jsonw_key(&client->writer, VS_STR("params"));
  vs_jsonw_object_begin(&client->writer);
}

void vs_client_param(vs_client *client, const char *name, const char *text) {
  VS_ASSERT(client->writer.depth == IN_PARAMS);
  vs_jsonw_member_str(&client->writer, name, vs_str_from(text));
}

void vs_client_param_u64(vs_client *client, const char *name, uint64_t value) {
  VS_ASSERT(client->writer.depth == IN_PARAMS);
  vs_jsonw_member_u64(&client->writer, name, value);
}

void vs_client_param_i64(vs_client *client, const char *name, int64_t value) {
  VS_ASSERT(client->writer.depth == IN_PARAMS);
  vs_jsonw_member_i64(&client->writer, name, value);
}

static vs_status send(vs_client *client, vs_writer writer, vs_error *error) {
  VS_ASSERT(client->engine != NULL && client->writer.depth == IN_PARAMS);
  vs_jsonw_object_end(&client->writer);
  vs_jsonw_object_end(&client->writer);
  vs_jsonw_end(&client->writer);
  const vs_status status = vs_text_finish(&client->request);
  if (status != VS_OK) return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  return vs_engine_request(client->engine, vs_text_view(&client->request), writer, error);
}

vs_status vs_client_try(vs_client *client, vs_text *reply, vs_error *error) {
  *error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  error->status = send(client, vs_text_writer(reply), error);
  return error->status;
}

vs_exit vs_client_ask(vs_client *client, vs_json_doc *reply) {
  vs_text bytes;
  vs_error error;
  vs_text_init(&bytes, client->host, NULL);
  vs_status status = vs_client_try(client, &bytes, &error);
  if (status == VS_OK) status = vs_json_doc_init(reply, client->host, vs_text_view(&bytes), &error);
  vs_text_deinit(&bytes);
  vs_progress_end(&client->progress);
  if (status == VS_OK) return VS_EXIT_OK;
  error.status = status;
  error.offset = VS_NO_OFFSET; /* it counts bytes of the request, which the user did not type */
  return say(client, &error);
}

/* Remembers whether the writer failed, to tell its failures from the engine's. */
typedef struct vs_relay {
  vs_client *client;
  vs_writer to;
  bool failed;
} vs_relay;

static vs_status relay(void *ctx, const void *data, size_t size) {
  vs_relay *through = ctx;
  vs_progress_end(&through->client->progress); /* the answer may go to the same terminal */
  const vs_status status = through->to.write(through->to.ctx, data, size);
  through->failed = through->failed || status != VS_OK;
  return status;
}

vs_exit vs_client_pass(vs_client *client, vs_writer writer) {
  vs_relay through = {.client = client, .to = writer};
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = send(client, (vs_writer){.ctx = &through, .write = relay}, &error);
  if (status == VS_OK || through.failed) return vs_exit_for(status);
  vs_progress_end(&client->progress);
  error.status = status;
  error.offset = VS_NO_OFFSET;
  return say(client, &error);
}
