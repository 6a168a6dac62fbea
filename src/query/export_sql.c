/* All tables as SQL text for SQLite: one transaction, one statement on each line (control bytes inside text are written
 * as char(n), so a reader may cut at line feeds).
 *
 * SQLite's integers are signed, so an address of 2^63 or more is negative. */
#include "base/double_text.h"
#include "codec/sql_writer.h"
#include "query/export.h"
#include "query/rows.h"

enum { ROWS_IN_STATEMENT = 200 };

typedef struct sql {
  vs_call *call;
  vs_text *out;
  const char *table;
  uint32_t rows; /* of the open statement; 0: none is open */
  bool in_row;   /* the row has a value */
} sql;

/* ---- statements and values ------------------------------------------------------------------------------------- */

static void table_begin(sql *q, const char *table, const char *columns) {
  VS_ASSERT(q->rows == 0);
  vs_text_format(q->out, "CREATE TABLE %s%s;\n", table, columns);
  q->table = table;
}

static void table_end(sql *q) {
  if (q->rows != 0) vs_text_cstr(q->out, ";\n");
  q->rows = 0;
}

static void row_begin(sql *q) {
  if (q->rows == 0) vs_text_format(q->out, "INSERT INTO %s VALUES(", q->table);
  else vs_text_cstr(q->out, ",(");
  q->in_row = false;
}

static void row_end(sql *q) {
  VS_ASSERT(q->in_row && q->rows < ROWS_IN_STATEMENT);
  vs_text_byte(q->out, ')');
  if (++q->rows == ROWS_IN_STATEMENT) table_end(q);
}

static vs_text *next_value(sql *q) {
  if (q->in_row) vs_text_byte(q->out, ',');
  q->in_row = true;
  return q->out;
}

static void put_null(sql *q) { vs_text_cstr(next_value(q), "NULL"); }
static void put_i64(sql *q, int64_t value) { vs_text_i64(next_value(q), value); }
static void put_u64(sql *q, uint64_t value) { put_i64(q, (int64_t)value); }

static void put_known(sql *q, bool is_known, uint64_t value) {
  if (is_known) put_u64(q, value);
  else put_null(q);
}

static void put_time(sql *q, int64_t time_us) { put_known(q, time_us != VS_NO_TIME, (uint64_t)time_us); }
static void put_event(sql *q, uint32_t event) { put_known(q, event != VS_NO_EVENT, event); }

static void put_str(sql *q, vs_str s) { vs_sql_str(next_value(q), s); }

static void put_string(sql *q, uint32_t string) {
  if (string == VS_STRING_NONE) put_null(q);
  else put_str(q, vs_snapshot_string(q->call->engine->snapshot, string));
}

static void put_stream(sql *q, uint32_t stream) {
  const vs_snapshot *s = q->call->engine->snapshot;
  put_known(q, stream < s->streams.count, stream < s->streams.count ? s->streams.data[stream] : 0);
}

static void put_pool(sql *q, uint32_t pool) {
  const vs_snapshot *s = q->call->engine->snapshot;
  VS_ASSERT(pool <= s->pools.count);
  put_known(q, pool != 0, pool != 0 ? s->pools.data[pool - 1].a : 0);
  put_known(q, pool != 0, pool != 0 ? s->pools.data[pool - 1].b : 0);
}

static void put_stack(sql *q, uint32_t stack) { put_known(q, stack != VS_LIST_NONE, stack); }

/* ---- the file, its settings, its stacks ------------------------------------------------------------------------ */

