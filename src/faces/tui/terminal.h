/* The terminal: the one place that knows ncurses. One at a time, on the main thread.
 *
 * However the program ends, the terminal is as it was: by vs_terminal_close, and, where a signal that
 * nobody waits for ends the process (a crash, SIGQUIT), by a handler that writes what was prepared at the
 * beginning. */
#ifndef VS_TUI_TERMINAL_H
#define VS_TUI_TERMINAL_H

#include "faces/tui/canvas.h"

/* NULL in a build without ncursesw. */
const char *vs_terminal_version(void);

/* Takes the terminal over. *has_unicode becomes false where its character set does not have it. Fails:
 * VS_UNSUPPORTED  a build without ncurses, or a terminal that cannot place text (TERM=dumb, unknown): the
 *                        sentence says which */
VS_MUST_CHECK vs_status vs_terminal_open(bool has_colour, bool *has_unicode, vs_error *error);
void vs_terminal_close(void); /* fine where none is open */

void vs_terminal_size(uint32_t *columns, uint32_t *rows);
void vs_terminal_show(const vs_canvas *canvas);

/* The next key (state.h), VS_KEY_NONE where none came for `timeout_ms`. *is_gone: there is no terminal any
 * more. A change of size counts as a key that does nothing. */
uint32_t vs_terminal_key(int timeout_ms, bool *is_gone);

#endif
