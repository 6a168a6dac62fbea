/* Any bytes as an SQLite database, which is opened in memory: the tables that are read make a snapshot that keeps its invariants,
 * or there is one sentence. The bytes of SQLite's own name are given, so that every input is taken for a database. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "intake/linked/database.h"
#include "intake/load.h"
#include "query/engine.h"

enum { MEMORY = 64 * 1024 * 1024, NAME = 16, MOST = 1024 * 1024 };

static void must(bool condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "fuzz_database: %s\n", what);
  abort();
}

static void load(const vs_host *host, const uint8_t *data, size_t size) {
  vs_memory_reader bytes;
  vs_input_file file;
  vs_engine *engine;
  vs_error error = {.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_intake intake = {.name = {"input", 5}, .input = {.databases = vs_databases_linked()}};
  if (vs_engine_create(host, &engine) != VS_OK) return;
  const vs_reader reader = vs_reader_from_bytes(&bytes, data, size);
  vs_status status = vs_input_file_over(&file, host, reader, size, &intake.input, &error);
  if (status == VS_OK) {
    status = vs_intake_load(&intake, &file, engine, &error);
    vs_input_file_close(&file);
  }
  const char *broken = vs_engine_check(engine);
  must(broken == NULL, broken);
  must(status == VS_OK || (error.status == status && error.text[0] != 0), "a failure without a sentence");
  must(status == VS_OK || error.offset == VS_NO_OFFSET, "an offset, which would be in another text");
  vs_engine_destroy(engine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  vs_budget budget;
  if (vs_databases_linked() == NULL || size < NAME || size > MOST) return 0;
  uint8_t *named = malloc(size);
  if (named == NULL) return 0;
  memcpy(named, data, size);
  memcpy(named, "SQLite format 3", NAME);
  vs_budget_init(&budget, vs_host_default(), MEMORY);
  load(&budget.host, named, size);
  must(budget.used == 0, "memory was not given back");
  free(named);
  return 0;
}
