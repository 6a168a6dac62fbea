/* From what was seen and what the user wants to a canvas. Nothing is asked or kept here: the same scene
 * gives the same picture.
 *
 * draw.c does the frame (first and last line, notes) and calls the parts, each with its area. */
#ifndef VS_TUI_DRAW_H
#define VS_TUI_DRAW_H

#include "faces/tui/history.h"
#include "faces/tui/layout.h"
#include "faces/tui/view.h"

typedef struct vs_top_scene {
  const vs_top_sample *sample;
  const vs_top_history *history; /* NULL: text, once */
  const vs_top_state *state;
  const vs_top_view *view;
  uint64_t now_us; /* by the clock that only goes forward; of a picture that stands still, when it stopped */
  uint64_t silent_us; /* how long the driver has owed an answer; 0: not worth a word */
  uint64_t hold_us;   /* the longest interval that there was */
} vs_top_scene;

/* Draws it all on a screen of that size; rows VS_LAYOUT_UNBOUNDED: as many as it takes. `page` gets the
 * rows of processes. */
VS_MUST_CHECK vs_status vs_top_draw(const vs_host *host, vs_canvas *canvas, const vs_top_scene *scene,
                                    uint32_t columns, uint32_t rows, uint32_t *page);

/* ---- the parts */

void vs_top_draw_devices(vs_canvas *canvas, vs_area area, const vs_top_scene *scene);
void vs_top_draw_graph(vs_canvas *canvas, vs_area area, const vs_top_scene *scene,
                       const vs_top_device *device);
/* One row for each term; or in lines, of one device behind the other. */
void vs_top_draw_sums(vs_canvas *canvas, vs_area area, const vs_top_device *device);
void vs_top_draw_sum_lines(vs_canvas *canvas, vs_area area, const vs_top_device *device);
void vs_top_draw_processes(vs_canvas *canvas, vs_area area, const vs_top_scene *scene);
void vs_top_draw_help(vs_canvas *canvas, vs_area area);
void vs_top_draw_details(vs_canvas *canvas, vs_area area, const vs_top_scene *scene);

/* What is to be said of a device in words: what is not known and why, what is wrong. Empty: nothing. */
enum { VS_TOP_NOTE = 512 };
void vs_top_note(char to[static VS_TOP_NOTE], const vs_top_device *device);

#endif
