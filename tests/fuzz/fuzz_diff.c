/* Any bytes as two inventories, compared by everything there is: a reply that is JSON, or a refusal with a sentence. The two texts are
 * separated by a byte 0; without one an inventory is compared with itself. */
#include <stdio.h>
#include <stdlib.h>

#include "base/host.h"
#include "diff/diff.h"
#include "fuzz.h"

enum { MEMORY = 64 * 1024 * 1024 };

static void must(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "fuzz_diff: %s\n", what);
  abort();
}

static void check_reply(const vs_text *reply) {
  vs_json_doc document;
  vs_error error;
  must(vs_json_doc_init(&document, vs_host_default(), vs_text_view(reply), &error) == VS_OK,
       "the reply is JSON");
  const vs_json root = vs_json_root(&document), rows = vs_reply_at(root, "rows");
  uint64_t matched = 0;
  for (size_t i = 0; i < vs_json_count(rows); i++) {
    const vs_json row = vs_json_at(rows, i);
    const uint64_t a = vs_reply_u64(vs_reply_at(row, "before"), "bytes"),
                   b = vs_reply_u64(vs_reply_at(row, "after"), "bytes");
    matched = vs_sat_add_u64(matched, a < b ? a : b);
  }
  must(matched == vs_reply_u64(root, "matched_bytes"), "what both have is the sum of the smaller parts");
  vs_json_doc_deinit(&document);
}

static void compare(const vs_host *host, vs_json a, vs_json b) {
  for (unsigned by = 0; by < 2 * VS_DIFF_BY_COUNT; by++) {
    vs_text reply;
    vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
    const vs_diff_options options = {.by = (vs_diff_by)(by / 2), .is_same_program = by % 2 != 0};
    vs_text_init(&reply, vs_host_default(), NULL);
    const vs_status status = vs_diff_put(host, a, b, options, &reply, &error);
    if (status == VS_OK) check_reply(&reply);
    else
      must(error.status == status && error.text[0] != 0 && reply.bytes.count == 0,
           "a sentence, and no reply");
    vs_text_deinit(&reply);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  vs_budget budget;
  vs_json_doc a, b;
  vs_error error;
  size_t middle = 0;
  vs_budget_init(&budget, vs_host_default(), MEMORY);
  while (middle < size && data[middle] != 0) middle++;
  const vs_str first = {(const char *)data, middle};
  const vs_str second = middle == size ? first : (vs_str){(const char *)data + middle + 1, size - middle - 1};
  if (vs_json_doc_init(&a, &budget.host, first, &error) == VS_OK) {
    if (vs_json_doc_init(&b, &budget.host, second, &error) == VS_OK) {
      compare(&budget.host, vs_json_root(&a), vs_json_root(&b));
      vs_json_doc_deinit(&b);
    }
    vs_json_doc_deinit(&a);
  }
  must(budget.used == 0, "nothing stays behind");
  return 0;
}
