#include "faces/cli/textfile.h"
#include "base/text.h"

vs_status vs_textfile_read(const char *path, size_t most, vs_text *bytes, vs_error *error) {
  const size_t before = bytes->bytes.count;
  VS_TRY(vs_infile_text(path, most + 1, bytes, error));
  if (bytes->bytes.count - before <= most) return VS_OK;
  return vs_fail(error, VS_LIMIT, most, "the file is too large for what it is to be");
}

vs_status vs_textfile_json(const vs_host *host, const char *path, size_t most, vs_json_doc *document,
                           vs_error *error) {
  vs_text bytes;
  *error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_text_init(&bytes, host, NULL);
  vs_status status = vs_textfile_read(path, most, &bytes, error);
  if (status == VS_OK) status = vs_json_doc_init(document, host, vs_text_view(&bytes), error);
  vs_text_deinit(&bytes);
  if (status != VS_OK && error->status == VS_OK)
    vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  return status;
}

/* Replies begin with their schema; snapshots as JSON do not have such a member. */
static bool begins_as_reply(vs_str head) {
  size_t at = 0;
  const vs_str key = VS_STR("\"schema\"");
  if (head.size == 0 || head.data[at++] != '{') return false;
  while (at < head.size && (head.data[at] == ' ' || head.data[at] == '\n' || head.data[at] == '\r')) at++;
  return vs_str_starts((vs_str){head.data + at, head.size - at}, key);
}

bool vs_textfile_is_reply(const char *path) {
  uint8_t head[32];
  size_t got = 0;
  vs_infile file;
  vs_error error;
  if (!vs_infile_is_regular(path) || vs_infile_open(&file, path, &error) != VS_OK) return false;
  const vs_reader reader = vs_infile_reader(&file);
  const vs_status status = reader.read(reader.ctx, head, sizeof head, &got);
  vs_infile_close(&file);
  return status == VS_OK && begins_as_reply((vs_str){(const char *)head, got});
}
