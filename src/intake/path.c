#include "intake/path.h"

static vs_status load(const vs_host *host, const vs_intake *intake, const char *path, vs_engine *engine,
                      vs_error *error) {
  vs_input_file file;
  VS_TRY(vs_input_file_open(&file, host, path, &intake->input, error));
  const vs_status status = vs_intake_load(intake, &file, engine, error);
  vs_input_file_close(&file);
  return status;
}

vs_status vs_intake_load_path(const vs_host *host, const vs_intake *intake, const vs_zlib_api *api,
                              const char *path, vs_engine *engine, vs_error *error) {
  vs_intake able = *intake;
  vs_zlib *zlib = NULL;
  vs_status status = vs_zlib_create(host, api, &zlib);
  if (status == VS_OK || status == VS_UNSUPPORTED) {
    able.input.inflater = vs_zlib_inflater(zlib);
    status = load(host, &able, path, engine, error);
  }
  vs_zlib_destroy(zlib);
  return status;
}
