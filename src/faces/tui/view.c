#include "faces/tui/view.h"
#include "base/check.h"
#include "base/sort.h"

void vs_top_view_deinit(const vs_host *host, vs_top_view *view) { vs_vec_free(host, &view->rows); }

vs_str vs_top_command(const vs_top_process *process) {
  if (!process->is_visible) return VS_STR("(pid not visible here)");
  if (process->command[0] != 0) return vs_str_from(process->command);
  return vs_str_from(process->name);
}

/* ---- filters */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool has_part(vs_str text, vs_str part) {
  for (size_t at = 0; at + part.size <= text.size; at++) {
    size_t same = 0;
    while (same < part.size && lower(text.data[at + same]) == lower(part.data[same])) same++;
    if (same == part.size) return true;
  }
  return false;
}

static bool is_listed(const char *list, vs_str word) {
  for (const char *start = list;;) {
    const char *end = start;
    while (*end != 0 && *end != ',') end++;
    if (vs_str_equal((vs_str){start, (size_t)(end - start)}, word)) return true;
    if (*end == 0) return false;
    start = end + 1;
  }
}

bool vs_top_is_wanted(const vs_top_wanted *wanted, const vs_top_process *process) {
  char pid[24];
  vs_format(pid, sizeof pid, "%U", process->pid);
  if (wanted->users != NULL && !is_listed(wanted->users, vs_str_from(process->user))) return false;
  return wanted->pids == NULL || is_listed(wanted->pids, vs_str_from(pid));
}

static bool matches(const vs_top_process *process, vs_str filter) {
  char pid[24];
  vs_format(pid, sizeof pid, "%U", process->pid);
  return filter.size == 0 || has_part(vs_str_from(process->user), filter) ||
         has_part(vs_top_command(process), filter) || has_part(vs_str_from(process->name), filter) ||
         has_part(vs_str_from(process->container), filter) || has_part(vs_str_from(pid), filter);
}

/* ---- order. Unknown values come last in both directions; equal ones are ordered by pid, so that rows do not jump from
 * sample to sample. */

typedef struct order {
  const vs_top_sample *sample;
  vs_top_sort sort;
  bool is_falling;
} order;

bool vs_top_is_falling(const vs_top_state *state) {
  static const bool falling[] = {
#define VS_TOP_SORT(name, word, is_falling) [VS_TOP_SORT_##name] = is_falling,
      VS_TOP_SORTS(VS_TOP_SORT)
#undef VS_TOP_SORT
  };
  VS_ASSERT(state->sort < VS_TOP_SORT_COUNT);
  return falling[state->sort] != state->is_reversed;
}