static void put_file(sql *q) {
  const vs_engine *engine = q->call->engine;
  const vs_snapshot *s = engine->snapshot;
  const bool is_pickle = s->format == VS_FORMAT_PICKLE;
  table_begin(q, "file",
              "(name TEXT,format TEXT,bytes INTEGER,inflated_bytes INTEGER,compressed "
              "INTEGER,pickle_protocol INTEGER,"
              "vramscope TEXT)");
  row_begin(q);
  put_str(q, (vs_str){engine->name.data, engine->name.count});
  put_str(q, is_pickle ? VS_STR("pickle") : s->format == VS_FORMAT_JSON ? VS_STR("json") : VS_STR("vram"));
  put_known(q, engine->bytes != VS_BYTES_UNKNOWN, engine->bytes);
  put_u64(q, s->bytes);
  put_u64(q, engine->is_compressed);
  put_known(q, is_pickle, s->pickle_protocol);
  put_str(q, VS_STR(VS_VERSION_TEXT));
  row_end(q);
  table_end(q);
}

static void put_setting_value(sql *q, const vs_setting *setting) {
  switch ((vs_setting_kind)setting->kind) {
    case VS_SETTING_BOOL:
    case VS_SETTING_INT: put_u64(q, setting->bits); break;
    case VS_SETTING_STRING: put_string(q, (uint32_t)setting->bits); break;
    case VS_SETTING_REAL:
      if (vs_f64_is_finite(vs_f64_from_bits(setting->bits))) {
        vs_text_f64(next_value(q), vs_f64_from_bits(setting->bits));
        break;
      }
      put_null(q);
      break;
    case VS_SETTING_NONE:
    case VS_SETTING_DICT: put_null(q); break;
  }
}

/* The entries of a nested dict follow it with depth one more, so `depth` and the order define the nesting. */
static void put_settings(sql *q) {
  const vs_snapshot *s = q->call->engine->snapshot;
  table_begin(q, "settings", "(position INTEGER PRIMARY KEY,depth INTEGER,key TEXT,value)");
  for (size_t i = 0; i < s->settings.count; i++) {
    const vs_setting *setting = &s->settings.data[i];
    row_begin(q);
    put_u64(q, i);
    put_u64(q, setting->depth);
    put_string(q, setting->key);
    put_setting_value(q, setting);
    row_end(q);
  }
  table_end(q);
}

static void put_frames(sql *q) {
  const vs_snapshot *s = q->call->engine->snapshot;
  table_begin(q, "frames", "(frame_id INTEGER PRIMARY KEY,function TEXT,file TEXT,line INTEGER,kind TEXT)");
  for (uint32_t i = 0; i < s->stacks.frames.count; i++) {
    const vs_frame *frame = &s->stacks.frames.data[i];
    row_begin(q);
    put_u64(q, i);
    put_string(q, frame->name);
    put_string(q, frame->file);
    put_known(q, vs_frames_has_line(&q->call->engine->frames, i), (uint64_t)frame->line);
    put_str(q, vs_str_from(vs_frame_kind_name(vs_frames_kind(&q->call->engine->frames, i))));
    row_end(q);
  }
  table_end(q);
}

static void put_stacks(sql *q) {
  const vs_stacks *stacks = &q->call->engine->snapshot->stacks;
  vs_text *scratch = &q->call->scratch;
  table_begin(q, "stacks", "(stack_id INTEGER PRIMARY KEY,depth INTEGER,place TEXT)");
  for (uint32_t id = VS_LIST_EMPTY; id < vs_lists_count(&stacks->lists); id++) {
    row_begin(q);
    put_u64(q, id);
    put_u64(q, vs_stacks_at(stacks, id).count);
    vs_put_stack_place(q->call, scratch, id);
    if (scratch->bytes.count == 0) put_null(q);
    else put_str(q, vs_text_view(scratch));
    scratch->bytes.count = 0;
    row_end(q);
  }
  table_end(q);
  table_begin(
      q, "stack_frames",
      "(stack_id INTEGER,position INTEGER,frame_id INTEGER,PRIMARY KEY(stack_id,position)) WITHOUT ROWID");
  for (uint32_t id = VS_LIST_EMPTY; id < vs_lists_count(&stacks->lists); id++) {
    const vs_list list = vs_stacks_at(stacks, id);
    for (uint32_t i = 0; i < list.count; i++) {
      row_begin(q);
      put_u64(q, id);
      put_u64(q, i);
      put_u64(q, list.items[i]);
      row_end(q);
    }
  }
  table_end(q);
}

