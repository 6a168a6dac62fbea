/* Reads snapshots, one after the other, and frees each: what the bench calls reading. No query runs. */
#include "snapshot/reader.h"
#include <stdio.h>

static vs_status read_file(void *ctx, void *data, size_t capacity, size_t *count) {
  *count = fread(data, 1, capacity, ctx);
  return ferror((FILE *)ctx) ? VS_IO : VS_OK;
}

static int read_one(const char *path) {
  vs_snapshot *snapshot;
  vs_error error;
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    perror(path);
    return 2;
  }
  setvbuf(file, NULL, _IONBF, 0); /* the reader has its own window */
  const vs_status status =
      vs_snapshot_read(vs_host_default(), (vs_reader){file, read_file}, NULL, &snapshot, &error);
  fclose(file);
  if (status != VS_OK) {
    fprintf(stderr, "read_snapshot: %s: %s\n", path, error.text);
    return 3;
  }
  printf("%u events, %zu blocks, %u stacks\n", snapshot->events.count, snapshot->blocks.count,
         vs_lists_count(&snapshot->stacks.lists));
  vs_snapshot_destroy(snapshot);
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: read_snapshot FILE...\n");
    return 2;
  }
  int code = 0;
  for (int i = 1; i < argc && code == 0; i++) code = read_one(argv[i]);
  return code;
}
