/* Any bytes as TOML: JSON with one object, or one error with an offset in the text. */
#include <stdio.h>
#include <stdlib.h>

#include "codec/json_doc.h"
#include "codec/toml.h"
#include "fuzz.h"

enum { MEMORY = 64 * 1024 * 1024 };

static void must(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "fuzz_toml: %s\n", what);
  abort();
}

static void check_json(vs_str json) {
  vs_json_doc document;
  vs_error error;
  must(vs_json_doc_init(&document, vs_host_default(), json, &error) == VS_OK, "the text is JSON");
  must(vs_json_kind(vs_json_root(&document)) == VS_JSON_OBJECT, "the document is an object");
  vs_json_doc_deinit(&document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  vs_budget budget;
  vs_text json;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_budget_init(&budget, vs_host_default(), MEMORY);
  vs_text_init(&json, vs_host_default(), NULL);
  const vs_status status = vs_toml_to_json(&budget.host, (vs_str){(const char *)data, size}, &json, &error);
  if (status == VS_OK) check_json(vs_text_view(&json));
  else must(error.status == status && error.text[0] != 0 && json.bytes.count == 0, "a sentence, and no text");
  must(status != VS_BAD_FORMAT || error.offset <= size, "the offset is in the text");
  vs_text_deinit(&json);
  must(budget.used == 0, "nothing stays behind");
  return 0;
}
