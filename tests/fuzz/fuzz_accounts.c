/* Any bytes as the account of another program. What can be read keeps its invariants, an account cannot be written, and every
 * request about it gets a reply or a refusal with a sentence. */
#include <stdio.h>
#include <stdlib.h>

#include "base/host.h"
#include "base/text.h"
#include "fuzz.h"
#include "query/engine.h"
#include "snapshot/accounts.h"
#include "snapshot/writer.h"

enum { MEMORY = 64 * 1024 * 1024 };

static void must(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "fuzz_accounts: %s\n", what);
  abort();
}

static vs_status drop(void *ctx, const void *data, size_t size) {
  (void)ctx;
  (void)data;
  (void)size;
  return VS_OK;
}

static const char *const REQUESTS[] = {
    "{\"method\":\"report\"}",
    "{\"method\":\"stats\"}",
    "{\"method\":\"info\"}",
    "{\"method\":\"live\",\"params\":{\"by\":\"stack\"}}",
    "{\"method\":\"live\",\"params\":{\"at\":\"start\",\"by\":\"annotation\"}}",
    "{\"method\":\"tree\",\"params\":{\"at\":\"end\"}}",
    "{\"method\":\"blocks\",\"params\":{\"at\":\"peak\"}}",
    "{\"method\":\"events\"}",
    "{\"method\":\"inventory\"}",
    "{\"method\":\"timeline\",\"params\":{\"axis\":\"time\",\"points\":7}}",
    "{\"method\":\"marks\"}",
    "{\"method\":\"picture\",\"params\":{\"columns\":9,\"rows\":9}}",
    "{\"method\":\"groups\"}",
    "{\"method\":\"allocations\"}",
    "{\"method\":\"map\"}",
    "{\"method\":\"state\",\"params\":{\"at\":\"peak\"}}",
    "{\"method\":\"whatif\",\"params\":{\"steps\":2}}",
    "{\"method\":\"oom\",\"params\":{\"remedies\":false}}",
    "{\"method\":\"export\",\"params\":{\"format\":\"pprof\"}}",
};

static void ask_all(vs_engine *engine) {
  for (size_t i = 0; i < sizeof REQUESTS / sizeof *REQUESTS; i++) {
    vs_error error = {0};
    const vs_status status =
        vs_engine_request(engine, vs_str_from(REQUESTS[i]), (vs_writer){.write = drop}, &error);
    const char *broken = vs_engine_check(engine);
    must(broken == NULL, broken);
    if (status == VS_OK) continue;
    must(error.status == status && error.text[0] != 0, "a refusal without a sentence");
    must(status == VS_NOT_FOUND || status == VS_NO_MEMORY || status == VS_LIMIT || status == VS_UNSUPPORTED,
         error.text);
  }
}

static void ask(const uint8_t *data, size_t size) {
  vs_budget budget;
  vs_memory_reader bytes;
  vs_engine *engine;
  const vs_source source = {.name = VS_STR("input"), .bytes = VS_BYTES_UNKNOWN};
  vs_budget_init(&budget, vs_host_default(), MEMORY);
  if (vs_engine_create(&budget.host, &engine) != VS_OK) return;
  if (vs_engine_load(engine, vs_reader_from_bytes(&bytes, data, size), &source, NULL, NULL) == VS_OK)
    ask_all(engine);
  vs_engine_destroy(engine);
  must(budget.used == 0, "an engine kept memory");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  vs_budget budget;
  vs_memory_reader bytes;
  vs_snapshot *snapshot;
  vs_error error;
  const vs_read_options options = {.accounts = &vs_accounts};
  vs_budget_init(&budget, vs_host_default(), MEMORY);
  const vs_status status =
      vs_snapshot_read(&budget.host, vs_reader_from_bytes(&bytes, data, size), &options, &snapshot, &error);
  if (status == VS_OK) {
    const char *broken = vs_snapshot_check(snapshot);
    must(broken == NULL, broken);
    must((snapshot->lacks != 0) == vs_format_is_account(snapshot->format), "an account that lacks nothing");
    if (snapshot->lacks != 0)
      must(vs_snapshot_write(snapshot, VS_FORMAT_PICKLE, &(vs_writer){.write = drop}, &error) ==
               VS_UNSUPPORTED,
           "an account was written");
    if (snapshot->lacks != 0) ask(data, size);
    vs_snapshot_destroy(snapshot);
  } else {
    must(snapshot == NULL && error.status == status && error.text[0] != 0, "a failure without a sentence");
    must(error.offset <= size || error.offset == VS_NO_OFFSET, "a failure outside of the input");
  }
  must(budget.used == 0, "memory was not given back");
  return 0;
}
