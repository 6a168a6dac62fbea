/* What each key does. The footer (draw.c) and the help (draw_help.c) describe the same keys. */
#include "base/check.h"
#include "faces/tui/view.h"

void vs_top_state_init(vs_top_state *state, uint64_t interval_us) {
  *state = (vs_top_state){.sort = VS_TOP_SORT_MEMORY, .has_graph = true, .interval_us = interval_us};
}

uint32_t vs_top_zoom_steps(uint32_t zoom) {
  static const uint32_t steps[VS_TOP_ZOOMS] = {1, 2, 5, 15, 60, 240};
  VS_ASSERT(zoom < VS_TOP_ZOOMS);
  return steps[zoom];
}

const char *vs_top_sort_word(vs_top_sort sort) {
  static const char *const words[] = {
#define VS_TOP_SORT(name, word, is_falling) [VS_TOP_SORT_##name] = word,
      VS_TOP_SORTS(VS_TOP_SORT)
#undef VS_TOP_SORT
  };
  VS_ASSERT(sort < VS_TOP_SORT_COUNT);
  return words[sort];
}

/* ---- seconds */

bool vs_top_parse_interval(vs_str text, uint64_t *interval_us) {
  size_t point = 0;
  uint64_t whole = 0, part = 0, scale = 1000000;
  while (point < text.size && text.data[point] != '.') point++;
  if (point > 0 && !vs_parse_u64((vs_str){text.data, point}, &whole)) return false;
  if (text.size == 0 || (point + 1 >= text.size && point == 0)) return false;
  for (size_t i = point + 1; i < text.size; i++) {
    if (text.data[i] < '0' || text.data[i] > '9' || scale == 1) return false;
    scale /= 10;
    part += (uint64_t)(text.data[i] - '0') * scale;
  }
  if (whole > VS_TOP_MOST_INTERVAL_MS / 1000) return false;
  const uint64_t us = whole * 1000000 + part;
  if (us < VS_TOP_LEAST_INTERVAL_MS * 1000 || us > UINT64_C(1000) * VS_TOP_MOST_INTERVAL_MS) return false;
  *interval_us = us;
  return true;
}

/* ---- the line in which the user types a filter or an interval */

static void begin_editing(vs_top_state *state, vs_top_editing what, const char *text) {
  state->editing = what;
  vs_format(state->typed, sizeof state->typed, "%s", text);
}

static void finish_editing(vs_top_state *state) {
  const vs_top_editing what = state->editing;
  VS_ASSERT(what != VS_TOP_EDIT_NOTHING);
  state->editing = VS_TOP_EDIT_NOTHING;
  if (what == VS_TOP_EDIT_FILTER) {
    memcpy(state->filter, state->typed, sizeof state->filter);
  } else if (state->typed[0] != 0 && !vs_top_parse_interval(vs_str_from(state->typed), &state->interval_us)) {
    vs_format(state->complaint, sizeof state->complaint,
              "\"%s\" is no interval: seconds from 0.1 to 3600, such as 0.5", state->typed);
  }
}

static void edit(vs_top_state *state, uint32_t key) {
  const size_t size = strlen(state->typed);
  if (key == VS_KEY_ENTER || key == '\r') {
    finish_editing(state);
  } else if (key == VS_KEY_ESCAPE) {
    if (state->editing == VS_TOP_EDIT_FILTER) state->filter[0] = 0;
    state->editing = VS_TOP_EDIT_NOTHING;
  } else if (key == VS_KEY_BACKSPACE || key == VS_KEY_DELETE || key == 8) {
    if (size > 0) state->typed[size - 1] = 0;
  } else if (key >= ' ' && key < 0x7f && size + 1 < sizeof state->typed) {
    state->typed[size] = (char)key;
    state->typed[size + 1] = 0;
  }
}

/* ---- moving */

static void choose(vs_top_state *state, const vs_top_sample *sample, const vs_top_view *view, size_t row) {
  if (view->rows.count == 0) return;
  if (row >= view->rows.count) row = view->rows.count - 1;
  VS_ASSERT(view->rows.data[row] < sample->processes.count);
  const vs_top_process *process = &sample->processes.data[view->rows.data[row]];
  state->chosen_pid = process->pid;
  vs_format(state->chosen_uuid, sizeof state->chosen_uuid, "%s",
            sample->devices.data[process->device].info.uuid);
}

/* The first step chooses the row at that end of the list. */
static void move(vs_top_state *state, const vs_top_sample *sample, const vs_top_view *view, bool down,
                 size_t by) {
  if (view->chosen == VS_TOP_NONE) choose(state, sample, view, down ? 0 : SIZE_MAX - 1);
  else if (down) choose(state, sample, view, view->chosen + by);
  else choose(state, sample, view, view->chosen < by ? 0 : view->chosen - by);
}

