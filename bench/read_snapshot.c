/* Reads a snapshot and frees it: `bench/run` times this as "reading". No query runs. */
#include "snapshot/reader.h"
#include <stdio.h>

static vs_status read_file(void *ctx, void *data, size_t capacity, size_t *count) {
  *count = fread(data, 1, capacity, ctx);
  return ferror((FILE *)ctx) ? VS_IO : VS_OK;
}

int main(int argc, char **argv) {
  vs_snapshot *snapshot;
  vs_error error;
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL) {
    fprintf(stderr, "usage: read_snapshot FILE\n");
    return 2;
  }
  setvbuf(file, NULL, _IONBF, 0); /* the reader has its own window */
  if (vs_snapshot_read(vs_host_default(), (vs_reader){file, read_file}, NULL, &snapshot, &error) != VS_OK) {
    fprintf(stderr, "read_snapshot: %s\n", error.text);
    return 3;
  }
  printf("%u events, %zu blocks, %u stacks\n", snapshot->events.count, snapshot->blocks.count,
         vs_lists_count(&snapshot->stacks.lists));
  vs_snapshot_destroy(snapshot);
  fclose(file);
  return 0;
}
