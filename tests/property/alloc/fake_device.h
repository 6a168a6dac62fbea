/* A card that is as simple as can be: addresses are allocated at the lowest gap that fits, memory is a
 * number, an event is done once its stream was told to have come so far.
 *
 *   used = sum of the sizes of segments and of physical pages <= total
 *
 * Every function can be told to fail at its n-th call. */
#ifndef VS_TESTS_FAKE_DEVICE_H
#define VS_TESTS_FAKE_DEVICE_H

#include "device/device.h"

#include <stdlib.h>
#include <string.h>

enum { FAKE_STREAMS = 8 };

typedef enum fake_call {
  FAKE_ALLOC,
  FAKE_FREE,
  FAKE_MEMORY_INFO,
  FAKE_RESERVE,
  FAKE_UNRESERVE,
  FAKE_CREATE,
  FAKE_RELEASE,
  FAKE_MAP,
  FAKE_ACCESS,
  FAKE_UNMAP,
  FAKE_EVENT_CREATE,
  FAKE_EVENT_RECORD,
  FAKE_EVENT_QUERY,
  FAKE_EVENT_SYNCHRONIZE,
  FAKE_STREAM_SYNCHRONIZE,
  FAKE_CAPTURE_INFO,
  FAKE_NEEDS,
  FAKE_CALLS
} fake_call;

typedef struct fake_range {
  uint64_t address, size;
  bool has_memory; /* a segment; else only addresses */
} fake_range;

typedef struct fake_event {
  uint64_t stream, number; /* how many events the stream had when this one was recorded */
} fake_event;

typedef struct fake_device {
  uint64_t total, used;
  fake_range *ranges; /* by address */
  size_t range_count, range_capacity;
  fake_event *events;
  size_t event_count, event_capacity, events_alive;
  uint64_t recorded[FAKE_STREAMS], done[FAKE_STREAMS]; /* events of a stream: so far, of which are over */
  bool is_capturing;                                   /* all streams take part in a capture */
  uint64_t nodes[2]; /* the last of the captured graph, each behind the one before; and what that needs */
  uint64_t pages;    /* physical ones */
  uint64_t mapped;   /* of them, calls of map less calls of unmap */
  uint64_t calls[FAKE_CALLS];
  fake_call failing;    /* which call fails; FAKE_CALLS: none */
  uint64_t failing_at;  /* its number */
  vs_device_result how; /* what it answers */
} fake_device;

static inline vs_device_result fake_count(fake_device *f, fake_call call) {
  return f->calls[call]++ == f->failing_at && f->failing == call ? f->how : VS_DEVICE_OK;
}
#define FAKE_COUNT(f, call)                                   \
  do {                                                        \
    const vs_device_result fake_result = fake_count(f, call); \
    if (fake_result != VS_DEVICE_OK) return fake_result;      \
  } while (0)

static inline uint64_t fake_place(fake_device *f, uint64_t size, bool has_memory) {
  uint64_t at = UINT64_C(1) << 40;
  size_t i = 0;
  for (; i < f->range_count && f->ranges[i].address - at < size; i++)
    at = f->ranges[i].address + f->ranges[i].size;
  if (f->range_count == f->range_capacity) {
    f->range_capacity = 2 * f->range_capacity + 16;
    f->ranges = realloc(f->ranges, f->range_capacity * sizeof *f->ranges);
  }
  memmove(&f->ranges[i + 1], &f->ranges[i], (f->range_count - i) * sizeof *f->ranges);
  f->ranges[i] = (fake_range){at, size, has_memory};
  f->range_count++;
  return at;
}

static inline vs_device_result fake_remove(fake_device *f, uint64_t address, bool has_memory) {
  for (size_t i = 0; i < f->range_count; i++) {
    if (f->ranges[i].address != address || f->ranges[i].has_memory != has_memory) continue;
    if (has_memory) f->used -= f->ranges[i].size;
    memmove(&f->ranges[i], &f->ranges[i + 1], (f->range_count - i - 1) * sizeof *f->ranges);
    f->range_count--;
    return VS_DEVICE_OK;
  }
  return VS_DEVICE_FAILED;
}

