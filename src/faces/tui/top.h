/* `vramscope top` as a whole, in its shapes: a screen, text, or JSON. */
#ifndef VS_TUI_TOP_H
#define VS_TUI_TOP_H

#include "faces/tui/state.h"

typedef enum vs_top_shape {
  VS_TOP_SCREEN,
  VS_TOP_ONCE,  /* one sample as text, as the screen shows it */
  VS_TOP_JSON,  /* one sample */
  VS_TOP_NDJSON /* a line for each sample */
} vs_top_shape;

typedef struct vs_top_plan {
  const vs_host *host;
  vs_top_shape shape;
  const char *selection; /* vs_devices_select; NULL: every GPU */
  vs_top_wanted wanted;
  uint64_t interval_us;
  uint64_t rounds; /* of NDJSON; 0: until a signal ends it */
  bool has_unicode, has_colour;
  uint32_t columns; /* of text */
  const vs_top_recordings
      *recordings; /* its thread may still use it after vs_top_run where the driver hangs */
  void *ctx;       /* of the functions */
  vs_text *text;   /* where text and JSON are appended */
  /* Called after each sample: writes what is in `text` and empties it. VS_CANCELLED: the reader closed the pipe. */
  vs_status (*flush)(void *ctx);
  void (*waiting)(void *ctx); /* called once if the driver takes long for its first answer */
  /* Called if the terminal cannot show a screen; `error` says why. One sample is printed as text instead. */
  void (*no_screen)(void *ctx, const vs_error *error);
} vs_top_plan;

/* Runs until it is done or ended (Ctrl-C, TERM, HUP: vs_process_hold_end was called). Only one at a time.
 * Fails: as vs_top_collect and flush; `error` has the sentence */
VS_MUST_CHECK vs_status vs_top_run(const vs_top_plan *plan, vs_error *error);

#endif
