/* What a recording says, as arrays: for tests that wrote it. */
#ifndef VS_TESTS_READ_BACK_H
#define VS_TESTS_READ_BACK_H

#include "base/vec.h"
#include "os/infile.h"
#include "support/test.h"
#include "tracefile/reader.h"

#include <stdlib.h>

enum {
  BACK_MOST_STRINGS = 4096,
  BACK_MOST_STACKS = 16384,
  BACK_MOST_FRAMES = 128,
  BACK_MOST_CONTEXTS = 4096,
  BACK_NATIVES = 8192
};

typedef struct back_stack {
  uint32_t count, frames[BACK_MOST_FRAMES];
} back_stack;

typedef struct back {
  char *strings[BACK_MOST_STRINGS];
  back_stack stacks[BACK_MOST_STACKS];
  vs_trace_context contexts[BACK_MOST_CONTEXTS];
  vs_trace_native natives[BACK_NATIVES];
  vs_trace_frame frames[BACK_NATIVES];
  bool is_native[BACK_NATIVES];
  VS_VEC(vs_trace_event) events;
  VS_VEC(vs_trace_annotation) annotations;
  VS_VEC(vs_trace_library) libraries;
  VS_VEC(vs_trace_module) modules;
  VS_VEC(vs_trace_setting) settings;
  VS_VEC(vs_trace_segment) segments;
  VS_VEC(vs_trace_block) blocks;
  VS_VEC(vs_trace_thread) threads;
  vs_trace_process process;
  vs_trace_device device;
  uint32_t states, ended_states;
  size_t events_before_state; /* the last one */
  uint64_t lost;
  char stopped[256]; /* why */
  vs_trace_report report;
} back;

#define BACK_ADD(vec, item)                                 \
  do {                                                      \
    expect_ok(vs_vec_reserve(vs_host_default(), (vec), 1)); \
    (vec)->data[(vec)->count++] = (item);                   \
  } while (0)

static inline void back_string(back *b, const vs_trace_string *string) {
  assert_true(string->id < BACK_MOST_STRINGS);
  free(b->strings[string->id]);
  b->strings[string->id] = calloc(1, string->text.size + 1);
  assert_non_null(b->strings[string->id]);
  memcpy(b->strings[string->id], string->text.data, string->text.size);
}

static inline void back_list(back *b, const vs_trace_list *list) {
  assert_true(list->id < BACK_MOST_STACKS && list->count <= BACK_MOST_FRAMES);
  b->stacks[list->id].count = list->count;
  memcpy(b->stacks[list->id].frames, list->items, list->count * sizeof *list->items);
}

static inline vs_status back_visit(void *ctx, const vs_trace_item *item) {
  back *b = ctx;
  switch ((int)item->tag) {
    case VS_TRACE_STRING: back_string(b, &item->is.string); break;
    case VS_TRACE_STACK: back_list(b, &item->is.list); break;
    case VS_TRACE_CONTEXT:
      assert_true(item->is.context.id < BACK_MOST_CONTEXTS);
      b->contexts[item->is.context.id] = item->is.context.context;
      break;
    case VS_TRACE_NATIVE:
      assert_true(item->is.native.id < BACK_NATIVES);
      b->natives[item->is.native.id] = item->is.native;
      b->is_native[item->is.native.id] = true;
      break;
    case VS_TRACE_FRAME:
      assert_true(item->is.frame.id < BACK_NATIVES);
      b->frames[item->is.frame.id] = item->is.frame;
      break;
    case VS_TRACE_EVENT: BACK_ADD(&b->events, item->is.event); break;
    case VS_TRACE_ANNOTATION: BACK_ADD(&b->annotations, item->is.annotation); break;
    case VS_TRACE_LIBRARY: BACK_ADD(&b->libraries, item->is.library); break;
    case VS_TRACE_MODULE: BACK_ADD(&b->modules, item->is.module); break;
    case VS_TRACE_SETTING: BACK_ADD(&b->settings, item->is.setting); break;
    case VS_TRACE_SEGMENT: BACK_ADD(&b->segments, item->is.segment); break;
    case VS_TRACE_BLOCK: BACK_ADD(&b->blocks, item->is.block); break;
    case VS_TRACE_THREAD: BACK_ADD(&b->threads, item->is.thread); break;
    case VS_TRACE_PROCESS: b->process = item->is.process; break;
    case VS_TRACE_DEVICE: b->device = item->is.device; break;
    case VS_TRACE_STATE_BEGIN:
      b->states++;
      b->events_before_state = b->events.count;
      break;
    case VS_TRACE_STATE_END: b->ended_states++; break;
    case VS_TRACE_LOST: b->lost = item->is.lost.events; break;
    case VS_TRACE_STOPPED:
      vs_format(b->stopped, sizeof b->stopped, "%s", b->strings[item->is.stopped.reason]);
      break;
    default: break;
  }
  return VS_OK;
}

/* The recording at `path`, which must be readable from its first to its last frame. */
static inline back *back_read(const char *path) {
  back *b = calloc(1, sizeof *b);
  assert_non_null(b);
  vs_infile file;
  vs_error error = {0};
  vs_input input;
  expect_ok(vs_infile_open(&file, path, &error));
  expect_ok(vs_input_init(&input, vs_host_default(), vs_infile_reader(&file)));
  const vs_trace_visitor visitor = {.ctx = b, .visit = back_visit};
  const vs_status status = vs_trace_read(vs_host_default(), &input, NULL, &visitor, &b->report, &error);
  if (status != VS_OK) fail_msg("%s: %s", vs_status_name(status), error.text);
  vs_input_deinit(&input);
  vs_infile_close(&file);
  return b;
}

static inline void back_free(back *b) {
  for (unsigned i = 0; i < BACK_MOST_STRINGS; i++) free(b->strings[i]);
  vs_vec_free(vs_host_default(), &b->events);
  vs_vec_free(vs_host_default(), &b->annotations);
  vs_vec_free(vs_host_default(), &b->libraries);
  vs_vec_free(vs_host_default(), &b->modules);
  vs_vec_free(vs_host_default(), &b->settings);
  vs_vec_free(vs_host_default(), &b->segments);
  vs_vec_free(vs_host_default(), &b->blocks);
  vs_vec_free(vs_host_default(), &b->threads);
  free(b);
}

#endif