static inline vs_device_result fake_alloc(void *ctx, uint64_t size, uint64_t *address) {
  fake_device *f = ctx;
  FAKE_COUNT(f, FAKE_ALLOC);
  if (size > f->total - f->used) return VS_DEVICE_OUT_OF_MEMORY;
  f->used += size;
  *address = fake_place(f, size, true);
  return VS_DEVICE_OK;
}
static inline vs_device_result fake_free(void *ctx, uint64_t address) {
  FAKE_COUNT((fake_device *)ctx, FAKE_FREE);
  return fake_remove(ctx, address, true);
}
static inline vs_device_result fake_memory_info(void *ctx, uint64_t *free_bytes, uint64_t *total_bytes) {
  fake_device *f = ctx;
  FAKE_COUNT(f, FAKE_MEMORY_INFO);
  *free_bytes = f->total - f->used;
  *total_bytes = f->total;
  return VS_DEVICE_OK;
}
static inline vs_device_result fake_reserve(void *ctx, uint64_t size, uint64_t *address) {
  FAKE_COUNT((fake_device *)ctx, FAKE_RESERVE);
  *address = fake_place(ctx, size, false);
  return VS_DEVICE_OK;
}
static inline vs_device_result fake_unreserve(void *ctx, uint64_t address, uint64_t size) {
  (void)size;
  FAKE_COUNT((fake_device *)ctx, FAKE_UNRESERVE);
  return fake_remove(ctx, address, false);
}
/* A handle is the size of the page, with a number in the low bits so that it is never 0. */
static inline vs_device_result fake_create(void *ctx, uint64_t size, uint64_t *handle) {
  fake_device *f = ctx;
  FAKE_COUNT(f, FAKE_CREATE);
  if (size > f->total - f->used) return VS_DEVICE_OUT_OF_MEMORY;
  f->used += size;
  f->pages++;
  *handle = size | 1;
  return VS_DEVICE_OK;
}
static inline vs_device_result fake_release(void *ctx, uint64_t handle) {
  fake_device *f = ctx;
  FAKE_COUNT(f, FAKE_RELEASE);
  if (handle == 0) return VS_DEVICE_FAILED;
  f->used -= handle & ~UINT64_C(1);
  f->pages--;
  return VS_DEVICE_OK;
}
static inline vs_device_result fake_map(void *ctx, uint64_t address, uint64_t size, uint64_t handle) {
  fake_device *f = ctx;
  (void)address;
  FAKE_COUNT(f, FAKE_MAP);
  if ((handle & ~UINT64_C(1)) != size) return VS_DEVICE_FAILED;
  f->mapped++;
  return VS_DEVICE_OK;
}
static inline vs_device_result fake_access(void *ctx, uint64_t address, uint64_t size) {
  (void)address;
  (void)size;
  FAKE_COUNT((fake_device *)ctx, FAKE_ACCESS);
  return VS_DEVICE_OK;
}
static inline vs_device_result fake_unmap(void *ctx, uint64_t address, uint64_t size) {
  fake_device *f = ctx;
  (void)address;
  (void)size;
  FAKE_COUNT(f, FAKE_UNMAP);
  f->mapped--;
  return VS_DEVICE_OK;
}