static int compare_u64(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

static int compare(const order *by, const vs_top_process *a, const vs_top_process *b) {
  switch (by->sort) {
    case VS_TOP_SORT_MEMORY: return compare_u64(a->bytes.value, b->bytes.value);
    case VS_TOP_SORT_DEVICE: return compare_u64(a->device, b->device);
    case VS_TOP_SORT_USER: return vs_str_compare(vs_str_from(a->user), vs_str_from(b->user));
    case VS_TOP_SORT_KIND: return vs_str_compare(vs_str_from(a->kind), vs_str_from(b->kind));
    case VS_TOP_SORT_START: return compare_u64(a->start_us, b->start_us);
    case VS_TOP_SORT_COMMAND: return vs_str_compare(vs_top_command(a), vs_top_command(b));
    default: return compare_u64(a->pid, b->pid);
  }
}

static bool is_unknown(const order *by, const vs_top_process *process) {
  switch (by->sort) {
    case VS_TOP_SORT_MEMORY: return !vs_metric_is_known(process->bytes);
    case VS_TOP_SORT_USER: return process->user[0] == 0;
    case VS_TOP_SORT_START: return process->start_us == 0;
    case VS_TOP_SORT_COMMAND: return !process->is_visible;
    default: return false;
  }
}

static bool stands_before(const void *ctx, uint32_t row_a, uint32_t row_b) {
  const order *by = ctx;
  VS_ASSERT(row_a < by->sample->processes.count && row_b < by->sample->processes.count);
  const vs_top_process *a = &by->sample->processes.data[row_a], *b = &by->sample->processes.data[row_b];
  const bool a_unknown = is_unknown(by, a), b_unknown = is_unknown(by, b);
  if (a_unknown != b_unknown) return b_unknown;
  const int difference = a_unknown ? 0 : compare(by, a, b);
  if (difference != 0) return by->is_falling ? difference > 0 : difference < 0;
  return a->pid != b->pid ? a->pid < b->pid : a->device < b->device;
}

/* ---- the whole */

static size_t selected_device(const vs_top_sample *sample, const vs_top_state *state) {
  const size_t found = vs_top_sample_device(sample, state->device_uuid);
  return found < sample->devices.count ? found : 0;
}

/* Whether a process runs on a device, or on a MIG device of that card. */
static bool is_on(const vs_top_sample *sample, size_t device, const vs_top_process *process) {
  if (process->device == device) return true;
  VS_ASSERT(device < sample->devices.count && process->device < sample->devices.count);
  const vs_devices_info *card = &sample->devices.data[device].info;
  const vs_devices_info *its = &sample->devices.data[process->device].info;
  return card->is_divided && its->is_mig && its->index == card->index;
}

static size_t find_chosen(const vs_top_view *view, const vs_top_sample *sample, const vs_top_state *state) {
  for (size_t i = 0; i < view->rows.count && state->chosen_pid != 0; i++) {
    const vs_top_process *process = &sample->processes.data[view->rows.data[i]];
    const char *uuid = sample->devices.data[process->device].info.uuid;
    if (process->pid == state->chosen_pid && vs_str_equal(vs_str_from(uuid), vs_str_from(state->chosen_uuid)))
      return i;
  }
  return VS_TOP_NONE;
}

static bool is_recorded(const vs_top_recorded *recorded) {
  return vs_metric_is_known(recorded->reserved) || vs_metric_is_known(recorded->libraries);
}

const char *vs_top_view_check(const vs_top_view *view, const vs_top_sample *sample) {
  const size_t devices = sample->devices.count;
  if (devices == 0 ? view->device != 0 : view->device >= devices) return "the selected device is not one";
  if (view->chosen != VS_TOP_NONE && view->chosen >= view->rows.count) return "the chosen row is not listed";
  for (size_t i = 0; i < view->rows.count; i++) {
    if (view->rows.data[i] >= sample->processes.count) return "a row is not a process";
    for (size_t k = 0; k < i; k++)
      if (view->rows.data[k] == view->rows.data[i]) return "a process is listed twice";
  }
  return NULL;
}

vs_status vs_top_view_build(const vs_host *host, vs_top_view *view, const vs_top_sample *sample,
                            const vs_top_state *state) {
  const vs_str filter = vs_str_from(state->editing == VS_TOP_EDIT_FILTER ? state->typed : state->filter);
  view->rows.count = view->left_out = 0;
  view->has_containers = view->has_recordings = false;
  VS_ASSERT(vs_top_sample_check(sample) == NULL && state->sort < VS_TOP_SORT_COUNT);
  view->device = selected_device(sample, state);
  VS_TRY(vs_vec_reserve(host, &view->rows, sample->processes.count));
  for (uint32_t i = 0; i < sample->processes.count; i++) {
    const vs_top_process *process = &sample->processes.data[i];
    const bool is_shown = vs_top_is_wanted(&state->wanted, process) && matches(process, filter) &&
                          (!state->is_one_device || is_on(sample, view->device, process));
    view->left_out += !is_shown;
    view->has_containers |= is_shown && process->container[0] != 0;
    view->has_recordings |= is_shown && is_recorded(&process->recorded);
    if (is_shown) view->rows.data[view->rows.count++] = i;
  }
  const order by = {.sample = sample, .sort = state->sort, .is_falling = vs_top_is_falling(state)};
  VS_TRY(vs_sort_rows(host, view->rows.data, view->rows.count, stands_before, &by));
  view->chosen = find_chosen(view, sample, state);
  VS_ASSERT(vs_top_view_check(view, sample) == NULL);
  VS_ASSERT(view->rows.count + view->left_out == sample->processes.count);
  return VS_OK;
}