/* ---- devices --------------------------------------------------------------------------------------------------- */

typedef vs_status (*put_view)(sql *q, vs_device_cache *device);

static vs_status put_views(sql *q, const char *table, const char *columns, put_view put) {
  vs_engine *engine = q->call->engine;
  table_begin(q, table, columns);
  for (size_t i = 0; i < engine->devices.count; i++)
    if (vs_export_covers(q->call, &engine->devices.data[i])) VS_TRY(put(q, &engine->devices.data[i]));
  table_end(q);
  return VS_OK;
}

static vs_status put_device(sql *q, vs_device_cache *device) {
  const vs_curves *curves = vs_cached_curves(device);
  row_begin(q);
  put_i64(q, device->slice->device);
  put_u64(q, device->slice->event_count);
  put_u64(q, device->slice->segment_count);
  put_u64(q, device->reserved);
  put_i64(q, curves->curve[VS_CURVE_REQUESTED].peak);
  put_i64(q, curves->curve[VS_CURVE_REQUESTED].peak_at);
  put_i64(q, curves->curve[VS_CURVE_RESERVED].peak);
  put_i64(q, curves->curve[VS_CURVE_RESERVED].peak_at);
  row_end(q);
  return VS_OK;
}

static vs_status put_segments(sql *q, vs_device_cache *device) {
  const vs_slice *slice = device->slice;
  for (uint32_t i = 0; i < slice->segment_count; i++) {
    const vs_segment *segment = &slice->snapshot->segments.data[slice->segments[i]];
    row_begin(q);
    put_u64(q, slice->segments[i]);
    put_i64(q, slice->device);
    put_u64(q, segment->address);
    put_u64(q, vs_segment_sums(slice->snapshot, segment).reserved);
    put_stream(q, segment->stream);
    put_pool(q, segment->pool);
    put_string(q, segment->type);
    put_known(q, (segment->has & VS_SEGMENT_HAS_EXPANDABLE) != 0, segment->is_expandable);
    put_stack(q, segment->stack);
    row_end(q);
  }
  return VS_OK;
}

static vs_status put_blocks(sql *q, vs_device_cache *device) {
  const vs_slice *slice = device->slice;
  for (uint32_t i = 0; i < slice->segment_count; i++) {
    const vs_segment *segment = &slice->snapshot->segments.data[slice->segments[i]];
    for (uint32_t j = 0; j < segment->block_count; j++) {
      const vs_block *block = &slice->snapshot->blocks.data[segment->first_block + j];
      row_begin(q);
      put_u64(q, segment->first_block + j);
      put_u64(q, slice->segments[i]);
      put_i64(q, slice->device);
      put_u64(q, block->address);
      put_u64(q, block->size);
      put_u64(q, block->requested_size);
      put_string(q, block->state_name);
      put_stack(q, block->stack);
      row_end(q);
    }
  }
  return VS_OK;
}

static vs_status put_events(sql *q, vs_device_cache *device) {
  const vs_slice *slice = device->slice;
  const vs_events *events = &slice->snapshot->events;
  for (uint32_t event = 0; event < slice->event_count; event++) {
    const uint32_t row = vs_slice_row(slice, event);
    const bool is_oom = vs_events_kind(events, row) == VS_EVENT_OOM;
    uint64_t address;
    const bool has_address = vs_event_address(events, row, &address);
    row_begin(q);
    put_i64(q, slice->device);
    put_u64(q, event);
    put_string(q, slice->snapshot->actions.data[vs_events_action(events, row)]);
    put_known(q, has_address && !is_oom, address);
    put_u64(q, vs_events_size(events, row));
    put_stream(q, vs_events_stream(events, row));
    put_pool(q, vs_events_pool(events, row));
    put_time(q, vs_events_time_us(events, row));
    put_known(q, has_address && is_oom, address);
    put_string(q, vs_events_category(events, row));
    put_string(q, vs_events_compile_context(events, row));
    put_string(q, vs_events_user_metadata(events, row));
    put_stack(q, vs_events_stack(events, row));
    row_end(q);
  }
  return VS_OK;
}

