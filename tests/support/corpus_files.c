/* Files for tests: apart from snapshots.c because WebAssembly has none. */
#include "support/snapshots.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

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
