/* Prints who owned the memory at its peak, as folded stacks for a flame graph:
 *
 *   peak_owners run.pickle | flamegraph.pl --countname bytes > peak.svg
 *
 * Shows how to keep track of what the library allocates: a vs_host that counts. */
#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char **argv) {
  static const char request[] =
      "{\"method\": \"export\", \"params\": {\"format\": \"collapsed\", \"at\": \"peak\"}}";
  if (argc != 2) {
    fprintf(stderr, "usage: peak_owners FILE\n");
    return 2;
  }
  tally t = {0};
  const vs_host host = {.ctx = &t, .resize = resize_and_count};
  vs_engine *engine = NULL;
  vs_error error = {.status = VS_OK};
  vs_status status = vs_engine_create(&host, &engine);
  if (status == VS_OK) status = vs_engine_open(engine, argv[1], &error);
  if (status == VS_OK)
    status = vs_engine_request(engine, (vs_str){request, sizeof request - 1}, vs_file_writer(stdout), &error);
  vs_engine_destroy(engine);
  if (status != VS_OK) fprintf(stderr, "%s: %s\n", vs_status_name(status), error.text);
  fprintf(stderr, "%zu bytes at most, %zu left\n", t.most, t.now);
  return status == VS_OK && t.now == 0 ? 0 : 1;
}
