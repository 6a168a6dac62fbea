/* Answers many requests about one file: questions FILE, a request a line on standard input.
 *
 * For each: a line "<status> <bytes>", and behind it as many bytes: the reply, or the sentence of the failure. */
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vramscope/vramscope.h>

static vs_status read_file(void *ctx, void *data, size_t capacity, size_t *count) {
  *count = fread(data, 1, capacity, ctx);
  return ferror((FILE *)ctx) ? VS_IO : VS_OK;
}

static vs_status keep(void *ctx, const void *data, size_t size) {
  vs_text_put(ctx, data, size);
  return ((vs_text *)ctx)->status;
}

static void answer(vs_engine *engine, const char *request, size_t size) {
  vs_error error;
  vs_text reply;
  vs_text_init(&reply, vs_host_default(), NULL);
  const vs_status status =
      vs_engine_request(engine, (vs_str){request, size}, (vs_writer){.ctx = &reply, .write = keep}, &error);
  const vs_str text = status == VS_OK ? vs_text_view(&reply) : vs_str_from(error.text);
  printf("%s %zu\n", vs_status_name(status), text.size);
  fwrite(text.data, 1, text.size, stdout);
  fflush(stdout);
  vs_text_deinit(&reply);
}

int main(int argc, char **argv) {
  static char line[1 << 16];
  vs_engine *engine;
  vs_error error;
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (file == NULL || vs_engine_create(NULL, &engine) != VS_OK) return 2;
  const vs_source source = {.name = {argv[1], strlen(argv[1])}, .bytes = VS_BYTES_UNKNOWN};
  const vs_reader reader = {.ctx = file, .read = read_file};
  const vs_status status = vs_engine_load(engine, reader, &source, NULL, &error);
  fclose(file);
  if (status != VS_OK) fprintf(stderr, "%s\n", error.text);
  while (status == VS_OK && fgets(line, sizeof line, stdin) != NULL)
    answer(engine, line, strcspn(line, "\n"));
  vs_engine_destroy(engine);
  return status == VS_OK ? 0 : 1;
}
