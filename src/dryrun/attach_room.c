#include "dryrun/attach_room.h"

void vs_attach_put(vs_attach_room *room, const char *text) {
  const vs_writer writer = vs_outfile_writer(&room->out);
  const vs_status status = writer.write(writer.ctx, text, strlen(text));
  (void)status; /* told by vs_outfile_finish */
}

vs_status vs_attach_read(vs_attach_room *room, const char *path, vs_text *text) {
  enum { MOST = 1 << 16 };
  size_t count = 1;
  vs_error ignored;
  text->bytes.count = 0;
  if (vs_infile_open(&room->in, path, &ignored) == VS_OK) {
    const vs_reader reader = vs_infile_reader(&room->in);
    while (count != 0 && text->bytes.count < MOST) {
      char piece[4096];
      if (reader.read(reader.ctx, piece, sizeof piece, &count) != VS_OK) break;
      vs_text_put(text, piece, count);
    }
    vs_infile_close(&room->in);
  }
  vs_text_byte(text, 0);
  return text->status;
}
