#include "faces/cli/diff_options.h"

const char *vs_diff_moment_of(const vs_cli *cli, vs_text *scratch, unsigned side) {
  const char *at = cli->line->values[VS_OPTION_AT_EACH];
  if (at == NULL) return NULL;
  const vs_str whole = vs_str_from(at);
  size_t comma = 0;
  while (comma < whole.size && whole.data[comma] != ',') comma++;
  if (comma == whole.size) return at;
  if (side == 1) return at + comma + 1;
  vs_text_put(scratch, at, comma);
  vs_text_byte(scratch, 0);
  return scratch->status == VS_OK ? scratch->bytes.data : "";
}

vs_diff_by vs_diff_by_of(const vs_cli *cli) {
  const char *by = cli->line->values[VS_OPTION_BY_OWNER];
  for (unsigned i = 0; i < VS_DIFF_BY_COUNT && by != NULL; i++)
    if (vs_str_equal(vs_str_from(by), vs_str_from(vs_diff_by_names[i]))) return (vs_diff_by)i;
  return VS_DIFF_BY_line;
}
