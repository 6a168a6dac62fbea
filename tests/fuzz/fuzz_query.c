/* Reads any bytes as a snapshot, and sends every request about what can be read: each gets a reply, or a refusal
 * with a sentence. The structures are checked after each request. The last byte chooses the moment, so that a small
 * change of the input changes the requests. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/span_stack.h"
#include "analyze/state.h"
#include "base/host.h"
#include "base/text.h"
#include "fuzz.h"
#include "query/engine.h"

enum { MEMORY = 32 * 1024 * 1024, MOST_WRITTEN = 8 * 1024 * 1024 };

static void must(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "fuzz_query: %s\n", what);
  abort();
}

/* Counts what is written; a reply that repeats what a pickle shares is cut short. */
static vs_status count_bytes(void *ctx, const void *data, size_t size) {
  size_t *written = ctx;
  (void)data;
  *written += size;
  return *written > MOST_WRITTEN ? VS_CANCELLED : VS_OK;
}

static void must_be_whole(const char *broken) { must(broken == NULL, broken); }

/* The address space and the stack of spans at a few moments: requests build these and free them again. */
static void check_moments(const vs_host *host, const vs_moment_index *moments) {
  const uint32_t events = moments->spans.event_count, step = events / 5 + 1;
  vs_span_stack stack = vs_span_stack_of(&moments->spans);
  for (uint32_t done = 0; done <= events; done += step) {
    vs_state state;
    if (vs_span_stack_move(host, &stack, done) != VS_OK) break;
    must_be_whole(vs_span_stack_check(&stack));
    if (vs_state_at(host, moments, (vs_moment)done - 1, &state) != VS_OK) break;
    must_be_whole(vs_state_check(&state));
    vs_state_deinit(host, &state);
  }
  vs_span_stack_deinit(host, &stack);
}

static void ask(vs_engine *engine, const char *format, const char *moment) {
  char request[256];
  size_t written = 0;
  vs_error error = {0};
  vs_format(request, sizeof request, format, moment);
  const vs_status status = vs_engine_request(engine, vs_str_from(request),
                                             (vs_writer){.ctx = &written, .write = count_bytes}, &error);
  must_be_whole(vs_engine_check(engine));
  if (status == VS_OK) {
    must(written > 0 || vs_str_contains(vs_str_from(format), VS_STR("export")), "an empty reply");
    return;
  }
  must(error.status == status && error.text[0] != 0, "a failure without a sentence");
  if (status == VS_UNSUPPORTED && vs_format_is_account(engine->snapshot->format)) return;
  /* the card of a damaged file is smaller than what is on it */
  if (status == VS_BAD_ARGUMENT && vs_str_contains(vs_str_from(format), VS_STR("\"ledger\""))) return;
  must(status == VS_NOT_FOUND || status == VS_NO_MEMORY || status == VS_CANCELLED || status == VS_LIMIT,
       error.text);
}

