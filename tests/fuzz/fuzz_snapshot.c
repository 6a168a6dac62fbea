/* Any bytes as a snapshot. What can be read keeps its invariants, and comes back the same from what we write of it. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "fuzz.h"
#include "snapshot/reader.h"
#include "snapshot/writer.h"
#include "support/snapshot_equal.h"

enum { MEMORY = 32 * 1024 * 1024, MOST_WRITTEN = 4 * 1024 * 1024 };

static void must(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "fuzz_snapshot: %s\n", what);
  abort();
}

/* JSON repeats what a pickle shares, so a small input can become long: what is too long is not looked at. */
static vs_status collect(void *ctx, const void *data, size_t size) {
  vs_text *text = ctx;
  if (text->bytes.count + size > MOST_WRITTEN) return VS_CANCELLED;
  vs_text_put(text, data, size);
  return text->status;
}

static vs_snapshot *read_back(const vs_host *host, vs_str bytes) {
  vs_memory_reader reader;
  vs_snapshot *read;
  vs_error error;
  const vs_status status =
      vs_snapshot_read(host, vs_reader_from_bytes(&reader, bytes.data, bytes.size), NULL, &read, &error);
  if (status == VS_NO_MEMORY) return NULL;
  must(status == VS_OK, error.text);
  return read;
}

static void write_and_compare(const vs_host *host, const vs_snapshot *snapshot, vs_file_format format) {
  vs_text text;
  vs_text_init(&text, host, NULL);
  const vs_writer writer = {.ctx = &text, .write = collect};
  vs_error error = {0};
  const vs_status status = vs_snapshot_write(snapshot, format, &writer, &error);
  must(status == VS_OK || status == VS_CANCELLED || status == VS_NO_MEMORY, error.text);
  vs_snapshot *again = status == VS_OK ? read_back(host, vs_text_view(&text)) : NULL;
  if (again != NULL) {
    const char *difference;
    must(vs_snapshot_equal(snapshot, again, &difference), difference);
  }
  vs_snapshot_destroy(again);
  vs_text_deinit(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  vs_budget budget;
  vs_memory_reader bytes;
  vs_snapshot *snapshot;
  vs_error error;
  vs_budget_init(&budget, vs_host_default(), MEMORY);
  const vs_status status =
      vs_snapshot_read(&budget.host, vs_reader_from_bytes(&bytes, data, size), NULL, &snapshot, &error);
  if (status == VS_OK) {
    const char *broken = vs_snapshot_check(snapshot);
    must(broken == NULL, broken);
    write_and_compare(&budget.host, snapshot, VS_FORMAT_PICKLE);
    write_and_compare(&budget.host, snapshot, VS_FORMAT_JSON);
    vs_snapshot_destroy(snapshot);
  } else {
    must(snapshot == NULL && error.status == status && error.text[0] != 0, "a failure without a sentence");
    must(error.offset <= size || error.offset == VS_NO_OFFSET, "a failure outside of the input");
  }
  must(budget.used == 0, "memory was not given back");
  return 0;
}
