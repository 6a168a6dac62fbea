#include "faces/terminal/statusline.h"
#include "faces/terminal/screen.h"
#include "os/process.h"

enum { ROWS_LEAST = 6 };

static void put(const char *format, uint32_t number) {
  char bytes[64];
  vs_format(bytes, sizeof bytes, format, number);
  vs_stderr_put(bytes, strlen(bytes));
}

void vs_statusline_begin(vs_statusline *line, bool is_wanted) {
  const char *terminal = vs_process_variable("TERM");
  *line = (vs_statusline){.is_possible = is_wanted && terminal != NULL && vs_stream_is_terminal(VS_STDERR) &&
                                         !vs_str_equal(vs_str_from(terminal), VS_STR("dumb"))};
}

/* Excludes the last row from scrolling. Setting the margins moves the cursor, so its position is saved and restored; the
 * step down before, and up after, moves a cursor out of the last row. */
static void arrange(vs_statusline *line, uint32_t rows) {
  put("\x1b"
      "D\x1b"
      "7\x1b[1;%ur\x1b"
      "8\x1b[A",
      rows - 1);
  line->is_set = true;
  line->rows = rows;
}

static void release(vs_statusline *line) {
  if (!line->is_set) return;
  put("\x1b"
      "7\x1b[r\x1b[%u;1H\x1b[2K\x1b"
      "8",
      line->rows);
  line->is_set = false;
}

void vs_statusline_draw(vs_statusline *line, vs_str text) {
  const uint32_t rows = vs_stream_rows(VS_STDERR), columns = vs_stream_columns(VS_STDERR);
  if (!line->is_possible || rows < ROWS_LEAST || columns < VS_SCREEN_LEAST) {
    release(line);
    return;
  }
  if (line->is_set && line->rows != rows) release(line);
  if (!line->is_set) arrange(line, rows);
  vs_text bytes, safe;
  vs_text_init(&bytes, vs_host_default(), NULL);
  vs_text_init(&safe, vs_host_default(), NULL);
  vs_screen_safe(&safe, text);
  vs_text_format(&bytes,
                 "\x1b"
                 "7\x1b[%u;1H\x1b[2K\x1b[2m",
                 rows);
  vs_screen_fit_start(&bytes, vs_text_view(&safe), columns - 1);
  vs_text_cstr(&bytes, "\x1b[0m\x1b"
                       "8");
  const vs_str view = vs_text_view(&bytes);
  if (bytes.status == VS_OK) vs_stderr_put(view.data, view.size);
  vs_text_deinit(&safe);
  vs_text_deinit(&bytes);
}

void vs_statusline_end(vs_statusline *line) { release(line); }
