/* A Perfetto trace: a stream of TracePackets. For each device a process with counter tracks (requested and reserved
 * bytes), instants for failed requests, and the named ranges of the program as slices.
 *
 * Times are those of the file in nanoseconds. If a trace has no times, each event takes one microsecond from 0 on,
 * and the names of its tracks say so. */
#include "codec/proto_writer.h"
#include "query/export.h"
#include "query/rows.h"

/* Field numbers and values of Perfetto's .proto files. */
enum {
  TRACE_PACKET = 1,
  PACKET_TIMESTAMP = 8,
  PACKET_SEQUENCE_ID = 10,
  PACKET_TRACK_EVENT = 11,
  PACKET_SEQUENCE_FLAGS = 13,
  PACKET_TRACK_DESCRIPTOR = 60,
  DESCRIPTOR_UUID = 1,
  DESCRIPTOR_NAME = 2,
  DESCRIPTOR_PROCESS = 3,
  DESCRIPTOR_PARENT_UUID = 5,
  DESCRIPTOR_COUNTER = 8,
  PROCESS_PID = 1,
  PROCESS_NAME = 6,
  COUNTER_UNIT = 3,
  EVENT_ANNOTATION = 4,
  EVENT_TYPE = 9,
  EVENT_TRACK_UUID = 11,
  EVENT_NAME = 23,
  EVENT_COUNTER_VALUE = 30,
  ANNOTATION_UINT = 3,
  ANNOTATION_NAME = 10,

  UNIT_SIZE_BYTES = 3,
  TYPE_SLICE_BEGIN = 1,
  TYPE_SLICE_END = 2,
  TYPE_INSTANT = 3,
  TYPE_COUNTER = 4,
  INCREMENTAL_STATE_CLEARED = 1,
  ONE_SEQUENCE = 1,
};

/* Tracks of a device: uuid = device's base + one of these; the lanes of annotations follow. */
enum { TRACK_PROCESS, TRACK_REQUESTED, TRACK_RESERVED, TRACK_OOM, TRACK_LANES };
static const char *const track_names[] = {[TRACK_REQUESTED] = "requested bytes",
                                          [TRACK_RESERVED] = "reserved bytes",
                                          [TRACK_OOM] = "out of memory"};

typedef struct perfetto {
  vs_call *call;
  vs_text packet, event, inner; /* being built; empty between uses */
  const vs_slice *slice;
  uint64_t base; /* uuid of the device's process track */
  bool has_times;
} perfetto;

/* ---- packets --------------------------------------------------------------------------------------------------- */

static void packet_end(perfetto *p) {
  vs_proto_u64(&p->packet, PACKET_SEQUENCE_ID, ONE_SEQUENCE);
  vs_proto_message(p->call->text, TRACE_PACKET, &p->packet);
  VS_ASSERT(p->packet.bytes.count == 0);
}

/* Writes the event that was built in p->event. */
static void event_end(perfetto *p, uint64_t nanoseconds) {
  vs_proto_u64(&p->packet, PACKET_TIMESTAMP, nanoseconds);
  vs_proto_message(&p->packet, PACKET_TRACK_EVENT, &p->event);
  packet_end(p);
}

static void event_begin(perfetto *p, uint64_t type, uint64_t track) {
  VS_ASSERT(p->event.bytes.count == 0 && p->inner.bytes.count == 0);
  vs_proto_u64(&p->event, EVENT_TYPE, type);
  vs_proto_u64(&p->event, EVENT_TRACK_UUID, p->base + track);
}

static uint64_t nanoseconds_of(int64_t time_us) {
  if (time_us <= 0) return 0;
  return time_us < INT64_MAX / 1000 ? (uint64_t)time_us * 1000 : INT64_MAX;
}

/* ---- tracks ---------------------------------------------------------------------------------------------------- */

