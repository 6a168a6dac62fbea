/* The terminal. No other file knows ncurses. One at a time, used on the main thread.
 *
 * The terminal is restored however the program ends: by vs_terminal_close, or, where an unexpected signal ends the process
 * (a crash, SIGQUIT), by a signal handler that writes escape sequences that vs_terminal_open prepared. */
#ifndef VS_TUI_TERMINAL_H
#define VS_TUI_TERMINAL_H

#include "faces/tui/canvas.h"

/* NULL in a build without ncursesw. */
const char *vs_terminal_version(void);

/* Takes the terminal over. *has_unicode becomes false if the locale has no Unicode.
 * Fails: VS_UNSUPPORTED  a build without ncurses, or a terminal that cannot place text (TERM=dumb, unknown): the
 *                        sentence says which */
VS_MUST_CHECK vs_status vs_terminal_open(bool has_colour, bool *has_unicode, vs_error *error);
void vs_terminal_close(void); /* does nothing if none is open */

void vs_terminal_size(uint32_t *columns, uint32_t *rows);
void vs_terminal_show(const vs_canvas *canvas);

/* The next key (state.h); VS_KEY_NONE if none came within `timeout_ms`. Sets *is_gone if the terminal was closed. A change
 * of size is VS_KEY_OTHER. */
uint32_t vs_terminal_key(int timeout_ms, bool *is_gone);

#endif
