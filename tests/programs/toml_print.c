/* Reads documents of TOML from standard input, each behind a line with its number of bytes, and prints for each one line: its JSON, or
 * "!" and what is wrong. */
#include "codec/toml.h"
#include <stdio.h>
#include <stdlib.h>

static void print(vs_str toml) {
  vs_text json;
  vs_error error;
  vs_text_init(&json, vs_host_default(), NULL);
  if (vs_toml_to_json(vs_host_default(), toml, &json, &error) != VS_OK) printf("!%s\n", error.text);
  else printf("%.*s\n", (int)json.bytes.count, json.bytes.data);
  vs_text_deinit(&json);
}

int main(void) {
  char line[64];
  while (fgets(line, sizeof line, stdin) != NULL) {
    const size_t size = (size_t)strtoul(line, NULL, 10);
    char *bytes = malloc(size + 1);
    if (bytes == NULL || fread(bytes, 1, size, stdin) != size) return 1;
    print((vs_str){bytes, size});
    free(bytes);
  }
  return 0;
}
