/* Asks questions about a PyTorch memory snapshot and prints the answers as JSON.
 *
 *   ask FILE [REQUEST...]     ask run.pickle '{"method": "live", "params": {"at": "peak", "top": 3}, "indent": 2}'
 *
 * Without a request it asks for the report; without a file to read (FILE is -) only "methods" can be answered. */
#include <stdio.h>
#include <string.h>
#include <vramscope/vramscope.h>

static vs_status ask(vs_engine *engine, const char *request, vs_error *error) {
  return vs_engine_request(engine, (vs_str){request, strlen(request)}, vs_file_writer(stdout), error);
}

int main(int argc, char **argv) {
  vs_engine *engine;
  vs_error error = {.status = VS_OK};
  if (argc < 2) {
    fprintf(stderr, "usage: ask FILE [REQUEST...]\n");
    return 2;
  }
  vs_status status = vs_engine_create(NULL, &engine);
  if (status == VS_OK && strcmp(argv[1], "-") != 0) status = vs_engine_open(engine, argv[1], &error);
  if (status == VS_OK && argc == 2) status = ask(engine, "{\"method\": \"report\", \"indent\": 2}", &error);
  for (int i = 2; i < argc && status == VS_OK; i++) status = ask(engine, argv[i], &error);
  vs_engine_destroy(engine);
  if (status == VS_OK) return 0;
  fprintf(stderr, "%s: %s\n", vs_status_name(status), error.text);
  return 1;
}
