/* "map": the address space at a moment, in columns: segments, and the live blocks in them. */
#include "base/sort.h"
#include "query/picture_query.h"
#include "query/replays.h"
#include "query/reply.h"

typedef VS_VEC(vs_sort_pair) pairs;

/* The rows of mappings that are alive at a moment, by address. */
static vs_status find_mappings(const vs_host *host, const vs_mappings *mappings, vs_moment moment,
                               pairs *out) {
  for (size_t i = 0; i < mappings->rows.count; i++) {
    if (!vs_mapping_is_live(&mappings->rows.data[i], moment)) continue;
    VS_TRY(vs_vec_reserve(host, out, 1));
    out->data[out->count++] = (vs_sort_pair){.key = mappings->rows.data[i].address, .value = (uint32_t)i};
  }
  return vs_sort_pairs(host, out->data, out->count);
}

/* The mapping with the address of a segment. Segments are visited by rising address, and *at moves with them. */
static uint32_t mapping_of(const pairs *mappings, uint64_t address, size_t *at) {
  while (*at < mappings->count && mappings->data[*at].key < address) ++*at;
  return *at < mappings->count && mappings->data[*at].key == address ? mappings->data[*at].value : VS_NO_ROW;
}

static void add_segments(vs_call *call, const vs_state *state, const pairs *mappings) {
  vs_columns *columns = &call->columns;
  const size_t count = state->segments.count;
  uint64_t *address = vs_columns_add(columns, "segment_address", VS_COLUMN_U64, count);
  double *size = vs_columns_add(columns, "segment_size", VS_COLUMN_F64, count);
  uint32_t *stream = vs_columns_add(columns, "segment_stream", VS_COLUMN_U32, count);
  uint32_t *pool = vs_columns_add(columns, "segment_pool", VS_COLUMN_U32, count);
  uint8_t *kind = vs_columns_add(columns, "segment_kind", VS_COLUMN_U8, count);
  uint8_t *flags = vs_columns_add(columns, "segment_flags", VS_COLUMN_U8, count);
  uint32_t *row = vs_columns_add(columns, "segment_row", VS_COLUMN_U32, count);
  uint32_t *block = vs_columns_add(columns, "segment_block", VS_COLUMN_U32, count + 1);
  if (columns->status != VS_OK) return;
  size_t at = 0;
  for (size_t i = 0; i < count; i++) {
    const vs_state_segment *segment = &state->segments.data[i];
    address[i] = segment->address;
    size[i] = (double)segment->size;
    stream[i] = segment->stream;
    pool[i] = segment->pool;
    kind[i] = segment->kind;
    flags[i] = segment->is_expandable;
    row[i] = mapping_of(mappings, segment->address, &at);
    block[i] = segment->first_block;
  }
  block[count] = state->outside;
  VS_ASSERT(count == 0 || block[count - 1] <= state->outside);
}

enum { FLAG_PENDING = 1, FLAG_ESTIMATED = 2 };

static uint16_t group_of(const vs_colours *colours, uint32_t row) {
  VS_ASSERT(colours == NULL || row == VS_NO_ROW || row < colours->of_row.count);
  if (colours == NULL) return (uint16_t)(row % VS_OWN_GROUPS);
  return row == VS_NO_ROW ? VS_LEGEND : colours->of_row.data[row];
}

static void add_blocks(vs_call *call, const vs_state *state, const vs_colours *colours) {
  vs_columns *columns = &call->columns;
  const size_t count = state->outside;
  double *offset = vs_columns_add(columns, "block_offset", VS_COLUMN_F64, count);
  double *size = vs_columns_add(columns, "block_size", VS_COLUMN_F64, count);
  double *requested = vs_columns_add(columns, "block_requested", VS_COLUMN_F64, count);
  uint32_t *row = vs_columns_add(columns, "block_row", VS_COLUMN_U32, count);
  uint16_t *group = vs_columns_add(columns, "block_group", VS_COLUMN_U16, count);
  uint8_t *flags = vs_columns_add(columns, "block_flags", VS_COLUMN_U8, count);
  if (columns->status != VS_OK) return;
  for (size_t s = 0; s < state->segments.count; s++) {
    const vs_state_segment *segment = &state->segments.data[s];
    for (size_t i = segment->first_block; i < segment->first_block + segment->block_count; i++) {
      const vs_state_block *block = &state->blocks.data[i];
      VS_ASSERT(i < count && block->address >= segment->address);
      offset[i] = (double)(block->address - segment->address);
      size[i] = (double)block->size;
      requested[i] = (double)block->requested;
      row[i] = block->lifetime;
      group[i] = group_of(colours, block->lifetime);
      const bool is_estimated = !state->is_exact && block->row == VS_NO_ROW;
      flags[i] = (uint8_t)((block->is_pending ? FLAG_PENDING : 0) | (is_estimated ? FLAG_ESTIMATED : 0));
    }
  }
}

