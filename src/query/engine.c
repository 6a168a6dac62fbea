#include "query/engine.h"
#include "base/sized.h"
#include "query/replays.h"
#include "snapshot/reader.h"

/* ---- life ------------------------------------------------------------------------------------------------------ */

vs_status vs_engine_create_with(const vs_host *host, const vs_handler_table *handlers, vs_engine **engine) {
  *engine = NULL;
#if !VS_FREESTANDING
  if (host == NULL) host = vs_host_default();
#endif
  if (host == NULL) return VS_BAD_ARGUMENT;
  vs_engine *e = vs_host_alloc(host, sizeof *e);
  if (e == NULL) return VS_NO_MEMORY;
  *e = (vs_engine){.host = host, .handlers = handlers};
  *engine = e;
  return VS_OK;
}

vs_status vs_engine_create(const vs_host *host, vs_engine **engine) {
  return vs_engine_create_with(host, &vs_handlers, engine);
}

static void deinit_device_cache(const vs_host *host, vs_device_cache *device) {
  for (size_t i = 0; i < VS_DRAWN_KINDS; i++) {
    vs_bitmap_cache_deinit(host, &device->item_bitmaps[i]);
    vs_colour_cache_deinit(host, &device->colours[i]);
    vs_span_cache_deinit(host, &device->unfiltered[i]);
    vs_span_cache_deinit(host, &device->filtered[i]);
  }
  vs_bitmap_cache_deinit(host, &device->event_bitmaps);
  vs_vec_free(host, &device->mapping_ends);
  vs_replay_cache_deinit(host, &device->replays);
  if (device->has_ranges) vs_named_ranges_deinit(host, &device->ranges);
  if (device->has_segments) vs_segment_index_deinit(host, &device->segments);
  if (device->has_times) vs_times_deinit(host, &device->times);
  for (size_t i = 0; device->has_curve_indexes && i < VS_CURVE_KINDS; i++)
    vs_curve_index_deinit(host, &device->curve_indexes[i]);
  if (device->has_moment_index) vs_moment_index_deinit(host, &device->moments);
  if (device->has_names) vs_block_names_deinit(host, &device->names);
  if (device->has_report) vs_report_deinit(host, &device->report);
  if (device->has_lifetimes) vs_lifetimes_deinit(host, &device->lifetimes);
}

void vs_engine_unload(vs_engine *engine) {
  for (size_t i = 0; i < engine->devices.count; i++)
    deinit_device_cache(engine->host, &engine->devices.data[i]);
  vs_vec_free(engine->host, &engine->devices);
  deinit_device_cache(engine->host, &engine->no_device);
  engine->no_device = (vs_device_cache){.slice = &engine->no_slice};
  if (engine->snapshot != NULL) {
    vs_frames_deinit(engine->host, &engine->frames);
    vs_slices_deinit(engine->host, &engine->slices);
  }
  vs_snapshot_destroy(engine->snapshot);
  engine->snapshot = NULL;
  vs_vec_free(engine->host, &engine->name);
  VS_ASSERT(engine->devices.count == 0);
}

void vs_engine_destroy(vs_engine *engine) {
  if (engine == NULL) return;
  vs_engine_unload(engine);
  vs_host_free(engine->host, engine, sizeof *engine);
}

const vs_host *vs_engine_host(const vs_engine *engine) { return engine->host; }

/* ---- loading --------------------------------------------------------------------------------------------------- */

typedef struct counter {
  vs_reader reader;
  uint64_t bytes;
} counter;

static vs_status count_read(void *ctx, void *data, size_t capacity, size_t *count) {
  counter *c = ctx;
  VS_TRY(c->reader.read(c->reader.ctx, data, capacity, count));
  c->bytes += *count;
  return VS_OK;
}

static uint64_t reserved_of(const vs_slice *slice) {
  const vs_snapshot *s = slice->snapshot;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < slice->segment_count; i++) {
    const vs_segment *segment = &s->segments.data[slice->segments[i]];
    for (uint32_t j = 0; j < segment->block_count; j++)
      sum = vs_sat_add_u64(sum, s->blocks.data[segment->first_block + j].size);
  }
  return sum;
}

static vs_status make_devices(vs_engine *engine) {
  VS_TRY(vs_vec_reserve(engine->host, &engine->devices, engine->slices.list.count));
  VS_ASSERT(engine->devices.count == 0);
  for (size_t i = 0; i < engine->slices.list.count; i++) {
    const vs_slice *slice = &engine->slices.list.data[i];
    engine->devices.data[engine->devices.count++] =
        (vs_device_cache){.slice = slice, .siblings = &engine->devices, .reserved = reserved_of(slice)};
  }
  return VS_OK;
}

