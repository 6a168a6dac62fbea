/* The functions at places of a file, one line each, empty where there is none:
 *
 *   name_places FILE BUILD_ID-IN-HEX < OFFSETS-IN-HEX
 *
 * A place is what a return address is: the byte behind the one that is asked about. */
#include "intake/linked/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static size_t bytes_of(const char *hex, char *bytes, size_t capacity) {
  size_t count = 0;
  unsigned byte;
  while (count < capacity && sscanf(hex + 2 * count, "%2x", &byte) == 1) bytes[count++] = (char)byte;
  return count;
}

int main(int argc, char **argv) {
  vs_symbols *symbols;
  vs_place_name names[VS_MOST_PLACE_NAMES];
  char id[64];
  uint64_t offset;
  if (argc != 3 || vs_symbols_create(vs_host_default(), &symbols) != VS_OK) return 2;
  const vs_str build_id = {id, bytes_of(argv[2], id, sizeof id)}, path = vs_str_from(argv[1]);
  while (scanf("%" SCNx64, &offset) == 1) {
    const size_t count = vs_symbols_name(symbols, path, build_id, offset, names);
    const vs_str name = count == 0 ? VS_STR("") : names[count - 1].name;
    printf("%.*s\n", (int)name.size, name.data);
  }
  vs_symbols_destroy(symbols);
  return 0;
}
