#include "faces/dryrun/ledger.h"

static bool is_of_pytorch(vs_json row) {
  return vs_str_equal(vs_reply_str(row, "kind"), VS_STR("pytorch"));
}

void vs_sheet_put_ledger(vs_sheet *p) {
  enum { OWNERS_SHOWN = 6 };
  const vs_json ledger = vs_reply_at(p->card, "ledger");
  uint64_t shown = 0, more = 0, rest = 0;
  vs_text *line = vs_sheet_begin(p);
  for (size_t i = 0; i < vs_json_count(ledger); i++) {
    const vs_json row = vs_json_at(ledger, i);
    const uint64_t bytes = vs_reply_u64(row, "bytes");
    if (is_of_pytorch(row)) continue;
    if (shown == OWNERS_SHOWN) {
      more++;
      rest += bytes;
      continue;
    }
    if (shown++ != 0) vs_text_cstr(line, ", ");
    vs_sheet_bytes(p, bytes);
    vs_text_byte(line, ' ');
    vs_screen_safe(line, vs_reply_str(row, "owner"));
  }
  if (more != 0) {
    vs_text_cstr(line, ", ");
    vs_sheet_bytes(p, rest);
    vs_text_format(line, " %U others", more);
  }
  if (shown > 1) vs_sheet_end(p, "Beside", VS_STYLE_TITLE);
}