static vs_status remember_source(vs_engine *engine, const vs_source *source, uint64_t bytes_read) {
  VS_TRY(vs_vec_reserve(engine->host, &engine->name, source->name.size));
  if (source->name.size != 0) memcpy(engine->name.data, source->name.data, source->name.size);
  engine->name.count = source->name.size;
  engine->is_compressed = source->is_compressed;
  engine->bytes = source->bytes == VS_BYTES_UNKNOWN && !source->is_compressed ? bytes_read : source->bytes;
  return VS_OK;
}

/* Takes ownership of a snapshot that was read. After a failure, the caller unloads the engine. */
static vs_status take_snapshot(vs_engine *engine, vs_snapshot *snapshot) {
  vs_status status = vs_slices_build(engine->host, snapshot, &engine->slices);
  VS_ASSERT(engine->snapshot == NULL && engine->devices.count == 0);
  if (status == VS_OK) {
    status = vs_frames_init(engine->host, snapshot, &engine->frames);
    if (status == VS_OK) {
      status = vs_frames_tell_apart(engine->host, &engine->frames);
      if (status != VS_OK) vs_frames_deinit(engine->host, &engine->frames);
    }
    if (status != VS_OK) vs_slices_deinit(engine->host, &engine->slices);
  }
  if (status != VS_OK) {
    vs_snapshot_destroy(snapshot);
    return status;
  }
  engine->snapshot = snapshot;
  engine->no_slice = (vs_slice){.snapshot = snapshot};
  engine->no_device = (vs_device_cache){.slice = &engine->no_slice};
  return make_devices(engine);
}

/* The caller's struct of any version, with its size. It is copied only after reading, because a reader may fill it
 * in. */
typedef struct named_source {
  const vs_source *given;
  size_t size;
} named_source;

static vs_status load(vs_engine *engine, vs_reader reader, const named_source *source,
                      const vs_load_options *options, vs_error *error) {
  counter count = {.reader = reader};
  const vs_account_handlers *accounts = engine->handlers->accounts;
  const vs_reader counted = {.ctx = &count, .read = count_read};
  const vs_read_options read_options = {.progress = options->progress,
                                        .progress_ctx = options->progress_ctx,
                                        .inflate = options->inflate,
                                        .inflate_ctx = options->inflate_ctx,
                                        .name = options->name,
                                        .name_ctx = options->name_ctx,
                                        .accounts = accounts == NULL ? NULL : accounts->readers};
  vs_snapshot *snapshot;
  VS_TRY(vs_snapshot_read(engine->host, counted, &read_options, &snapshot, error));
  VS_TRY(take_snapshot(engine, snapshot));
  vs_source read;
  VS_TRY(vs_sized_take(&read, sizeof read, source->given, source->size, error));
  return remember_source(engine, &read, count.bytes);
}

/* Sets `error` for a failure that has not set it. */
static vs_status finish(vs_status status, vs_error *error) {
  if (status == VS_OK || error->status == status) return status;
  return vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
}

vs_status vs_engine_load_sized(vs_engine *engine, vs_reader reader, const vs_source *source,
                               size_t source_size, const vs_load_options *options, size_t options_size,
                               vs_error *error) {
  const named_source named = {source, source_size};
  vs_load_options wanted = {0};
  vs_error ignored;
  if (error == NULL) error = &ignored;
  *error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_engine_unload(engine);
  vs_status status =
      options == NULL ? VS_OK : vs_sized_take(&wanted, sizeof wanted, options, options_size, error);
  if (status == VS_OK) status = load(engine, reader, &named, &wanted, error);
  if (status != VS_OK) vs_engine_unload(engine);
  return finish(status, error);
}

