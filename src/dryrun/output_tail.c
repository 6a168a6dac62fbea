#include "dryrun/output_tail.h"
#include "os/infile.h"

enum { TAIL = VS_OUTPUT_TAIL / 2 };

/* The last bytes that the reader has, at most TAIL; *is_cut: there were more. */
static size_t read_tail(vs_reader reader, char tail[VS_OUTPUT_TAIL], bool *is_cut) {
  size_t kept = 0, got = 0;
  *is_cut = false;
  while (reader.read(reader.ctx, tail + kept, TAIL, &got) == VS_OK && got != 0) {
    kept += got;
    if (kept <= TAIL) continue;
    memmove(tail, tail + kept - TAIL, TAIL);
    kept = TAIL;
    *is_cut = true;
  }
  return kept;
}

static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/* Whole lines, without blank ones at the end. */
static vs_str lines_of(const char *tail, size_t size, bool is_cut) {
  size_t begin = 0;
  while (size > 0 && is_blank(tail[size - 1])) size--;
  while (is_cut && begin < size && tail[begin] != '\n') begin++;
  if (begin < size && tail[begin] == '\n') begin++;
  return begin < size ? (vs_str){tail + begin, size - begin} : (vs_str){tail, size};
}

vs_str vs_output_tail(const vs_launch *launch, char tail[VS_OUTPUT_TAIL]) {
  char path[VS_FOLDER_PATH + 64];
  vs_infile file;
  vs_error ignored;
  bool is_cut;
  const size_t child = vs_launch_decisive(launch);
  if (child == launch->child_count) return VS_STR("");
  vs_launch_output_path(launch, child, path, sizeof path);
  if (vs_infile_open(&file, path, &ignored) != VS_OK) return VS_STR("");
  const size_t size = read_tail(vs_infile_reader(&file), tail, &is_cut);
  vs_infile_close(&file);
  return lines_of(tail, size, is_cut);
}