static void take_device(vs_top_state *state, const vs_top_sample *sample, size_t device) {
  if (device < sample->devices.count)
    vs_format(state->device_uuid, sizeof state->device_uuid, "%s", sample->devices.data[device].info.uuid);
}

static void step_device(vs_top_state *state, const vs_top_sample *sample, const vs_top_view *view,
                        bool back) {
  const size_t count = sample->devices.count;
  if (count != 0) take_device(state, sample, (view->device + (back ? count - 1 : 1)) % count);
}

/* The card with that number; pressed again, the next of its MIG devices. */
static void take_number(vs_top_state *state, const vs_top_sample *sample, const vs_top_view *view,
                        uint32_t number) {
  const size_t count = sample->devices.count;
  for (size_t i = 0; i < count; i++) {
    const size_t device = (view->device + 1 + i) % count;
    if (sample->devices.data[device].info.index != number) continue;
    const bool was_there = sample->devices.data[view->device].info.index == number;
    size_t first = 0;
    while (sample->devices.data[first].info.index != number) first++;
    take_device(state, sample, was_there ? device : first);
    return;
  }
  vs_format(state->complaint, sizeof state->complaint, "there is no GPU %u here", number);
}

/* ---- keys */

static void press_letter(vs_top_state *state, const vs_top_sample *sample, const vs_top_view *view,
                         uint32_t key) {
  switch (key) {
    case 'q': state->is_over = true; break;
    case 's': state->sort = (vs_top_sort)((state->sort + 1) % VS_TOP_SORT_COUNT); break;
    case 'S': state->sort = (vs_top_sort)((state->sort + VS_TOP_SORT_COUNT - 1) % VS_TOP_SORT_COUNT); break;
    case 'r': state->is_reversed = !state->is_reversed; break;
    case 'p':
    case ' ': state->is_paused = !state->is_paused; break;
    case 'g': state->has_graph = !state->has_graph; break;
    case 'o': state->is_one_device = !state->is_one_device; break;
    case '+':
    case '=': state->zoom = state->zoom == 0 ? 0 : state->zoom - 1; break;
    case '-': state->zoom = state->zoom + 1 == VS_TOP_ZOOMS ? state->zoom : state->zoom + 1; break;
    case '/': begin_editing(state, VS_TOP_EDIT_FILTER, state->filter); break;
    case 'd': begin_editing(state, VS_TOP_EDIT_INTERVAL, ""); break;
    case 'h':
    case '?': state->has_help = true; break;
    default:
      if (key >= '0' && key <= '9') take_number(state, sample, view, key - '0');
  }
}

static void press_special(vs_top_state *state, const vs_top_sample *sample, const vs_top_view *view,
                          uint32_t key, uint32_t page) {
  switch (key) {
    case VS_KEY_UP:
    case 'k': move(state, sample, view, false, 1); break;
    case VS_KEY_DOWN:
    case 'j': move(state, sample, view, true, 1); break;
    case VS_KEY_PAGE_UP: move(state, sample, view, false, page == 0 ? 1 : page); break;
    case VS_KEY_PAGE_DOWN: move(state, sample, view, true, page == 0 ? 1 : page); break;
    case VS_KEY_HOME: choose(state, sample, view, 0); break;
    case VS_KEY_END: choose(state, sample, view, SIZE_MAX - 1); break;
    case VS_KEY_TAB:
    case VS_KEY_RIGHT: step_device(state, sample, view, false); break;
    case VS_KEY_BACK_TAB:
    case VS_KEY_LEFT: step_device(state, sample, view, true); break;
    case VS_KEY_ENTER:
    case '\r': state->has_details = view->chosen != VS_TOP_NONE; break;
    case VS_KEY_ESCAPE:
      state->chosen_pid = 0;
      state->filter[0] = 0;
      break;
    default: press_letter(state, sample, view, key);
  }
}

void vs_top_press(vs_top_state *state, const vs_top_sample *sample, const vs_top_view *view, uint32_t key,
                  uint32_t page) {
  if (key == VS_KEY_OTHER || key == VS_KEY_NONE) return;
  VS_ASSERT(vs_top_view_check(view, sample) == NULL);
  state->complaint[0] = 0;
  if (state->editing != VS_TOP_EDIT_NOTHING) {
    edit(state, key);
  } else if (state->has_help || state->has_details) {
    /* Any key closes it, except for the arrows in the details, which show the next process. */
    const bool moves =
        state->has_details && (key == VS_KEY_UP || key == VS_KEY_DOWN || key == 'j' || key == 'k');
    if (moves) press_special(state, sample, view, key, page);
    else state->has_help = state->has_details = false;
  } else {
    press_special(state, sample, view, key, page);
  }
  VS_ASSERT(state->sort < VS_TOP_SORT_COUNT && state->zoom < VS_TOP_ZOOMS);
  VS_ASSERT(!state->has_help || !state->has_details);
}
