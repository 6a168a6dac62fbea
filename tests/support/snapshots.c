#include "support/snapshots.h"
#include "support/snapshot_equal.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

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

vs_str file_bytes(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) fail_msg("%s cannot be read", path);
  const size_t size = (size_t)ftell(file);
  rewind(file);
  char *data = malloc(size == 0 ? 1 : size);
  if (data == NULL || fread(data, 1, size, file) != size) fail_msg("%s cannot be read", path);
  fclose(file);
  return (vs_str){data, size};
}

static int is_visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

void for_each_corpus_file(void (*visit)(const char *name, vs_str bytes, void *ctx), void *ctx) {
  struct dirent **entries;
  const int count = scandir(CORPUS, &entries, is_visible, alphasort);
  assert_true(count > 0);
  for (int i = 0; i < count; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", CORPUS, entries[i]->d_name);
    const vs_str bytes = file_bytes(path);
    visit(entries[i]->d_name, bytes, ctx);
    free((void *)(uintptr_t)bytes.data);
    free(entries[i]);
  }
  free(entries);
}