static vs_status put_allocations(sql *q, vs_device_cache *device) {
  const vs_lifetimes *lifetimes;
  VS_TRY(vs_cached_lifetimes(q->call->engine->host, device, &lifetimes));
  for (size_t i = 0; i < lifetimes->rows.count; i++) {
    const vs_lifetime *row = &lifetimes->rows.data[i];
    row_begin(q);
    put_i64(q, device->slice->device);
    put_u64(q, row->address);
    put_u64(q, row->size);
    put_event(q, row->start);
    put_event(q, row->free_requested);
    put_event(q, row->end);
    put_known(q, row->block != VS_NO_ROW, row->block);
    put_stack(q, vs_lifetime_stack(lifetimes, row));
    row_end(q);
  }
  return VS_OK;
}

static vs_status put_annotations(sql *q, vs_device_cache *device) {
  vs_named_ranges named;
  VS_TRY(vs_named_ranges_build(q->call->engine->host, device->slice, &named));
  for (size_t i = 0; i < named.ranges.count; i++) {
    const vs_named_range *range = &named.ranges.data[i];
    row_begin(q);
    put_i64(q, device->slice->device);
    put_string(q, range->name);
    put_i64(q, range->from_us);
    put_known(q, range->to_us != INT64_MAX, (uint64_t)range->to_us);
    put_u64(q, range->depth);
    row_end(q);
  }
  vs_named_ranges_deinit(q->call->engine->host, &named);
  return VS_OK;
}

vs_status vs_export_sql(vs_call *call) {
  sql q = {.call = call, .out = call->text};
  vs_text_cstr(q.out, "BEGIN;\nPRAGMA user_version=1;\n");
  put_file(&q);
  put_settings(&q);
  put_frames(&q);
  put_stacks(&q);
  VS_TRY(put_views(&q, "devices",
                   "(device INTEGER PRIMARY KEY,events INTEGER,segments INTEGER,reserved_bytes INTEGER,"
                   "peak_requested_bytes INTEGER,peak_event INTEGER,peak_reserved_bytes "
                   "INTEGER,peak_reserved_event INTEGER)",
                   put_device));
  VS_TRY(put_views(
      &q, "segments",
      "(segment_id INTEGER PRIMARY KEY,device INTEGER,address INTEGER,size_bytes INTEGER,stream INTEGER,"
      "pool_a INTEGER,pool_b INTEGER,segment_type TEXT,is_expandable INTEGER,stack_id INTEGER)",
      put_segments));
  VS_TRY(put_views(
      &q, "blocks",
      "(block_id INTEGER PRIMARY KEY,segment_id INTEGER,device INTEGER,address INTEGER,size_bytes INTEGER,"
      "requested_bytes INTEGER,state TEXT,stack_id INTEGER)",
      put_blocks));
  VS_TRY(put_views(
      &q, "events",
      "(device INTEGER,event INTEGER,action TEXT,address INTEGER,size_bytes INTEGER,stream INTEGER,"
      "pool_a INTEGER,pool_b INTEGER,time_us INTEGER,device_free_bytes INTEGER,category TEXT,"
      "compile_context TEXT,user_metadata TEXT,stack_id INTEGER,PRIMARY KEY(device,event)) WITHOUT ROWID",
      put_events));
  VS_TRY(put_views(
      &q, "allocations",
      "(device INTEGER,address INTEGER,requested_bytes INTEGER,alloc_event INTEGER,free_event INTEGER,"
      "end_event INTEGER,block_id INTEGER,stack_id INTEGER)",
      put_allocations));
  VS_TRY(put_views(&q, "annotations",
                   "(device INTEGER,name TEXT,start_us INTEGER,end_us INTEGER,depth INTEGER)",
                   put_annotations));
  vs_text_cstr(q.out, "COMMIT;\n");
  return VS_OK;
}
