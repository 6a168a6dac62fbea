#include "faces/tui/terminal.h"
#include "base/check.h"
#include "faces/tui/state.h"

#if VS_WITH_TUI

#include <curses.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>
#undef columns /* of term.h: a name for what the terminal database says */

/* The number in "ncurses 6.4.20221231". */
const char *vs_terminal_version(void) {
  const char *text = curses_version(), *space = strchr(text, ' ');
  return space == NULL ? text : space + 1;
}

/* The main thread sets it before it installs the signal handler, which reads it. */
static struct {
  SCREEN *screen;
  bool has_colour;
  struct termios before;
  bool has_before;
  char restore[128]; /* escape sequences for the normal screen, colours and cursor */
  size_t restore_size;
} terminal;

/* ---- an unexpected signal: only async-signal-safe calls */

static void end_by_signal(int number) {
  const ssize_t written = write(STDOUT_FILENO, terminal.restore, terminal.restore_size);
  (void)written; /* the process ends, so a failure cannot be reported */
  if (terminal.has_before) (void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal.before);
  (void)signal(number, SIG_DFL);
  (void)raise(number);
}

static void catch_signal(int number) {
  struct sigaction action;
  if (sigaction(number, NULL, &action) != 0 || action.sa_handler != SIG_DFL)
    return; /* a sanitizer handles it, or it is ignored */
  memset(&action, 0, sizeof action);
  action.sa_handler = end_by_signal;
  (void)sigaction(number, &action, NULL);
}

static void prepare_signals(void) {
  static const int numbers[] = {SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) catch_signal(numbers[i]);
}

/* Appends a capability of the terminal database without its delays, such as "$<5>", which today's terminals do not need. */
static void prepare_restore(const char *capability) {
  const char *text = tigetstr(capability);
  if (text == NULL || text == (char *)-1) return;
  for (size_t i = 0; text[i] != 0 && terminal.restore_size < sizeof terminal.restore; i++) {
    if (text[i] == '$' && text[i + 1] == '<')
      while (text[i + 1] != 0 && text[i] != '>') i++;
    else terminal.restore[terminal.restore_size++] = text[i];
  }
}

/* ---- opening */

/* Sets the user's locale, or C.UTF-8 where the system does not have that locale. */
static bool set_unicode(bool is_wanted) {
  if (setlocale(LC_CTYPE, "") == NULL || (is_wanted && MB_CUR_MAX < 4)) (void)setlocale(LC_CTYPE, "C.UTF-8");
  return is_wanted && MB_CUR_MAX >= 4;
}

static vs_status check_abilities(vs_error *error) {
  const char *name = getenv("TERM");
  int found = 0;
  if (name == NULL || *name == 0 || setupterm(name, STDOUT_FILENO, &found) != OK)
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, "unknown terminal \"%s\" (TERM)",
                   name == NULL ? "" : name);
  const char *place = tigetstr("cup");
  const bool can_place = place != NULL && place != (char *)-1;
  (void)del_curterm(cur_term); /* newterm makes its own */
  if (!can_place)
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, "the terminal \"%s\" cannot place text (TERM)", name);
  return VS_OK;
}

static const short ink_colours[VS_INK_COUNT] = {
    [VS_INK_LIGHT] = COLOR_GREEN, [VS_INK_MODERATE] = COLOR_YELLOW, [VS_INK_HEAVY] = COLOR_RED,
    [VS_INK_ACCENT] = COLOR_CYAN, [VS_INK_TROUBLE] = COLOR_RED,
};

static void prepare_colours(bool has_colour) {
  terminal.has_colour = has_colour && has_colors() && start_color() == OK;
  if (!terminal.has_colour) return;
  (void)use_default_colors();
  for (int ink = 0; ink < VS_INK_COUNT; ink++)
    if (ink_colours[ink] != 0) (void)init_pair((short)(ink + 1), ink_colours[ink], -1);
}

vs_status vs_terminal_open(bool has_colour, bool *has_unicode, vs_error *error) {
  *has_unicode = set_unicode(*has_unicode);
  VS_TRY(check_abilities(error));
  terminal.has_before = tcgetattr(STDIN_FILENO, &terminal.before) == 0;
  /* ncurses would prefer these to the terminal's own size, and a shell's exported values do not follow a resize. */
  (void)unsetenv("COLUMNS");
  (void)unsetenv("LINES");
  VS_ASSERT(terminal.screen == NULL); /* one at a time */
  terminal.screen = newterm(NULL, stdout, stdin);
  if (terminal.screen == NULL)
    return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET, "the terminal cannot be used (TERM)");
  terminal.restore_size = 0;
  prepare_restore("sgr0");
  prepare_restore("cnorm");
  prepare_restore("rmcup");
  prepare_signals();
  prepare_colours(has_colour);
  (void)cbreak();
  (void)noecho();
  (void)nonl();
  (void)intrflush(stdscr, FALSE);
  (void)keypad(stdscr, TRUE);
  (void)nodelay(stdscr, TRUE);
  (void)set_escdelay(25);
  (void)curs_set(0);
  return VS_OK;
}

