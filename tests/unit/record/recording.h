/* Recordings that tests make: where they go, the usual recorder, and events that say which they are. */
#ifndef VS_TESTS_RECORDING_H
#define VS_TESTS_RECORDING_H

#include "os/folder.h"
#include "read_back.h"
#include "record/record.h"

static vs_folder folder;
static char path[VS_FOLDER_PATH + 32];

static inline vs_recorder *open_on(const vs_host *host, vs_record_options options) {
  vs_recorder *recorder;
  vs_error error = {0};
  options.path = path;
  options.may_replace = true;
  if (vs_record_open(host, &options, &recorder, &error) != VS_OK) fail_msg("%s", error.text);
  return recorder;
}

static inline vs_recorder *open_with(vs_record_options options) {
  return open_on(vs_host_default(), options);
}

static inline vs_record_figures close_it(vs_recorder *recorder) {
  vs_record_figures figures;
  vs_error error = {0};
  if (vs_record_close(recorder, &figures, &error) != VS_OK) fail_msg("%s", error.text);
  return figures;
}

/* Event number i says so everywhere. */
static inline void record(vs_recorder *recorder, uint64_t i, vs_context context) {
  const vs_event event = {.address = UINT64_C(0x7f0000000000) + i * 512,
                          .size = i + 1,
                          .rounded = (i / 512 + 1) * 512,
                          .stream = i % 3,
                          .context = context,
                          .kind = VS_EVENT_ALLOC};
  const vs_record_facts facts = {.time_ns = i * 1000, .device = (int32_t)(i % 2)};
  vs_record_event(recorder, &event, &facts);
}

static inline void expect_numbered(const back *b, uint64_t at, uint64_t i) {
  const vs_trace_event *event = &b->events.data[at];
  assert_int_equal(event->address, UINT64_C(0x7f0000000000) + i * 512);
  assert_int_equal(event->size, i + 1);
  assert_int_equal(event->rounded, (i / 512 + 1) * 512);
  assert_int_equal(event->kind, VS_EVENT_ALLOC);
  assert_int_equal(b->contexts[event->context].stream, i % 3);
  assert_int_equal(b->contexts[event->context].device, i % 2);
}

/* ---- around a group of tests */

static inline int make_folder(void **state) {
  (void)state;
  vs_error error;
  if (vs_folder_create(&folder, "vramscope-record-", &error) != VS_OK) return -1;
  vs_format(path, sizeof path, "%s/test.vram", folder.path);
  return 0;
}

static inline int remove_folder(void **state) {
  (void)state;
  vs_folder_remove(&folder);
  return 0;
}

#endif
