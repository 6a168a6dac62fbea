#include "intake/open.h"

static vs_status load(const vs_host *host, const vs_intake *intake, const char *path, vs_engine *engine,
                      vs_error *error) {
  vs_input_file file;
  VS_TRY(vs_input_file_open(&file, host, path, &intake->input, error));
  const vs_status status = vs_intake_load(intake, &file, engine, error);
  vs_input_file_close(&file);
  return status;
}

vs_status vs_intake_open(const vs_host *host, const vs_intake *intake, const char *path, vs_engine **engine,
                         vs_error *error) {
  vs_intake able = *intake;
  vs_symbols *symbols = NULL;
  vs_zlib *zlib = NULL;
  *engine = NULL;
  vs_status status = vs_engine_create(host, engine);
  if (status == VS_OK) status = vs_zlib_create(host, &zlib);
  if (status == VS_OK || status == VS_UNSUPPORTED) status = vs_symbols_create(host, &symbols);
  if (status == VS_OK || status == VS_UNSUPPORTED) {
    able.input.inflater = vs_zlib_inflater(zlib);
    able.name_place = vs_symbols_name;
    able.name_ctx = symbols;
    status = load(host, &able, path, *engine, error);
  }
  vs_symbols_destroy(symbols);
  vs_zlib_destroy(zlib);
  if (status == VS_OK) return VS_OK;
  vs_engine_destroy(*engine);
  *engine = NULL;
  return status;
}