/* %s is the moment, if the query has one. */
static const char *const REQUESTS[] = {
    "{\"method\":\"report\"}",
    "{\"method\":\"stats\"}",
    "{\"method\":\"info\"}",
    "{\"method\":\"live\",\"params\":{\"at\":%s,\"by\":\"stack\"}}",
    "{\"method\":\"live\",\"params\":{\"at\":%s,\"by\":\"annotation\",\"filter\":\"size>1\"}}",
    "{\"method\":\"tree\",\"params\":{\"at\":%s}}",
    "{\"method\":\"blocks\",\"params\":{\"at\":%s}}",
    "{\"method\":\"state\",\"params\":{\"at\":%s}}",
    "{\"method\":\"events\",\"params\":{\"from\":%s}}",
    "{\"method\":\"segments\"}",
    "{\"method\":\"timeline\",\"params\":{\"axis\":\"time\",\"points\":7}}",
    "{\"method\":\"live\",\"params\":{\"at\":%s,\"measure\":\"average\",\"since\":2,\"by\":\"lifetime\"}}",
    "{\"method\":\"events\",\"params\":{\"from\":%s,\"folded\":true,\"filter\":\"size>1\"}}",
    "{\"method\":\"find\",\"params\":{\"event\":%s,\"filter\":\"line!=x:1 size>1\",\"backwards\":true}}",
    "{\"method\":\"marks\"}",
    "{\"method\":\"picture\",\"params\":{\"columns\":9,\"rows\":7,\"mark\":\"size>2\"}}",
    "{\"method\":\"picture\",\"params\":{\"axis\":\"time\",\"columns\":9,\"rows\":7,\"what\":\"segments\","
    "\"by\":\"lifetime\"}}",
    "{\"method\":\"picture\",\"params\":{\"x0\":0.5,\"x1\":2.5,\"y0\":3,\"columns\":5,\"rows\":3,\"filter\":"
    "\"size>1\"}}",
    "{\"method\":\"groups\",\"params\":{\"by\":\"annotation\"}}",
    "{\"method\":\"pick\",\"params\":{\"at\":%s,\"y0\":1}}",
    "{\"method\":\"allocation\",\"params\":{\"at\":%s}}",
    "{\"method\":\"allocation\",\"params\":{\"at\":%s,\"what\":\"segments\"}}",
    "{\"method\":\"allocations\",\"params\":{\"at\":%s,\"sort\":\"lifetime\",\"top\":3}}",
    "{\"method\":\"map\",\"params\":{\"at\":%s}}",
    "{\"method\":\"holes\",\"params\":{\"points\":5}}",
    "{\"method\":\"fragmentation\",\"params\":{\"at\":%s}}",
    "{\"method\":\"reserved\",\"params\":{\"at\":%s}}",
    "{\"method\":\"reserved\",\"params\":{\"at\":%s,\"reserved_bytes\":2097152}}",
    "{\"method\":\"ledger\",\"params\":{\"at\":%s}}",
    "{\"method\":\"bands\",\"params\":{\"points\":7}}",
    "{\"method\":\"replay\"}",
    "{\"method\":\"whatif\",\"params\":{\"steps\":2}}",
    "{\"method\":\"course\",\"params\":{\"settings\":\"expandable_segments:True\",\"columns\":9}}",
    "{\"method\":\"course\",\"params\":{\"axis\":\"time\",\"card\":4194304,\"columns\":9}}",
    "{\"method\":\"map\",\"params\":{\"at\":%s,\"settings\":\"expandable_segments:True\"}}",
    "{\"method\":\"whatif\",\"params\":{\"set\":[\"\",\"max_split_size_mb:21\"]}}",
    "{\"method\":\"whatif\",\"params\":{\"set\":\"expandable_segments:True\",\"without\":\"size>4096\","
    "\"scale\":\"size>0=3.7\"}}",
    "{\"method\":\"whatif\",\"params\":{\"cards\":\"1GiB\",\"free_early\":\"\"}}",
    "{\"method\":\"whatif\",\"params\":{\"free\":\"size>4096\",\"empty_cache\":true}}",
    "{\"method\":\"whatif\",\"params\":{\"checkpoint\":\"forward\"}}",
    "{\"method\":\"whatif\",\"params\":{\"checkpoint\":[\"model.py:11\",\"step_1\"],\"scale\":\"size>0=3.7\"}"
    "}",
    "{\"method\":\"whatif_snapshot\",\"params\":{\"set\":\"expandable_segments:True\",\"scale\":\"size>0=1."
    "5\"}}",
    "{\"method\":\"whatif_snapshot\",\"params\":{\"set\":\"\",\"cards\":\"1GiB\",\"format\":\"vram\"}}",
    "{\"method\":\"oom\"}",
    "{\"method\":\"oom\",\"params\":{\"remedies\":false,\"top\":1}}",
    "{\"method\":\"replay\",\"params\":{\"settings\":\"expandable_segments:True\",\"card\":1000000000}}",
    "{\"method\":\"export\",\"params\":{\"format\":\"collapsed\",\"at\":%s}}",
    "{\"method\":\"export\",\"params\":{\"format\":\"perfetto\"}}",
    "{\"method\":\"export\",\"params\":{\"format\":\"pprof\",\"at\":%s}}",
    "{\"method\":\"export\",\"params\":{\"format\":\"sql\"}}",
};
static const char *const MOMENTS[] = {"\"peak\"", "\"end\"", "\"start\"", "0",
                                      "1",        "3",       "\"0.5s\"",  "\"oom\""};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  vs_budget budget;
  vs_memory_reader bytes;
  vs_engine *engine = NULL;
  vs_error error;
  vs_budget_init(&budget, vs_host_default(), MEMORY);
  must(vs_engine_create(&budget.host, &engine) == VS_OK, "no engine");
  const vs_source source = {.name = VS_STR("fuzz"), .bytes = size};
  if (vs_engine_load(engine, vs_reader_from_bytes(&bytes, data, size), &source, NULL, &error) == VS_OK) {
    const uint8_t choice = data[size - 1];
    const char *moment = MOMENTS[choice % (sizeof MOMENTS / sizeof *MOMENTS)];
    for (size_t i = 0; i < sizeof REQUESTS / sizeof *REQUESTS; i++) ask(engine, REQUESTS[i], moment);
    for (size_t i = 0; i < engine->devices.count; i++)
      if (engine->devices.data[i].has_moment_index)
        check_moments(&budget.host, &engine->devices.data[i].moments);
  }
  vs_engine_destroy(engine);
  must(budget.used == 0, "memory was not given back");
  return 0;
}
