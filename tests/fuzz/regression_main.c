/* Runs a fuzz target over every file of the directories given: seeds, and the inputs that once broke something.
 * Each file gets a heap block of its exact size, so that a sanitizer sees the first byte read beyond it. */
#include "fuzz.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool run_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    perror(path);
    if (file != NULL) fclose(file);
    return false;
  }
  const size_t size = (size_t)ftell(file);
  rewind(file);
  uint8_t *data = malloc(size > 0 ? size : 1);
  const bool whole = data != NULL && fread(data, 1, size, file) == size;
  fclose(file);
  if (whole) LLVMFuzzerTestOneInput(data, size);
  else perror(path);
  free(data);
  return whole;
}

static int visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* Returns the number of files run, or -1. In the order of their names, so that a failure comes again. */
static int run_directory(const char *directory) {
  struct dirent **entries;
  const int count = scandir(directory, &entries, visible, alphasort);
  if (count < 0) {
    perror(directory);
    return -1;
  }
  bool good = true;
  for (int i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
    fprintf(stderr, "%s\n", path); /* the last line names the input that broke it */
    good = run_file(path) && good;
    free(entries[i]);
  }
  free(entries);
  return good ? count : -1;
}

int main(int argc, char **argv) {
  LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
  for (int i = 1; i < argc; i++) {
    const int count = run_directory(argv[i]);
    if (count == 0) fprintf(stderr, "%s: no inputs; a fuzz target needs at least one seed\n", argv[i]);
    if (count <= 0) return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
