#include "base/text.h"
#include "intake/path.h"
#include "intake/zlib_load.h"
#include <vramscope/files.h>

static vs_status open_file(vs_engine *engine, const char *path, vs_error *error) {
  const vs_host *host = vs_engine_host(engine);
  const vs_intake intake = {.name = vs_str_from(path)};
  vs_zlib_loaded *zlib;
  const vs_status loaded = vs_zlib_load(host, &zlib);
  if (loaded != VS_OK && loaded != VS_UNSUPPORTED) return loaded;
  const vs_status status = vs_intake_load_path(host, &intake, vs_zlib_loaded_api(zlib), path, engine, error);
  vs_zlib_unload(zlib);
  return status;
}

vs_status vs_engine_open(vs_engine *engine, const char *path, vs_error *error) {
  vs_error ignored;
  if (error == NULL) error = &ignored;
  *error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_engine_unload(engine); /* also if the file cannot be opened */
  const vs_status status = open_file(engine, path, error);
  if (status == VS_OK || (error->status == status && error->text[0] != 0)) return status;
  return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
}

static vs_status write_file(void *ctx, const void *data, size_t size) {
  return size == 0 || fwrite(data, 1, size, ctx) == size ? VS_OK : VS_IO;
}

vs_writer vs_file_writer(FILE *file) { return (vs_writer){.ctx = file, .write = write_file}; }
