#include "faces/cli/standard_error.h"
#include "base/check.h"
#include "base/glyph.h"
#include "faces/terminal/screen.h"
#include "os/process.h"

vs_exit vs_exit_for(vs_status status) {
  switch (status) {
    case VS_OK: return VS_EXIT_OK;
    case VS_NO_MEMORY: return VS_EXIT_NO_MEMORY;
    case VS_BAD_ARGUMENT:
    case VS_NOT_FOUND: return VS_EXIT_USAGE;
    default: return VS_EXIT_FILE;
  }
}

/* The line is built on the stack, so that a lack of memory can be reported. */

/* As much of `s`, made safe, as fits; never cut inside a character or an escape. */
static vs_str make_safe(char *to, size_t capacity, vs_str s) {
  size_t size = 0;
  for (size_t at = 0; at < s.size;) {
    char piece[VS_GLYPH_PIECE];
    const size_t taken = vs_glyph_safe_piece(piece, s, &at);
    if (size + taken > capacity) break;
    memcpy(to + size, piece, taken);
    size += taken;
  }
  VS_ASSERT(size <= capacity);
  return (vs_str){to, size};
}

/* The longest end of `s` that takes at most `capacity` bytes when made safe: the end of a long path identifies the file. */
static vs_str end_that_fits(vs_str s, size_t capacity) {
  size_t size = 0, skipped = 0;
  char piece[VS_GLYPH_PIECE];
  for (size_t at = 0; at < s.size;) size += vs_glyph_safe_piece(piece, s, &at);
  while (size > capacity) size -= vs_glyph_safe_piece(piece, s, &skipped);
  VS_ASSERT(skipped <= s.size);
  return (vs_str){s.data + skipped, s.size - skipped};
}

vs_exit vs_print_error(vs_str subject, const vs_error *error) {
  enum { SENTENCE_MOST = 400 };
  char sentence[SENTENCE_MOST], place[40] = "", name[VS_ERROR_LINE_MOST], line[VS_ERROR_LINE_MOST + 1];
  const char *text = error->text[0] != 0 ? error->text : vs_status_text(error->status);
  const vs_str said = make_safe(sentence, sizeof sentence, vs_str_from(text));
  if (error->offset != VS_NO_OFFSET) vs_format(place, sizeof place, " (at byte %U)", error->offset);
  VS_ASSERT(sizeof "vramscope: ...: \n" + said.size + strlen(place) <= VS_ERROR_LINE_MOST);
  const size_t room = VS_ERROR_LINE_MOST - sizeof "vramscope: ...: \n" - said.size - strlen(place);
  const vs_str end = end_that_fits(subject, room);
  const vs_str named = make_safe(name, sizeof name, end);
  vs_format(line, sizeof line, "vramscope: %s%S%s%S%s\n", end.size < subject.size ? "..." : "", named,
            subject.size != 0 ? ": " : "", said, place);
  VS_ASSERT(error->status != VS_OK && strlen(line) <= VS_ERROR_LINE_MOST);
  vs_stderr_put(line, strlen(line));
  return vs_exit_for(error->status);
}

/* ---- progress */

enum { PATIENCE_US = 500 * 1000, REDRAW_US = 100 * 1000 };

void vs_progress_begin(vs_progress *progress, bool is_wanted, vs_str name) {
  *progress = (vs_progress){.is_wanted = is_wanted && vs_stream_is_terminal(VS_STDERR)};
  if (!progress->is_wanted) return;
  progress->began_us = vs_process_clock_us();
  const vs_str end = end_that_fits(name, 40);
  const vs_str safe = make_safe(progress->name, sizeof progress->name - 1, end);
  progress->name[safe.size] = 0;
}

/* Moves the cursor to the beginning of the line and clears it. */
static const char erase[] = "\r\x1b[K";

static bool is_time_to_draw(vs_progress *progress) {
  if (!progress->is_wanted) return false;
  const uint64_t now = vs_process_clock_us();
  if (now - progress->began_us < PATIENCE_US || now - progress->drawn_us < REDRAW_US) return false;
  progress->drawn_us = now;
  return true;
}

static void draw(vs_progress *progress, const char *what, uint64_t done, uint64_t total) {
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_text_format(&text, "%s%s %s", erase, what, progress->name);
  if (done != 0) {
    vs_text_cstr(&text, ": ");
    vs_text_bytes(&text, done, VS_UNIT_BINARY);
  }
  if (done != 0 && total != VS_NO_SIZE && total != 0) {
    vs_text_cstr(&text, " of ");
    vs_text_bytes(&text, total, VS_UNIT_BINARY);
  }
  const vs_str view = vs_text_view(&text);
  if (text.status == VS_OK) vs_stderr_put(view.data, view.size);
  vs_text_deinit(&text);
  progress->is_shown = true;
}

void vs_progress_bytes(vs_progress *progress, uint64_t done, uint64_t total) {
  if (is_time_to_draw(progress)) draw(progress, "Reading", done, total);
}

static bool show_reading(void *ctx, uint64_t bytes_read, uint64_t bytes) {
  vs_progress_bytes(ctx, bytes_read, bytes);
  return true;
}

vs_input_watch vs_progress_watch(vs_progress *progress) {
  return (vs_input_watch){.ctx = progress, .reading = show_reading};
}

void vs_progress_working(vs_progress *progress) {
  if (progress->is_shown) draw(progress, "Working on", 0, VS_NO_SIZE);
}

void vs_progress_end(vs_progress *progress) {
  if (progress->is_shown) vs_stderr_put(erase, sizeof erase - 1);
  progress->is_shown = false;
}
