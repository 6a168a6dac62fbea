#include "intake/input_file.h"
#include "base/text.h"
#include "os/process.h"

/* ---- a head: the first bytes, read ahead and then returned again */

static vs_status read_head(void *ctx, void *data, size_t capacity, size_t *count) {
  vs_head *head = ctx;
  if (head->at == head->count) return head->reader.read(head->reader.ctx, data, capacity, count);
  VS_ASSERT(head->at <= head->count && head->count <= sizeof head->bytes);
  const size_t left = head->count - head->at;
  *count = left < capacity ? left : capacity;
  memcpy(data, head->bytes + head->at, *count);
  head->at += *count;
  return VS_OK;
}

static vs_status fill_head(vs_head *head, vs_reader reader) {
  *head = (vs_head){.reader = reader};
  size_t count = 1;
  while (head->count < sizeof head->bytes && count != 0) {
    VS_TRY(reader.read(reader.ctx, head->bytes + head->count, sizeof head->bytes - head->count, &count));
    VS_ASSERT(count <= sizeof head->bytes - head->count);
    head->count += count;
  }
  return VS_OK;
}

static vs_reader head_reader(vs_head *head) { return (vs_reader){.ctx = head, .read = read_head}; }

static vs_status refuse_foreign(const vs_head *head, vs_error *error) {
  if (head->count == 0) return vs_fail(error, VS_TRUNCATED, VS_NO_OFFSET, "the file is empty");
  const char *sentence = vs_foreign_sentence(head->bytes, head->count);
  return sentence == NULL ? VS_OK : vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, "%s", sentence);
}

/* ---- the file */

/* Reads the source and counts its bytes. */
static vs_status read_source(void *ctx, void *data, size_t capacity, size_t *count) {
  vs_input_file *file = ctx;
  const vs_input_watch *watch = &file->watch;
  const vs_status status = file->source.read(file->source.ctx, data, capacity, count);
  if (status != VS_OK) {
    if (file->disk.error.status != VS_OK) file->error = file->disk.error;
    return status;
  }
  VS_ASSERT(*count <= capacity);
  file->bytes_read += *count;
  return watch->reading == NULL || watch->reading(watch->ctx, file->bytes_read, file->bytes) ? VS_OK
                                                                                             : VS_CANCELLED;
}

/* The decompressed bytes. */
static vs_reader content_reader(vs_input_file *file) {
  return head_reader(file->is_compressed ? &file->plain : &file->raw);
}

/* Opens a database, or refuses what is no file of ours. `path`: of a file that is one as it is stored, or NULL. */
static vs_status look_at_content(vs_input_file *file, const vs_host *host, const char *path) {
  const vs_head *head = file->is_compressed ? &file->plain : &file->raw;
  if (file->databases == NULL || !vs_begins_as_sqlite(head->bytes, head->count))
    return refuse_foreign(head, &file->error);
  const vs_status status =
      file->databases->open(host, path, content_reader(file), &file->error, &file->database);
  if (status == VS_OK || file->error.status != VS_OK) return status;
  return vs_fail(&file->error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
}

static vs_status begin_unpacking(vs_input_file *file, const vs_host *host) {
  VS_ASSERT(file->gzip == NULL);
  file->is_compressed = true;
  if (file->inflater.unpack == NULL)
    return vs_fail(&file->error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "it is compressed with gzip, which this program cannot read without zlib (libz.so.1); "
                   "unpack it first: gzip -d FILE");
  const vs_status status =
      vs_gzip_create(host, head_reader(&file->raw), &file->inflater, &file->error, &file->gzip);
  if (status != VS_OK) return vs_fail(&file->error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  VS_TRY(fill_head(&file->plain, vs_gzip_reader(file->gzip)));
  if (vs_begins_as_gzip(file->plain.bytes, file->plain.count))
    return vs_fail(&file->error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "it is compressed twice; unpack it first: gzip -d FILE");
  return look_at_content(file, host, NULL);
}

static vs_status look(vs_input_file *file, const vs_host *host, const char *path) {
  VS_TRY(fill_head(&file->raw, (vs_reader){.ctx = file, .read = read_source}));
  if (vs_begins_as_gzip(file->raw.bytes, file->raw.count)) return begin_unpacking(file, host);
  return look_at_content(file, host, path);
}

static vs_status open_disk(vs_input_file *file, const char *path) {
  if (!vs_str_equal(vs_str_from(path), VS_STR("-"))) return vs_infile_open(&file->disk, path, &file->error);
  if (vs_stream_is_terminal(VS_STDIN))
    return vs_fail(&file->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "it is the keyboard; pipe a file into it");
  return vs_infile_stdin(&file->disk, &file->error);
}

static void begin(vs_input_file *file, const vs_input_options *options) {
  *file = (vs_input_file){.disk = {.fd = -1},
                          .inflater = options->inflater,
                          .watch = options->watch,
                          .databases = options->databases};
  file->error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
}

/* Closes a file that could not be opened and copies its error. */
static vs_status opened(vs_input_file *file, vs_status status, vs_error *error) {
  if (status == VS_OK) return VS_OK;
  *error = file->error;
  error->status = status;
  vs_input_file_close(file);
  return status;
}

vs_status vs_input_file_over(vs_input_file *file, const vs_host *host, vs_reader source, uint64_t bytes,
                             const vs_input_options *options, vs_error *error) {
  begin(file, options);
  file->source = source;
  file->bytes = bytes;
  return opened(file, look(file, host, NULL), error);
}

vs_status vs_input_file_open(vs_input_file *file, const vs_host *host, const char *path,
                             const vs_input_options *options, vs_error *error) {
  begin(file, options);
  vs_status status = open_disk(file, path);
  file->source = vs_infile_reader(&file->disk);
  file->bytes = file->disk.size;
  const bool is_regular = file->disk.is_ours && file->disk.size != VS_NO_SIZE;
  if (status == VS_OK) status = look(file, host, is_regular ? path : NULL);
  /* VS_NOT_FOUND is VS_IO for the caller: the input cannot be read. */
  return opened(file, status == VS_NOT_FOUND ? VS_IO : status, error);
}

void vs_input_file_close(vs_input_file *file) {
  if (file->database != NULL) file->databases->close(file->database);
  file->database = NULL;
  vs_gzip_destroy(file->gzip);
  file->gzip = NULL;
  vs_infile_close(&file->disk);
}

/* The library reads the file's pages by itself, so the watcher is told no progress, but can cancel. */
static vs_status read_database(void *ctx, void *data, size_t capacity, size_t *count) {
  vs_input_file *file = ctx;
  const vs_reader reader = file->databases->reader(file->database);
  const vs_input_watch *watch = &file->watch;
  VS_TRY(reader.read(reader.ctx, data, capacity, count));
  VS_ASSERT(*count <= capacity);
  return watch->reading == NULL || watch->reading(watch->ctx, file->bytes_read, file->bytes) ? VS_OK
                                                                                             : VS_CANCELLED;
}

vs_reader vs_input_file_reader(vs_input_file *file) {
  if (file->database != NULL) return (vs_reader){.ctx = file, .read = read_database};
  return content_reader(file);
}
