/* Creates, grows and destroys the tables of a snapshot. */
#include "snapshot/model.h"
#include "base/text.h"

/* ---- events ---------------------------------------------------------------------------------------------------- */

static vs_status grow_column(const vs_host *host, void **data, size_t *capacity, size_t size, uint32_t rows) {
  if (*data == NULL || *capacity >= rows) return VS_OK;
  VS_ASSERT(rows > 0 && rows <= UINT32_MAX - 2);
  void *moved = host->resize(host->ctx, *data, *capacity * size, rows * size);
  if (moved == NULL) return VS_NO_MEMORY;
  *data = moved;
  *capacity = rows;
  return VS_OK;
}

static vs_status grow_columns(const vs_host *host, vs_events *events, uint32_t rows) {
#define VS_EVENT_COLUMN(type, name, absent) \
  VS_TRY(grow_column(host, (void **)&events->name, &events->name##_capacity, sizeof(type), rows));
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN
  events->capacity = rows;
  return VS_OK;
}

static vs_status reserve_row(const vs_host *host, vs_events *events) {
  if (events->count < events->capacity) return VS_OK;
  if (events->count >= UINT32_MAX - 2) return VS_LIMIT;
  uint64_t rows = events->capacity + (uint64_t)events->capacity / 2 + (VS_HOSTILE ? 1 : 64);
  if (rows > UINT32_MAX - 2) rows = UINT32_MAX - 2;
  return grow_columns(host, events, (uint32_t)rows);
}

vs_status vs_events_add(const vs_host *host, vs_events *events, uint32_t *row) {
  VS_TRY(reserve_row(host, events));
  *row = events->count++;
  VS_ASSERT(events->count <= events->capacity);
#define VS_EVENT_COLUMN(type, name, absent) \
  if (events->name != NULL) events->name[*row] = (type)(absent);
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN
  return VS_OK;
}

#define VS_EVENT_COLUMN(type, name, absent)                                                          \
  vs_status vs_events_set_##name(const vs_host *host, vs_events *events, uint32_t row, type value) { \
    VS_ASSERT(row < events->count);                                                                  \
    if (events->name == NULL) {                                                                      \
      if (value == (type)(absent)) return VS_OK;                                                     \
      events->name = vs_host_alloc(host, events->capacity * sizeof(type));                           \
      if (events->name == NULL) return VS_NO_MEMORY;                                                 \
      events->name##_capacity = events->capacity;                                                    \
      for (uint32_t i = 0; i < events->count; i++) events->name[i] = (type)(absent);                 \
    }                                                                                                \
    events->name[row] = value;                                                                       \
    return VS_OK;                                                                                    \
  }
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN

vs_status vs_events_append(const vs_host *host, vs_events *events, const vs_event_row *values,
                           uint32_t *row) {
  VS_TRY(reserve_row(host, events));
  const uint32_t at = events->count++;
  *row = at;
#define VS_EVENT_COLUMN(type, name, absent)                  \
  if (events->name != NULL) events->name[at] = values->name; \
  else if (values->name != (type)(absent)) VS_TRY(vs_events_set_##name(host, events, at, values->name));
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN
  return VS_OK;
}

void vs_events_deinit(const vs_host *host, vs_events *events) {
#define VS_EVENT_COLUMN(type, name, absent) \
  vs_host_free(host, events->name, events->name##_capacity * sizeof(type));
#include "snapshot/event_columns.def"
#undef VS_EVENT_COLUMN
  *events = (vs_events){0};
}

/* ---- blocks ---------------------------------------------------------------------------------------------------- */

const char *vs_block_state_name(vs_block_state state) {
  static const char *const names[] = {
      [VS_BLOCK_ALLOCATED] = "active_allocated",
      [VS_BLOCK_PENDING] = "active_pending_free",
      [VS_BLOCK_INACTIVE] = "inactive",
  };
  VS_ASSERT(state < VS_BLOCK_UNKNOWN);
  return names[state];
}

/* ---- the snapshot ---------------------------------------------------------------------------------------------- */

static vs_status init_tables(vs_snapshot *s) {
  VS_TRY(vs_strings_init(s->host, &s->strings));
  VS_TRY(vs_stacks_init(s->host, &s->stacks));
  VS_TRY(vs_lists_init(s->host, &s->texts));
  VS_TRY(vs_vec_reserve(s->host, &s->actions, VS_EVENT_KIND_COUNT));
  for (int kind = 0; kind < VS_EVENT_KIND_COUNT; kind++) {
    uint32_t id;
    VS_TRY(
        vs_strings_intern(s->host, &s->strings, vs_str_from(vs_event_kind_action((vs_event_kind)kind)), &id));
    s->actions.data[s->actions.count++] = id;
  }
  return VS_OK;
}

vs_status vs_snapshot_create(const vs_host *host, vs_snapshot **out) {
  *out = NULL;
  vs_snapshot *s = vs_host_alloc(host, sizeof *s);
  if (s == NULL) return VS_NO_MEMORY;
  *s = (vs_snapshot){.host = host};
  const vs_status status = init_tables(s);
  if (status != VS_OK) {
    vs_snapshot_destroy(s);
    return status;
  }
  *out = s;
  return VS_OK;
}

void vs_snapshot_destroy(vs_snapshot *s) {
  if (s == NULL) return;
  const vs_host *host = s->host;
  vs_strings_deinit(host, &s->strings);
  vs_stacks_deinit(host, &s->stacks);
  vs_lists_deinit(host, &s->texts);
  vs_vec_free(host, &s->forward.recorded);
  vs_events_deinit(host, &s->events);
  vs_vec_free(host, &s->traces);
  vs_vec_free(host, &s->segments);
  vs_vec_free(host, &s->blocks);
  vs_vec_free(host, &s->annotations);
  vs_vec_free(host, &s->libraries);
  vs_vec_free(host, &s->settings);
  vs_vec_free(host, &s->streams);
  vs_vec_free(host, &s->pools);
  vs_vec_free(host, &s->actions);
  vs_vec_free(host, &s->unknown_keys);
  vs_vec_free(host, &s->recording.devices);
  vs_vec_free(host, &s->shown);
  vs_vec_free(host, &s->recording.gaps);
  vs_host_free(host, s, sizeof *s);
}

vs_status vs_snapshot_setting_add(vs_snapshot *s, vs_str key, vs_setting setting, vs_str text) {
  uint32_t value = 0;
  VS_TRY(vs_strings_intern(s->host, &s->strings, key, &setting.key));
  if (setting.kind == VS_SETTING_STRING) {
    VS_TRY(vs_strings_intern(s->host, &s->strings, text, &value));
    setting.bits = value;
  }
  VS_TRY(vs_vec_reserve(s->host, &s->settings, 1));
  s->settings.data[s->settings.count++] = setting;
  return VS_OK;
}

const vs_trace *vs_snapshot_trace(const vs_snapshot *snapshot, int32_t device) {
  for (size_t i = 0; i < snapshot->traces.count; i++)
    if (snapshot->traces.data[i].device == device) return &snapshot->traces.data[i];
  return NULL;
}