void vs_terminal_close(void) {
  if (terminal.screen == NULL) return;
  (void)curs_set(1);
  (void)endwin();
  delscreen(terminal.screen);
  terminal.screen = NULL;
}

/* ---- showing */

void vs_terminal_size(uint32_t *columns, uint32_t *rows) {
  int y, x;
  getmaxyx(stdscr, y, x);
  *rows = y > 0 ? (uint32_t)y : 1;
  *columns = x > 0 ? (uint32_t)x : 1;
}

static attr_t attributes_of(vs_ink ink) {
  switch (ink) {
    case VS_INK_TITLE: return A_BOLD;
    case VS_INK_FAINT:
      return terminal.has_colour ? A_DIM : A_NORMAL; /* without colours dim is often unreadable */
    case VS_INK_HEAVY: return A_BOLD;
    case VS_INK_TROUBLE: return A_BOLD | A_REVERSE;
    case VS_INK_BAR:
    case VS_INK_CHOSEN: return A_REVERSE;
    default: return A_NORMAL;
  }
}

static void show_cell(const vs_canvas_cell *cell, int y, int x) {
  const wchar_t text[2] = {(wchar_t)cell->glyph, 0};
  const vs_ink ink = (vs_ink)cell->ink;
  const short pair = terminal.has_colour && ink_colours[ink] != 0 ? (short)(ink + 1) : 0;
  cchar_t shown;
  VS_ASSERT(ink < VS_INK_COUNT);
  if (cell->glyph == 0) return; /* the right half of a character of two columns */
  if (setcchar(&shown, text, attributes_of(ink), pair, NULL) == OK) (void)mvadd_wch(y, x, &shown);
}

void vs_terminal_show(const vs_canvas *canvas) {
  VS_ASSERT(terminal.screen != NULL && vs_canvas_check(canvas) == NULL);
  (void)erase();
  for (uint32_t y = 0; y < canvas->rows; y++)
    for (uint32_t x = 0; x < canvas->columns; x++)
      show_cell(&canvas->cells.data[(size_t)y * canvas->columns + x], (int)y, (int)x);
  (void)refresh();
}

/* ---- keys */

static uint32_t key_of(wint_t key) {
  switch (key) {
    case KEY_UP: return VS_KEY_UP;
    case KEY_DOWN: return VS_KEY_DOWN;
    case KEY_LEFT: return VS_KEY_LEFT;
    case KEY_RIGHT: return VS_KEY_RIGHT;
    case KEY_PPAGE: return VS_KEY_PAGE_UP;
    case KEY_NPAGE: return VS_KEY_PAGE_DOWN;
    case KEY_HOME: return VS_KEY_HOME;
    case KEY_END: return VS_KEY_END;
    case KEY_BTAB: return VS_KEY_BACK_TAB;
    case KEY_BACKSPACE: return VS_KEY_BACKSPACE;
    case KEY_ENTER: return VS_KEY_ENTER;
    case KEY_F(1): return '?';
    case KEY_F(10): return 'q';
    default: return VS_KEY_OTHER; /* also KEY_RESIZE */
  }
}

uint32_t vs_terminal_key(int timeout_ms, bool *is_gone) {
  wint_t key;
  int got = get_wch(&key); /* bytes that ncurses has read already do not show in poll */
  if (got == ERR) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    const int ready = poll(&input, 1, timeout_ms);
    *is_gone = ready > 0 && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
    got = get_wch(&key);
  }
  if (got == ERR) return VS_KEY_NONE;
  return got == KEY_CODE_YES ? key_of(key) : (uint32_t)key;
}

#else

const char *vs_terminal_version(void) { return NULL; }

vs_status vs_terminal_open(bool has_colour, bool *has_unicode, vs_error *error) {
  (void)has_colour;
  (void)has_unicode;
  return vs_fail(error, VS_UNSUPPORTED, VS_NO_OFFSET,
                 "this build has no screen (it was made without ncursesw)");
}
void vs_terminal_close(void) {}
void vs_terminal_size(uint32_t *columns, uint32_t *rows) { *columns = *rows = 0; }
void vs_terminal_show(const vs_canvas *canvas) { (void)canvas; }
uint32_t vs_terminal_key(int timeout_ms, bool *is_gone) {
  (void)timeout_ms;
  *is_gone = true;
  return VS_KEY_NONE;
}

#endif