static void track_begin(perfetto *p, uint64_t track, const char *name) {
  vs_proto_u64(&p->event, DESCRIPTOR_UUID, p->base + track);
  if (track == TRACK_PROCESS) return;
  vs_proto_u64(&p->event, DESCRIPTOR_PARENT_UUID, p->base);
  vs_text_cstr(&p->inner, name);
  if (!p->has_times) vs_text_cstr(&p->inner, " (by event: no times recorded)");
  vs_proto_message(&p->event, DESCRIPTOR_NAME, &p->inner);
}

static void track_end(perfetto *p) {
  vs_proto_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->event);
  packet_end(p);
}

static void put_process(perfetto *p) {
  const int32_t device = p->slice->device;
  vs_text *name = &p->call->scratch;
  track_begin(p, TRACK_PROCESS, "");
  vs_proto_i64(&p->inner, PROCESS_PID, (int64_t)device + 2); /* pinned host memory is 1 */
  if (device == VS_DEVICE_HOST) vs_text_cstr(name, "pinned host memory");
  else vs_text_format(name, "GPU %d", device);
  vs_proto_message(&p->inner, PROCESS_NAME, name);
  vs_proto_message(&p->event, DESCRIPTOR_PROCESS, &p->inner);
  track_end(p);
}

static void put_counter_track(perfetto *p, uint64_t track) {
  track_begin(p, track, track_names[track]);
  vs_proto_u64(&p->inner, COUNTER_UNIT, UNIT_SIZE_BYTES);
  vs_proto_message(&p->event, DESCRIPTOR_COUNTER, &p->inner);
  track_end(p);
}

