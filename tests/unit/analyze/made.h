/* Snapshots made by hand, whose truth the test knows.
 *
 *   made m = made_begin();
 *   made_event(&m, VS_EVENT_ALLOC, 0x1000, 700);            events of one device, oldest first
 *   made_trace(&m, 0);                                      ... which this ends
 *   made_segment(&m, 0, 0x1000, 2048, "small");             its end state
 *   made_block(&m, 1024, 700, VS_BLOCK_ALLOCATED);          blocks follow one another
 *   made_block(&m, 1024, 0, VS_BLOCK_INACTIVE);
 *   const vs_slice *slice = made_slice(&m, 0);              checks it all
 *   made_end(&m);
 */
#ifndef VS_TESTS_MADE_H
#define VS_TESTS_MADE_H

#include "analyze/slice.h"
#include "support/test.h"

typedef struct made {
  const vs_host *host;
  vs_snapshot *snapshot;
  vs_slices slices;
  uint32_t first_event;  /* of the trace that grows */
  uint64_t next_address; /* of the next block */
} made;

static inline made made_begin(void) {
  made m = {.host = vs_host_default()};
  expect_ok(vs_snapshot_create(m.host, &m.snapshot));
  expect_ok(vs_vec_reserve(m.host, &m.snapshot->streams, 1));
  m.snapshot->streams.data[m.snapshot->streams.count++] = 0;
  return m;
}

static inline void made_end(made *m) {
  vs_slices_deinit(m->host, &m->slices);
  vs_snapshot_destroy(m->snapshot);
}

static inline uint32_t made_string(made *m, const char *text) {
  uint32_t id;
  expect_ok(vs_strings_intern(m->host, &m->snapshot->strings, vs_str_from(text), &id));
  return id;
}

/* ---- what there is to name ----------------------------------------------------------------------------- */

static inline uint32_t made_stream(made *m, uint64_t handle) {
  expect_ok(vs_vec_reserve(m->host, &m->snapshot->streams, 1));
  m->snapshot->streams.data[m->snapshot->streams.count] = handle;
  return (uint32_t)m->snapshot->streams.count++;
}

/* What events and segments say of it: 1 + index. */
static inline uint32_t made_pool(made *m, uint64_t a, uint64_t b) {
  expect_ok(vs_vec_reserve(m->host, &m->snapshot->pools, 1));
  m->snapshot->pools.data[m->snapshot->pools.count++] = (vs_pool_id){a, b};
  return (uint32_t)m->snapshot->pools.count;
}

static inline uint32_t made_frame(made *m, const char *name, const char *file, int64_t line) {
  uint32_t id;
  expect_ok(vs_stacks_frame(m->host, &m->snapshot->stacks, made_string(m, name), made_string(m, file), line,
                            NULL, &id));
  return id;
}

static inline uint32_t made_stack_of(made *m, const uint32_t *frames, size_t count) {
  uint32_t id;
  expect_ok(vs_lists_intern(m->host, &m->snapshot->stacks.lists, frames, count, &id));
  return id;
}

/* A stack of one frame of the user's. */
static inline uint32_t made_stack(made *m, const char *name, int64_t line) {
  const uint32_t frame = made_frame(m, name, "/home/user/train.py", line);
  return made_stack_of(m, &frame, 1);
}

/* ---- the trace ----------------------------------------------------------------------------------------- */

/* Returns its row; in the first trace that is the event. */
static inline uint32_t made_event(made *m, vs_event_kind kind, uint64_t address, uint64_t size) {
  vs_events *events = &m->snapshot->events;
  uint32_t row;
  expect_ok(vs_events_add(m->host, events, &row));
  expect_ok(vs_events_set_action(m->host, events, row, (uint16_t)kind));
  expect_ok(vs_events_set_address(m->host, events, row, address));
  expect_ok(vs_events_set_size(m->host, events, row, size));
  return row - m->first_event;
}

static inline uint32_t made_alloc(made *m, uint64_t address, uint64_t size, uint32_t stack) {
  const uint32_t event = made_event(m, VS_EVENT_ALLOC, address, size);
  expect_ok(vs_events_set_stack(m->host, &m->snapshot->events, m->first_event + event, stack));
  return event;
}

/* Both events of a free; returns the second. */
static inline uint32_t made_free(made *m, uint64_t address, uint64_t size) {
  (void)made_event(m, VS_EVENT_FREE_REQUESTED, address, size);
  return made_event(m, VS_EVENT_FREE_COMPLETED, address, size);
}

static inline void made_time(made *m, uint32_t event, int64_t time_us) {
  expect_ok(vs_events_set_time_us(m->host, &m->snapshot->events, m->first_event + event, time_us));
}

static inline void made_annotation(made *m, const char *stage, const char *name, int64_t time_us) {
  expect_ok(vs_vec_reserve(m->host, &m->snapshot->annotations, 1));
  m->snapshot->annotations.data[m->snapshot->annotations.count++] =
      (vs_annotation){.time_us = time_us, .name = made_string(m, name), .stage = made_string(m, stage)};
}

/* Ends the trace of a device; devices in rising order, the host last. */
static inline void made_trace(made *m, int32_t device) {
  expect_ok(vs_vec_reserve(m->host, &m->snapshot->traces, 1));
  m->snapshot->traces.data[m->snapshot->traces.count++] = (vs_trace){
      .device = device, .first = m->first_event, .count = m->snapshot->events.count - m->first_event};
  m->first_event = m->snapshot->events.count;
}

/* ---- the end state ------------------------------------------------------------------------------------- */

/* Borrowed until the next one. */
static inline vs_segment *made_segment(made *m, int32_t device, uint64_t address, uint64_t size,
                                       const char *type) {
  const uint32_t type_id = made_string(m, type);
  expect_ok(vs_vec_reserve(m->host, &m->snapshot->segments, 1));
  vs_segment *segment = &m->snapshot->segments.data[m->snapshot->segments.count++];
  *segment = (vs_segment){
      .address = address,
      .total_size = size,
      .registration_counter = VS_NO_COUNTER,
      .device = device,
      .type = type_id,
      .first_block = (uint32_t)m->snapshot->blocks.count,
  };
  m->next_address = address;
  return segment;
}

static inline vs_block *made_block(made *m, uint64_t size, uint64_t requested, vs_block_state state) {
  expect_ok(vs_vec_reserve(m->host, &m->snapshot->blocks, 1));
  vs_block *block = &m->snapshot->blocks.data[m->snapshot->blocks.count++];
  *block = (vs_block){
      .address = m->next_address, .size = size, .requested_size = requested, .state = (uint8_t)state};
  m->snapshot->segments.data[m->snapshot->segments.count - 1].block_count++;
  m->next_address += size;
  return block;
}

/* ---- looking at it ------------------------------------------------------------------------------------- */

static inline const vs_slice *made_slice(made *m, int32_t device) {
  const char *broken = vs_snapshot_check(m->snapshot);
  if (broken != NULL) fail_msg("%s", broken);
  vs_slices_deinit(m->host, &m->slices);
  expect_ok(vs_slices_build(m->host, m->snapshot, &m->slices));
  const vs_slice *slice = vs_slices_find(&m->slices, device);
  assert_non_null(slice);
  return slice;
}

#endif
