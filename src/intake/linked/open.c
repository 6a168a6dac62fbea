#include "intake/linked/open.h"
#include "intake/linked/database.h"

vs_status vs_intake_open(const vs_host *host, const vs_intake *intake, const char *path, vs_engine **engine,
                         vs_error *error) {
  vs_intake able = *intake;
  vs_symbols *symbols = NULL;
  *engine = NULL;
  vs_status status = vs_engine_create(host, engine);
  if (status == VS_OK) status = vs_symbols_create(host, &symbols);
  if (status == VS_OK || status == VS_UNSUPPORTED) {
    able.name_place = vs_symbols_name;
    able.name_ctx = symbols;
    able.input.databases = vs_databases_linked();
    status = vs_intake_load_path(host, &able, vs_zlib_linked(), path, *engine, error);
  }
  vs_symbols_destroy(symbols);
  if (status == VS_OK) return VS_OK;
  vs_engine_destroy(*engine);
  *engine = NULL;
  return status;
}