const char *vs_engine_check(const vs_engine *engine) {
  if (engine->snapshot == NULL) return engine->devices.count == 0 ? NULL : "devices without a file";
  if (engine->devices.count != engine->slices.list.count) return "not one device for each slice";
  for (size_t i = 0; i < engine->devices.count; i++) {
    const vs_device_cache *device = &engine->devices.data[i];
    if (device->slice != &engine->slices.list.data[i]) return "a device of another slice";
    const char *broken = vs_device_cache_check(device);
    if (broken != NULL) return broken;
  }
  if (engine->no_slice.event_count != 0 || engine->no_slice.segment_count != 0)
    return "no device with memory";
  return vs_device_cache_check(&engine->no_device);
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

enum { SCHEMA = 1 };

static vs_status answer_in_json(vs_call *call) {
  vs_jsonw json;
  vs_jsonw_begin(&json, call->text, call->request->indent);
  call->json = &json;
  vs_jsonw_object_begin(&json);
  vs_jsonw_member_u64(&json, "schema", SCHEMA);
  vs_jsonw_member_str(&json, "method", vs_str_from(vs_methods[call->request->method].name));
  VS_TRY(call->engine->handlers->methods[call->request->method](call));
  if (vs_methods[call->request->method].reply == VS_REPLY_COLUMNS)
    return vs_columns_end(&call->columns, &json);
  vs_jsonw_object_end(&json);
  vs_jsonw_end(&json);
  return VS_OK;
}

static vs_status answer_in_columns(vs_call *call) {
  call->columns = (vs_columns){.host = call->engine->host};
  vs_columns_begin(call->text);
  const vs_status status = answer_in_json(call);
  vs_columns_deinit(&call->columns);
  return status;
}

static vs_status answer_as(vs_call *call, vs_reply_kind kind) {
  if (kind == VS_REPLY_BYTES) return call->engine->handlers->methods[call->request->method](call);
  return kind == VS_REPLY_COLUMNS ? answer_in_columns(call) : answer_in_json(call);
}

/* Sets call->device: the requested one, or the default one where the request names none. */
static vs_status choose_device(vs_call *call) {
  const vs_device_choice choice = call->request->device;
  call->device = choice.is_given ? vs_find_device(&call->engine->devices, choice.device)
                                 : vs_default_device(&call->engine->devices);
  if (call->device == NULL && !choice.is_given) call->device = &call->engine->no_device;
  if (call->device != NULL) return VS_OK;
  if (choice.device == VS_DEVICE_HOST)
    return vs_fail(call->error, VS_NOT_FOUND, VS_NO_OFFSET, "the file has no pinned host memory");
  return vs_fail(call->error, VS_NOT_FOUND, VS_NO_OFFSET, "the file has no memory of device %D",
                 (int64_t)choice.device);
}

static vs_status answer(vs_call *call) {
  const vs_method *method = &vs_methods[call->request->method];
  vs_text text;
  VS_ASSERT((size_t)call->request->method < VS_METHOD_COUNT);
  if (call->engine->handlers->methods[call->request->method] == NULL)
    return vs_fail(call->error, VS_UNSUPPORTED, VS_NO_OFFSET,
                   "this engine does not have the method %s: it has what the viewer's page asks",
                   method->name);
  if (method->needs == VS_NEEDS_FILE) {
    if (call->engine->snapshot == NULL)
      return vs_fail(call->error, VS_NOT_FOUND, VS_NO_OFFSET, "no file is loaded");
    if (vs_format_is_account(call->engine->snapshot->format))
      VS_TRY(call->engine->handlers->accounts->check(call));
    VS_TRY(choose_device(call));
  }
  const bool is_whole = method->reply == VS_REPLY_WHOLE || method->reply == VS_REPLY_COLUMNS;
  vs_text_init(&text, call->engine->host, is_whole ? NULL : call->reply);
  vs_text_init(&call->scratch, call->engine->host, NULL);
  call->text = &text;
  vs_status status = answer_as(call, method->reply);
  if (status == VS_OK) status = call->scratch.status;
  VS_ASSERT(status != VS_OK || call->scratch.bytes.count == 0);
  if (status == VS_OK) status = vs_text_finish(&text);
  if (status == VS_OK && is_whole)
    status = call->reply->write(call->reply->ctx, vs_text_view(&text).data, vs_text_view(&text).size);
  vs_text_deinit(&call->scratch);
  vs_text_deinit(&text);
  return status;
}

vs_status vs_engine_request(vs_engine *engine, vs_str bytes, vs_writer reply, vs_error *error) {
  vs_error ignored;
  if (error == NULL) error = &ignored;
  *error = (vs_error){.status = VS_OK, .offset = VS_NO_OFFSET};
  vs_request request;
  vs_status status = vs_request_init(&request, engine->host, bytes, error);
  if (status != VS_OK) return finish(status, error);
  vs_call call = {.engine = engine, .request = &request, .reply = &reply, .error = error};
  status = answer(&call);
  vs_request_deinit(&request);
  return finish(status, error);
}