static void put_plain_track(perfetto *p, uint64_t track, const char *name) {
  track_begin(p, track, name);
  track_end(p);
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

static void put_counter(perfetto *p, uint64_t track, uint64_t now, int64_t value) {
  event_begin(p, TYPE_COUNTER, track);
  vs_proto_i64(&p->event, EVENT_COUNTER_VALUE, value);
  event_end(p, now);
}

static void put_number(perfetto *p, const char *name, uint64_t value) {
  vs_proto_str(&p->inner, ANNOTATION_NAME, vs_str_from(name));
  vs_proto_u64(&p->inner, ANNOTATION_UINT, value);
  vs_proto_message(&p->event, EVENT_ANNOTATION, &p->inner);
}

static void put_oom(perfetto *p, uint32_t event, uint64_t now) {
  const vs_events *events = &p->slice->snapshot->events;
  const uint32_t row = vs_slice_row(p->slice, event);
  uint64_t free_bytes;
  event_begin(p, TYPE_INSTANT, TRACK_OOM);
  vs_proto_str(&p->event, EVENT_NAME, VS_STR("out of memory"));
  put_number(p, "event", event);
  put_number(p, "requested_bytes", vs_events_size(events, row));
  if (vs_event_address(events, row, &free_bytes)) put_number(p, "device_free_bytes", free_bytes);
  event_end(p, now);
}

/* Writes the changes of the curves, and failed requests. A time that is earlier than the one before is replaced by
 * it. */
static void put_trace(perfetto *p, const vs_curves *curves, int64_t first_us) {
  static const struct {
    vs_curve_kind kind;
    uint64_t track;
  } counters[] = {{VS_CURVE_REQUESTED, TRACK_REQUESTED}, {VS_CURVE_RESERVED, TRACK_RESERVED}};
  vs_curve_cursor cursor = vs_curve_cursor_at_start(p->slice, curves);
  int64_t last[2];
  uint64_t now = p->has_times ? nanoseconds_of(first_us) : 0;
  for (size_t i = 0; i < 2; i++) {
    last[i] = curves->curve[counters[i].kind].baseline;
    put_counter(p, counters[i].track, now, last[i]);
  }
  for (uint32_t event = 0; event < p->slice->event_count; event++) {
    const int64_t time_us = vs_slice_time(p->slice, event);
    const uint64_t time = p->has_times ? nanoseconds_of(time_us) : ((uint64_t)event + 1) * 1000;
    now = vs_max_u64(now, time);
    vs_curve_cursor_move(&cursor, event);
    for (size_t i = 0; i < 2; i++) {
      const int64_t value = cursor.values[counters[i].kind];
      if (value != last[i]) put_counter(p, counters[i].track, now, value);
      last[i] = value;
    }
    if (vs_events_kind(&p->slice->snapshot->events, vs_slice_row(p->slice, event)) == VS_EVENT_OOM)
      put_oom(p, event, now);
  }
}

/* ---- named ranges ---------------------------------------------------------------------------------------------- */

enum { MOST_LANES = 64 };

/* Slices of one track must nest, but ranges need not. So each range is put into the first lane that is free when it
 * begins. If MOST_LANES ranges are open, it is put into the last lane, where slices may overlap. */
static void put_ranges(perfetto *p, const vs_named_ranges *named) {
  int64_t free_at[MOST_LANES];
  size_t lanes = 0;
  for (size_t i = 0; i < named->ranges.count; i++) {
    const vs_named_range *range = &named->ranges.data[i];
    size_t lane = 0;
    while (lane < lanes && free_at[lane] > range->from_us) lane++;
    if (lane == MOST_LANES) lane--;
    if (lane == lanes) put_plain_track(p, TRACK_LANES + lanes++, "annotations");
    VS_ASSERT(lane < lanes && lanes <= MOST_LANES);
    free_at[lane] = range->to_us;
    event_begin(p, TYPE_SLICE_BEGIN, TRACK_LANES + lane);
    vs_text_clean(&p->inner, vs_snapshot_string(p->slice->snapshot, range->name));
    vs_proto_message(&p->event, EVENT_NAME, &p->inner);
    event_end(p, nanoseconds_of(range->from_us));
    if (range->to_us == INT64_MAX) continue; /* never closed: it lasts to the end */
    event_begin(p, TYPE_SLICE_END, TRACK_LANES + lane);
    event_end(p, nanoseconds_of(range->to_us));
  }
}

/* ---- the trace ------------------------------------------------------------------------------------------------- */

static vs_status put_device(perfetto *p, vs_device_cache *device) {
  vs_engine *engine = p->call->engine;
  const vs_named_ranges *named;
  const vs_times *times;
  p->slice = device->slice;
  p->base = (uint64_t)((int64_t)device->slice->device + 2) << 32;
  VS_TRY(vs_cached_times(engine->host, device, &times));
  VS_TRY(vs_cached_ranges(engine->host, device, &named));
  p->has_times = times->first_us != VS_NO_TIME;
  put_process(p);
  put_counter_track(p, TRACK_REQUESTED);
  put_counter_track(p, TRACK_RESERVED);
  put_plain_track(p, TRACK_OOM, track_names[TRACK_OOM]);
  put_trace(p, vs_cached_curves(device), times->first_us);
  put_ranges(p, named);
  return VS_OK;
}

static vs_status put_devices(perfetto *p) {
  vs_engine *engine = p->call->engine;
  vs_proto_u64(&p->packet, PACKET_SEQUENCE_FLAGS, INCREMENTAL_STATE_CLEARED);
  packet_end(p);
  for (size_t i = 0; i < engine->devices.count; i++)
    if (vs_export_covers(p->call, &engine->devices.data[i])) VS_TRY(put_device(p, &engine->devices.data[i]));
  return VS_OK;
}

vs_status vs_export_perfetto(vs_call *call) {
  perfetto p = {.call = call};
  vs_text_init(&p.packet, call->engine->host, NULL);
  vs_text_init(&p.event, call->engine->host, NULL);
  vs_text_init(&p.inner, call->engine->host, NULL);
  const vs_status status = put_devices(&p);
  vs_text_deinit(&p.inner);
  vs_text_deinit(&p.event);
  vs_text_deinit(&p.packet);
  return status;
}