/* Events are numbers from 1 on. */
static inline vs_device_result fake_event_create(void *ctx, uint64_t *event) {
  fake_device *f = ctx;
  FAKE_COUNT(f, FAKE_EVENT_CREATE);
  if (f->event_count == f->event_capacity) {
    f->event_capacity = 2 * f->event_capacity + 16;
    f->events = realloc(f->events, f->event_capacity * sizeof *f->events);
  }
  f->events[f->event_count++] = (fake_event){0};
  f->events_alive++;
  *event = f->event_count;
  return VS_DEVICE_OK;
}
static inline vs_device_result fake_event_destroy(void *ctx, uint64_t event) {
  fake_device *f = ctx;
  if (event == 0 || event > f->event_count) return VS_DEVICE_FAILED;
  f->events_alive--;
  return VS_DEVICE_OK;
}
static inline vs_device_result fake_event_record(void *ctx, uint64_t event, uint64_t stream) {
  fake_device *f = ctx;
  FAKE_COUNT(f, FAKE_EVENT_RECORD);
  f->events[event - 1] = (fake_event){stream, ++f->recorded[stream % FAKE_STREAMS]};
  return VS_DEVICE_OK;
}
static inline vs_device_result fake_event_query(void *ctx, uint64_t event) {
  fake_device *f = ctx;
  FAKE_COUNT(f, FAKE_EVENT_QUERY);
  const fake_event e = f->events[event - 1];
  return e.number <= f->done[e.stream % FAKE_STREAMS] ? VS_DEVICE_OK : VS_DEVICE_NOT_READY;
}
static inline vs_device_result fake_event_synchronize(void *ctx, uint64_t event) {
  fake_device *f = ctx;
  FAKE_COUNT(f, FAKE_EVENT_SYNCHRONIZE);
  const fake_event e = f->events[event - 1];
  if (f->done[e.stream % FAKE_STREAMS] < e.number) f->done[e.stream % FAKE_STREAMS] = e.number;
  return VS_DEVICE_OK;
}
static inline vs_device_result fake_stream_synchronize(void *ctx, uint64_t stream) {
  fake_device *f = ctx;
  FAKE_COUNT(f, FAKE_STREAM_SYNCHRONIZE);
  f->done[stream % FAKE_STREAMS] = f->recorded[stream % FAKE_STREAMS];
  return VS_DEVICE_OK;
}

static inline vs_device_result fake_capture_info(void *ctx, uint64_t stream, vs_device_capture *capture) {
  fake_device *f = ctx;
  (void)stream;
  FAKE_COUNT(f, FAKE_CAPTURE_INFO);
  f->nodes[0] += f->is_capturing; /* something was done since: node n stands behind node n - 1 */
  *capture = (vs_device_capture){
      .is_active = f->is_capturing, .graph = 1, .nodes = f->nodes, .node_count = f->nodes[0] > 0};
  return VS_DEVICE_OK;
}
static inline vs_device_result fake_needs(void *ctx, uint64_t graph, uint64_t node, const uint64_t **nodes,
                                          uint64_t *count) {
  fake_device *f = ctx;
  (void)graph;
  FAKE_COUNT(f, FAKE_NEEDS);
  f->nodes[1] = node - 1;
  *nodes = &f->nodes[1];
  *count = node > 1;
  return VS_DEVICE_OK;
}

static inline int64_t fake_last_code(void *ctx, const char **text) {
  (void)ctx;
  *text = "told to fail";
  return 999;
}

static const vs_device_ops fake_ops = {
    .alloc = fake_alloc,
    .free = fake_free,
    .memory_info = fake_memory_info,
    .reserve = fake_reserve,
    .unreserve = fake_unreserve,
    .create = fake_create,
    .release = fake_release,
    .map = fake_map,
    .access = fake_access,
    .unmap = fake_unmap,
    .event_create = fake_event_create,
    .event_destroy = fake_event_destroy,
    .event_record = fake_event_record,
    .event_query = fake_event_query,
    .event_synchronize = fake_event_synchronize,
    .stream_synchronize = fake_stream_synchronize,
    .capture_info = fake_capture_info,
    .needs = fake_needs,
    .last_code = fake_last_code,
};

static inline void fake_init(fake_device *f, uint64_t total) {
  *f = (fake_device){.total = total, .failing = FAKE_CALLS};
}
static inline void fake_deinit(fake_device *f) {
  free(f->ranges);
  free(f->events);
}
static inline vs_device fake_face(fake_device *f) {
  return (vs_device){.ops = &fake_ops, .ctx = f, .total_bytes = f->total};
}

#endif
