/* Draws a sample, as the user wants to see it, onto a canvas. These functions have no state: the same scene
 * gives the same picture.
 *
 * draw.c draws the first and the last line and the notes, and calls the parts, each with its area. */
#ifndef VS_TUI_DRAW_H
#define VS_TUI_DRAW_H

#include "faces/tui/history.h"
#include "faces/tui/layout.h"
#include "faces/tui/view.h"

typedef struct vs_top_scene {
  const vs_top_sample *sample;
  const vs_top_history *history; /* NULL: text of one sample, without graphs */
  const vs_top_state *state;
  const vs_top_view *view;
  uint64_t now_us;    /* by the monotonic clock; while the picture is paused, when it was paused */
  uint64_t silent_us; /* for how long the driver has not answered; 0: too short to be shown */
  uint64_t hold_us;   /* the longest interval of this run */
} vs_top_scene;

/* Draws everything on a screen of that size; rows VS_LAYOUT_UNBOUNDED: as many as it takes. `page` gets the
 * rows of processes. */
VS_MUST_CHECK vs_status vs_top_draw(const vs_host *host, vs_canvas *canvas, const vs_top_scene *scene,
                                    uint32_t columns, uint32_t rows, uint32_t *page);

/* ---- the parts */

void vs_top_draw_devices(vs_canvas *canvas, vs_area area, const vs_top_scene *scene);
void vs_top_draw_graph(vs_canvas *canvas, vs_area area, const vs_top_scene *scene,
                       const vs_top_device *device);
/* The sums of a device: one row for each term, or in one or two lines. */
void vs_top_draw_sums(vs_canvas *canvas, vs_area area, const vs_top_device *device);
void vs_top_draw_sum_lines(vs_canvas *canvas, vs_area area, const vs_top_device *device);
void vs_top_draw_processes(vs_canvas *canvas, vs_area area, const vs_top_scene *scene);
void vs_top_draw_help(vs_canvas *canvas, vs_area area);
void vs_top_draw_details(vs_canvas *canvas, vs_area area, const vs_top_scene *scene);

enum { VS_TOP_NOTE = 512 };
/* Writes what is wrong with a device, and which figures are unknown and why; "" for nothing. */
void vs_top_note(char to[static VS_TOP_NOTE], const vs_top_device *device);

#endif
