#include "intake/load.h"

typedef struct loading {
  const vs_intake *intake;
  vs_input_file *file;
  vs_source source;
} loading;

/* The length of a pipe is known only at its end; the engine reads it only then. */
static vs_status read_on(void *ctx, void *data, size_t capacity, size_t *count) {
  loading *l = ctx;
  const vs_reader reader = vs_input_file_reader(l->file);
  const vs_status status = reader.read(reader.ctx, data, capacity, count);
  VS_ASSERT(status != VS_OK || *count <= capacity);
  if (l->file->bytes == VS_NO_SIZE) l->source.bytes = l->file->bytes_read;
  const vs_writer *tap = l->intake->tap;
  return status != VS_OK || tap == NULL || *count == 0 ? status : tap->write(tap->ctx, data, *count);
}

vs_status vs_intake_load(const vs_intake *intake, vs_input_file *file, vs_engine *engine, vs_error *error) {
  loading l = {.intake = intake,
               .file = file,
               .source = {.name = intake->name, .bytes = file->bytes, .is_compressed = file->is_compressed}};
  const vs_load_options options = {.inflate = intake->input.inflater.frame,
                                   .inflate_ctx = intake->input.inflater.ctx,
                                   .name = intake->name_place,
                                   .name_ctx = intake->name_ctx};
  const vs_reader reader = {.ctx = &l, .read = read_on};
  const vs_status status = vs_engine_load(engine, reader, &l.source, &options, error);
  if (status != VS_OK && file->error.status != VS_OK)
    *error = file->error; /* the cause of the engine's error */
  if (status != VS_OK && file->database != NULL)
    error->offset = VS_NO_OFFSET; /* it would be one of the tables' text, which the file does not contain */
  return status;
}
