#include "dryrun/attach_room.h"

void vs_attach_put(vs_attach_room *room, const char *text) {
  const vs_writer writer = vs_outfile_writer(&room->out);
  const vs_status status = writer.write(writer.ctx, text, strlen(text));
  (void)status; /* told by vs_outfile_finish */
}

vs_status vs_attach_read(const char *path, vs_text *text) {
  enum { MOST = 1 << 16 };
  vs_error ignored;
  text->bytes.count = 0;
  const vs_status status = vs_infile_text(path, MOST, text, &ignored);
  (void)status; /* it may not be there yet */
  vs_text_byte(text, 0);
  return text->status;
}
