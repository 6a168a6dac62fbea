/* What the user chose, and what the keys do to it. Plain data: a key is a number, so a test can press it.
 *
 * A key changes only the picture: `top` never ends, suspends or reprioritises a process. */
#ifndef VS_TUI_STATE_H
#define VS_TUI_STATE_H

#include "faces/tui/sample.h"

/* The columns by which processes are sorted: VS_TOP_SORT(name, word, is_falling). `is_falling`: the
 * largest first unless reversed. */
#define VS_TOP_SORTS(VS_TOP_SORT)     \
  VS_TOP_SORT(MEMORY, "memory", true) \
  VS_TOP_SORT(DEVICE, "GPU", false)   \
  VS_TOP_SORT(PID, "pid", false)      \
  VS_TOP_SORT(USER, "user", false)    \
  VS_TOP_SORT(KIND, "type", false)    \
  VS_TOP_SORT(START, "started", true) \
  VS_TOP_SORT(COMMAND, "command", false)

typedef enum vs_top_sort {
#define VS_TOP_SORT(name, word, is_falling) VS_TOP_SORT_##name,
  VS_TOP_SORTS(VS_TOP_SORT)
#undef VS_TOP_SORT
      VS_TOP_SORT_COUNT
} vs_top_sort;

typedef enum vs_top_editing { VS_TOP_EDIT_NOTHING, VS_TOP_EDIT_FILTER, VS_TOP_EDIT_INTERVAL } vs_top_editing;

/* The processes that -u and -p name, as lists separated by commas; the typed filter applies on top of them. */
typedef struct vs_top_wanted {
  const char *users, *pids; /* NULL: all */
} vs_top_wanted;

enum { VS_TOP_TEXT = 64, VS_TOP_ZOOMS = 6 };

typedef struct vs_top_state {
  vs_top_wanted wanted;
  vs_top_sort sort;
  bool is_reversed;
  char filter[VS_TOP_TEXT]; /* "": none */
  vs_top_editing editing;
  char typed[VS_TOP_TEXT];
  char complaint[96]; /* why the typed text was refused; shown until the next key */
  bool is_paused, has_graph, has_help, has_details;
  bool is_one_device;   /* only the processes of the selected device */
  char device_uuid[96]; /* the selected device; "": the first */
  uint64_t chosen_pid;  /* the process that the arrows chose; 0: none */
  char chosen_uuid[96]; /* its device */
  uint32_t zoom;        /* of the graphs, below VS_TOP_ZOOMS */
  uint64_t interval_us;
  bool is_over;
} vs_top_state;

enum { VS_TOP_LEAST_INTERVAL_MS = 100, VS_TOP_MOST_INTERVAL_MS = 3600 * 1000 };

/* Keys that are not characters. A character is its code point. */
typedef enum vs_top_key {
  VS_KEY_UP = 0x110000,
  VS_KEY_DOWN,
  VS_KEY_LEFT,
  VS_KEY_RIGHT,
  VS_KEY_PAGE_UP,
  VS_KEY_PAGE_DOWN,
  VS_KEY_HOME,
  VS_KEY_END,
  VS_KEY_BACK_TAB,
  VS_KEY_BACKSPACE,
  VS_KEY_OTHER, /* a key without a meaning here, or a change of the terminal's size */
  VS_KEY_NONE
} vs_top_key;
enum { VS_KEY_TAB = 9, VS_KEY_ENTER = 10, VS_KEY_ESCAPE = 27, VS_KEY_DELETE = 127 };

void vs_top_state_init(vs_top_state *state, uint64_t interval_us);

/* "0.5", "2": seconds into microseconds. Returns false and stores nothing if the text is not a number or out of bounds. */
bool vs_top_parse_interval(vs_str text, uint64_t *interval_us);

/* How many intervals a column of dots stands for. */
uint32_t vs_top_zoom_steps(uint32_t zoom);

const char *vs_top_sort_word(vs_top_sort sort);

struct vs_top_view; /* view.h */

/* Applies one key. `view` is what is on the screen and was built of `sample`; `page` is how many rows of processes fit. */
void vs_top_press(vs_top_state *state, const vs_top_sample *sample, const struct vs_top_view *view,
                  uint32_t key, uint32_t page);

#endif