static void write_outside(const vs_call *call, const vs_state *state) {
  uint64_t bytes = 0;
  for (size_t i = state->outside; i < state->blocks.count; i++)
    bytes = vs_sat_add_u64(bytes, state->blocks.data[i].size);
  vs_reply_object_begin(call->json, "outside");
  vs_jsonw_member_u64(call->json, "count", state->blocks.count - state->outside);
  vs_jsonw_member_u64(call->json, "bytes", bytes);
  vs_jsonw_object_end(call->json);
}

static void write_header(const vs_call *call, const vs_state *state) {
  vs_jsonw *json = call->json;
  const vs_snapshot *s = call->engine->snapshot;
  vs_reply_device(call, call->device);
  vs_reply_moment(call, call->device, "at", state->moment);
  vs_jsonw_member_bool(json, "is_exact", state->is_exact);
  vs_jsonw_member_u64(json, "reserved_bytes", state->reserved);
  vs_jsonw_member_u64(json, "requested_bytes", state->requested);
  vs_reply_array_begin(json, "streams");
  for (size_t i = 0; i < s->streams.count; i++) vs_jsonw_u64(json, s->streams.data[i]);
  vs_jsonw_array_end(json);
  vs_reply_array_begin(json, "pools");
  for (size_t i = 0; i < s->pools.count; i++) {
    vs_jsonw_array_begin(json);
    vs_jsonw_u64(json, s->pools.data[i].a);
    vs_jsonw_u64(json, s->pools.data[i].b);
    vs_jsonw_array_end(json);
  }
  vs_jsonw_array_end(json);
  write_outside(call, state);
}

/* `mappings` of a replay is NULL: its segments are not in the file. */
static vs_status write_map(vs_call *call, const vs_picture_query *query, const vs_mappings *listed,
                           const vs_state *state) {
  const vs_colours *colours = NULL;
  pairs mappings = {0};
  if (call->request->colour != VS_COLOUR_ALLOCATION)
    VS_TRY(vs_picture_query_colours(call, query, (vs_group_by)call->request->colour, &colours));
  const vs_status status =
      listed == NULL ? VS_OK : find_mappings(call->engine->host, listed, state->moment, &mappings);
  if (status == VS_OK) {
    write_header(call, state);
    add_segments(call, state, &mappings);
    add_blocks(call, state, colours);
  }
  vs_vec_free(call->engine->host, &mappings);
  return status;
}

static vs_status map_recorded(vs_call *call, const vs_picture_query *query, vs_moment moment) {
  const vs_host *host = call->engine->host;
  const vs_moment_index *moments;
  vs_state state;
  VS_TRY(vs_cached_moments(host, call->device, &moments));
  VS_TRY(vs_state_at(host, moments, moment, &state));
  vs_jsonw_member_null(call->json, "replayed");
  const vs_status status = write_map(call, query, query->items.mappings, &state);
  vs_state_deinit(host, &state);
  return status;
}

static vs_status map_replayed(vs_call *call, const vs_picture_query *query, vs_moment moment) {
  const vs_host *host = call->engine->host;
  vs_state state;
  vs_replay figures;
  VS_TRY(vs_state_asked(call, moment, &state, &figures));
  vs_reply_object_begin(call->json, "replayed");
  vs_reply_ran_out(call, &figures);
  vs_jsonw_member_bool(call->json, "is_cut", figures.is_cut);
  vs_jsonw_object_end(call->json);
  const vs_status status = write_map(call, query, NULL, &state);
  vs_replay_deinit(host, &figures);
  vs_state_deinit(host, &state);
  return status;
}

vs_status vs_method_map(vs_call *call) {
  vs_moment moment;
  vs_picture_query query; /* of all allocations: the request has no "what" and no filter */
  VS_TRY(vs_find_moment(call->engine->host, call->device, call->request->at, &moment, call->error));
  VS_TRY(vs_picture_query_build(call, &query));
  return call->request->settings.is_given ? map_replayed(call, &query, moment)
                                          : map_recorded(call, &query, moment);
}
