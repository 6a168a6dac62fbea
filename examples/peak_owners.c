/* Prints who owned the memory at its peak, as folded stacks for a flame graph:
 *
 *   peak_owners run.pickle | flamegraph.pl --countname bytes > peak.svg
 *
 * Shows how to keep track of what the library allocates: a vs_host that counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vramscope/vramscope.h>

typedef struct tally {
  size_t now, most;
} tally;

static void *resize_and_count(void *ctx, void *old, size_t old_size, size_t new_size) {
  tally *t = ctx;
  void *memory = NULL;
  if (new_size == 0) free(old);
  else if ((memory = realloc(old, new_size)) == NULL) return NULL;
  t->now = t->now - old_size + new_size;
  if (t->now > t->most) t->most = t->now;
  return memory;
}

static vs_status read_file(void *ctx, void *data, size_t capacity, size_t *count) {
  *count = fread(data, 1, capacity, ctx);
  return ferror((FILE *)ctx) ? VS_IO : VS_OK;
}

static vs_status write_file(void *ctx, const void *data, size_t size) {
  return fwrite(data, 1, size, ctx) == size ? VS_OK : VS_IO;
}

int main(int argc, char **argv) {
  static const char request[] =
      "{\"method\": \"export\", \"params\": {\"format\": \"collapsed\", \"at\": \"peak\"}}";
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL) {
    fprintf(stderr, "usage: peak_owners FILE\n");
    return 2;
  }
  tally t = {0};
  const vs_host host = {.ctx = &t, .resize = resize_and_count};
  const vs_source source = {.name = {argv[1], strlen(argv[1])}, .bytes = VS_BYTES_UNKNOWN};
  vs_engine *engine = NULL;
  vs_error error = {.status = VS_OK};
  vs_status status = vs_engine_create(&host, &engine);
  if (status == VS_OK)
    status = vs_engine_load(engine, (vs_reader){.ctx = file, .read = read_file}, &source, NULL, &error);
  if (status == VS_OK)
    status = vs_engine_request(engine, (vs_str){request, sizeof request - 1},
                               (vs_writer){.ctx = stdout, .write = write_file}, &error);
  vs_engine_destroy(engine);
  fclose(file);
  if (status != VS_OK) fprintf(stderr, "%s: %s\n", vs_status_name(status), error.text);
  fprintf(stderr, "%zu bytes at most, %zu left\n", t.most, t.now);
  return status == VS_OK && t.now == 0 ? 0 : 1;
}
