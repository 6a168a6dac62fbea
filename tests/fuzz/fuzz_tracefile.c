/* Any bytes as a recording. First as a file; then as the records of one frame, properly sealed, since
 * random bytes have no valid checksum. What can be read keeps the invariants of a snapshot, and comes back the same when it
 * is written again. */
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "fuzz.h"
#include "snapshot/reader.h"
#include "snapshot/writer.h"
#include "support/snapshot_equal.h"
#include "tracefile/frame.h"

enum { MEMORY = 64 * 1024 * 1024 };

static void must(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "fuzz_tracefile: %s\n", what);
  abort();
}

static vs_status collect(void *ctx, const void *data, size_t size) {
  vs_text_put(ctx, data, size);
  return ((vs_text *)ctx)->status;
}

/* Stored deflate blocks are enough of an inflate: the size is what counts. */
static vs_status pretend(void *ctx, const void *from, size_t from_size, void *to, size_t to_size) {
  (void)ctx;
  if (from_size == 0) return VS_BAD_FORMAT;
  for (size_t i = 0; i < to_size; i++) ((uint8_t *)to)[i] = ((const uint8_t *)from)[i % from_size];
  return VS_OK;
}

static vs_snapshot *read_bytes(const vs_host *host, const void *data, size_t size, vs_error *error) {
  static const vs_read_options options = {.inflate = pretend};
  vs_memory_reader reader;
  vs_snapshot *snapshot;
  const vs_status status =
      vs_snapshot_read(host, vs_reader_from_bytes(&reader, data, size), &options, &snapshot, error);
  if (status == VS_OK) {
    const char *broken = vs_snapshot_check(snapshot);
    must(broken == NULL, broken);
    return snapshot;
  }
  must(snapshot == NULL && error->status == status && error->text[0] != 0, "a failure without a sentence");
  must(error->offset <= size || error->offset == VS_NO_OFFSET, "a failure outside of the input");
  return NULL;
}

static void write_and_compare(const vs_host *host, const vs_snapshot *snapshot) {
  vs_text text;
  vs_error error = {0};
  vs_text_init(&text, host, NULL);
  const vs_status status =
      vs_snapshot_write(snapshot, VS_FORMAT_VRAM, &(vs_writer){.ctx = &text, .write = collect}, &error);
  must(status == VS_OK || status == VS_NO_MEMORY, error.text);
  if (status == VS_OK) {
    const vs_str bytes = vs_text_view(&text);
    vs_snapshot *again = read_bytes(host, bytes.data, bytes.size, &error);
    const char *difference;
    must(again != NULL || error.status == VS_NO_MEMORY || error.status == VS_LIMIT, error.text);
    if (again != NULL) must(vs_snapshot_equal(snapshot, again, &difference), difference);
    vs_snapshot_destroy(again);
  }
  vs_text_deinit(&text);
}

static void look_at(const void *data, size_t size) {
  vs_budget budget;
  vs_error error;
  vs_budget_init(&budget, vs_host_default(), MEMORY);
  vs_snapshot *snapshot = read_bytes(&budget.host, data, size, &error);
  if (snapshot != NULL) write_and_compare(&budget.host, snapshot);
  vs_snapshot_destroy(snapshot);
  must(budget.used == 0, "memory was not given back");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  look_at(data, size);
  uint8_t *frame = malloc(VS_FRAME_HEADER + size);
  must(frame != NULL, "no memory");
  const vs_frame_header header = {.version = VS_FRAME_VERSION,
                                  .size = (uint32_t)(VS_FRAME_HEADER + size),
                                  .stored = (uint32_t)size,
                                  .plain = (uint32_t)size};
  vs_frame_header_put(frame, &header);
  if (size != 0) memcpy(frame + VS_FRAME_HEADER, data, size);
  vs_frame_open(frame);
  vs_frame_seal(frame, size);
  look_at(frame, VS_FRAME_HEADER + size);
  free(frame);
  return 0;
}
