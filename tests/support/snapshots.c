#include "support/snapshots.h"
#include "snapshot/accounts.h"
#include "support/snapshot_equal.h"

vs_status snapshot_from(const vs_host *host, vs_str bytes, vs_snapshot **out, vs_error *error) {
  vs_memory_reader reader;
  return vs_snapshot_read(host, vs_reader_from_bytes(&reader, bytes.data, bytes.size), NULL, out, error);
}

vs_snapshot *snapshot_of(vs_str bytes) {
  vs_snapshot *snapshot;
  vs_error error;
  const vs_status status = snapshot_from(vs_host_default(), bytes, &snapshot, &error);
  if (status != VS_OK) fail_msg("%s: %s", vs_status_name(status), error.text);
  const char *broken = vs_snapshot_check(snapshot);
  if (broken != NULL) fail_msg("%s", broken);
  return snapshot;
}

vs_status account_from(const vs_host *host, vs_str bytes, vs_snapshot **out, vs_error *error) {
  vs_memory_reader reader;
  const vs_read_options options = {.accounts = &vs_accounts};
  return vs_snapshot_read(host, vs_reader_from_bytes(&reader, bytes.data, bytes.size), &options, out, error);
}

vs_snapshot *account_of(vs_str bytes) {
  vs_snapshot *snapshot;
  vs_error error;
  const vs_status status = account_from(vs_host_default(), bytes, &snapshot, &error);
  if (status != VS_OK) fail_msg("%s: %s", vs_status_name(status), error.text);
  const char *broken = vs_snapshot_check(snapshot);
  if (broken != NULL) fail_msg("%s", broken);
  return snapshot;
}

static vs_status append(void *ctx, const void *data, size_t size) {
  vs_text *text = ctx;
  vs_text_put(text, data, size);
  return text->status;
}

vs_text written(const vs_snapshot *snapshot, vs_file_format format) {
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  const vs_writer writer = {.ctx = &text, .write = append};
  expect_ok(vs_snapshot_write(snapshot, format, &writer, NULL));
  return text;
}

void expect_equal_snapshots(const vs_snapshot *a, const vs_snapshot *b, const char *what) {
  const char *difference;
  if (!vs_snapshot_equal(a, b, &difference)) fail_msg("%s: different in: %s", what, difference);
}
