#include "faces/cli/feed.h"
#include "base/text.h"
#include "faces/cli/inflate.h"
#include "os/process.h"

/* ---- a head: reads ahead, then gives back what it read */

static vs_status read_head(void *ctx, void *data, size_t capacity, size_t *count) {
  vs_head *head = ctx;
  if (head->at == head->count) return head->reader.read(head->reader.ctx, data, capacity, count);
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

/* ---- the feed */

/* The file itself, counted. */
static vs_status read_file(void *ctx, void *data, size_t capacity, size_t *count) {
  vs_feed *feed = ctx;
  const vs_reader reader = vs_infile_reader(&feed->file);
  const vs_status status = reader.read(reader.ctx, data, capacity, count);
  if (status != VS_OK) feed->error = feed->file.error;
  feed->bytes_read += *count;
  vs_progress_bytes(feed->progress, feed->bytes_read, feed->file.size);
  return status;
}

static vs_status begin_inflating(vs_feed *feed) {
  feed->is_compressed = true;
  const vs_status status =
      vs_inflate_create(feed->host, head_reader(&feed->raw), &feed->error, &feed->inflate);
  if (status == VS_UNSUPPORTED)
    return vs_fail(&feed->error, status, VS_NO_OFFSET,
                   "it is compressed with gzip, which this build cannot read; unpack it first: gzip -d FILE");
  if (status != VS_OK) return vs_fail(&feed->error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  VS_TRY(fill_head(&feed->plain, vs_inflate_reader(feed->inflate)));
  if (vs_begins_as_gzip(feed->plain.bytes, feed->plain.count))
    return vs_fail(&feed->error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "it is compressed twice; unpack it first: gzip -d FILE");
  return refuse_foreign(&feed->plain, &feed->error);
}

static vs_status open_file(vs_feed *feed, const char *name) {
  if (!vs_str_equal(vs_str_from(name), VS_STR("-"))) return vs_infile_open(&feed->file, name, &feed->error);
  if (vs_stream_is_terminal(VS_STDIN))
    return vs_fail(&feed->error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "it is the keyboard; pipe a file into it");
  return vs_infile_stdin(&feed->file, &feed->error);
}

static vs_status open_feed(vs_feed *feed, const char *name) {
  VS_TRY(open_file(feed, name));
  VS_TRY(fill_head(&feed->raw, (vs_reader){.ctx = feed, .read = read_file}));
  if (vs_begins_as_gzip(feed->raw.bytes, feed->raw.count)) return begin_inflating(feed);
  return refuse_foreign(&feed->raw, &feed->error);
}

vs_status vs_feed_open(vs_feed *feed, const vs_host *host, const char *name, vs_progress *progress,
                       vs_error *error) {
  *feed = (vs_feed){.host = host, .progress = progress, .file = {.fd = -1}};
  feed->error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  const vs_status status = open_feed(feed, name);
  if (status == VS_OK) return VS_OK;
  *error = feed->error;
  error->status =
      status == VS_NOT_FOUND ? VS_IO : status; /* a missing file is an input that cannot be read */
  vs_feed_close(feed);
  return error->status;
}

void vs_feed_close(vs_feed *feed) {
  vs_inflate_destroy(feed->inflate);
  feed->inflate = NULL;
  vs_infile_close(&feed->file);
}

vs_reader vs_feed_reader(vs_feed *feed) {
  return head_reader(feed->is_compressed ? &feed->plain : &feed->raw);
}
