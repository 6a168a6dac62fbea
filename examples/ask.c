/* Asks questions about a PyTorch memory snapshot and prints the answers as JSON.
 *
 *   ask FILE [REQUEST...]     ask run.pickle '{"method": "live", "params": {"at": "peak", "top": 3}, "indent": 2}'
 *
 * Without a request it asks for the report; without a file to read (FILE is -) only "methods" can be answered. */
#include <stdio.h>
#include <string.h>
#include <vramscope/vramscope.h>

static vs_status read_file(void *ctx, void *data, size_t capacity, size_t *count) {
  *count = fread(data, 1, capacity, ctx);
  return ferror((FILE *)ctx) ? VS_IO : VS_OK;
}

static vs_status write_file(void *ctx, const void *data, size_t size) {
  return fwrite(data, 1, size, ctx) == size ? VS_OK : VS_IO;
}

static vs_status load(vs_engine *engine, const char *name, vs_error *error) {
  FILE *file = fopen(name, "rb");
  if (file == NULL) {
    *error = (vs_error){.status = VS_IO, .offset = VS_NO_OFFSET, .text = "cannot open the file"};
    return VS_IO;
  }
  const vs_source source = {.name = {name, strlen(name)}, .bytes = VS_BYTES_UNKNOWN};
  const vs_reader reader = {.ctx = file, .read = read_file};
  const vs_status status = vs_engine_load(engine, reader, &source, NULL, error);
  fclose(file);
  return status;
}

static vs_status ask(vs_engine *engine, const char *request, vs_error *error) {
  const vs_writer reply = {.ctx = stdout, .write = write_file};
  return vs_engine_request(engine, (vs_str){request, strlen(request)}, reply, error);
}

int main(int argc, char **argv) {
  vs_engine *engine;
  vs_error error = {.status = VS_OK};
  if (argc < 2) {
    fprintf(stderr, "usage: ask FILE [REQUEST...]\n");
    return 2;
  }
  vs_status status = vs_engine_create(NULL, &engine);
  if (status == VS_OK && strcmp(argv[1], "-") != 0) status = load(engine, argv[1], &error);
  if (status == VS_OK && argc == 2) status = ask(engine, "{\"method\": \"report\", \"indent\": 2}", &error);
  for (int i = 2; i < argc && status == VS_OK; i++) status = ask(engine, argv[i], &error);
  vs_engine_destroy(engine);
  if (status == VS_OK) return 0;
  fprintf(stderr, "%s: %s\n", vs_status_name(status), error.text);
  return 1;
}
