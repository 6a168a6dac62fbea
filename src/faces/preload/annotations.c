#include "faces/preload/annotations.h"
#include "base/check.h"
#include "base/text.h"
#include "faces/preload/pytorch.h"
#include "faces/preload/recording.h"
#include "os/clock.h"
#include "os/thread.h"
#include <string.h>

typedef struct open_range {
  vs_range_key key;
  uint64_t thread; /* of this process, by thread_number */
  uint64_t time_ns;
  uint32_t text; /* its name in the recording once its beginning is written, 0: there is no room for it */
  int32_t device;
  uint32_t size;
  char name[VS_ANNOTATIONS_NAME];
} open_range;

static struct {
  vs_lock lock;
  uint32_t era;
  size_t count, written;
  open_range ranges[VS_ANNOTATIONS_MOST_OPEN];
} all;

/* ---- entering */

void vs_annotations_enter(void) {
  vs_lock_take(&all.lock);
  const uint32_t era = vs_recording_era();
  if (__builtin_expect(all.era != era, 0)) all.count = all.written = 0;
  all.era = era;
}

void vs_annotations_leave(void) {
  VS_ASSERT(all.written <= all.count && all.count <= VS_ANNOTATIONS_MOST_OPEN);
  vs_lock_give(&all.lock);
}

/* A number that no other thread has, nor one that has ended: unlike the kernel's, it is the same in a child of a fork. */
static uint64_t thread_number(void) {
  static _Atomic uint64_t last;
  static _Thread_local uint64_t number __attribute__((tls_model("initial-exec")));
  if (number == 0) number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
  return number;
}

/* ---- names */

/* Cuts a text that is too long, at the end of a character if it is UTF-8. */
static uint32_t append(open_range *range, vs_str text) {
  const uint32_t room = (uint32_t)sizeof range->name - range->size;
  size_t size = text.size;
  if (size > room) {
    size = room;
    while (size > 0 && size + 4 > room && ((unsigned char)text.data[size] & 0xC0) == 0x80) size--;
  }
  memcpy(range->name + range->size, text.data, size);
  return range->size + (uint32_t)size;
}

static void set_name(open_range *range, vs_str domain, vs_str name) {
  range->size = 0;
  if (domain.size != 0) {
    range->size = append(range, domain);
    range->size = append(range, VS_STR(": "));
  }
  range->size = append(range, name);
}

/* ---- writing */

static void put(vs_recorder *recorder, const open_range *range, bool is_start, uint64_t time_ns) {
  if (!vs_record_annotation(recorder, range->text, is_start, range->device, time_ns) &&
      vs_record_is_on(recorder))
    vs_pytorch_doubt_add(VS_DOUBT_ANNOTATIONS);
}

static void put_beginning(vs_recorder *recorder, open_range *range) {
  range->device = vs_pytorch_current_device();
  if (vs_record_text_intern(vs_recording_stacks(), (vs_str){range->name, range->size}, &range->text) !=
      VS_OK) {
    range->text = 0;
    vs_pytorch_doubt_add(VS_DOUBT_ANNOTATIONS);
    return;
  }
  put(recorder, range, true, range->time_ns);
}

static void catch_up(vs_recorder *recorder) {
  for (; all.written < all.count; all.written++) put_beginning(recorder, &all.ranges[all.written]);
}

static void remove_range(size_t at) {
  memmove(&all.ranges[at], &all.ranges[at + 1], (all.count - at - 1) * sizeof all.ranges[0]);
  all.count--;
  if (at < all.written) all.written--;
}

/* ---- ranges */

void vs_annotations_begin(const vs_range_key *key, vs_str domain, vs_str name) {
  if (!vs_recording_is_wanted()) return;
  const uint64_t thread = thread_number();
  vs_annotations_enter();
  if (all.count == VS_ANNOTATIONS_MOST_OPEN) remove_range(0);
  open_range *range = &all.ranges[all.count++];
  range->key = *key;
  range->thread = thread;
  range->time_ns = vs_clock_quick_ns();
  set_name(range, domain, name);
  vs_recorder *const recorder = vs_recording_current();
  if (recorder != NULL) catch_up(recorder);
  vs_annotations_leave();
}

/* Usually the last one. */
static bool find(const vs_range_key *key, uint64_t thread, size_t *at) {
  for (*at = all.count; *at != 0;) {
    const open_range *range = &all.ranges[--*at];
    if (range->key.kind == key->kind && range->key.id == key->id &&
        (key->kind != VS_RANGE_PUSHED || range->thread == thread))
      return true;
  }
  return false;
}

void vs_annotations_end(const vs_range_key *key) {
  size_t at;
  if (!vs_recording_is_wanted()) return;
  const uint64_t thread = thread_number();
  vs_annotations_enter();
  vs_recorder *const recorder = vs_recording_current();
  if (find(key, thread, &at)) {
    if (recorder != NULL) catch_up(recorder);
    const open_range *range = &all.ranges[at];
    if (recorder != NULL && range->text != 0) put(recorder, range, false, vs_clock_quick_ns());
    remove_range(at);
  }
  vs_annotations_leave();
}

/* ---- recordings */

void vs_annotations_repeat(vs_recorder *recorder) {
  all.written = 0;
  catch_up(recorder);
}

void vs_annotations_open(vs_recorder *recorder) {
  vs_annotations_enter();
  vs_annotations_repeat(recorder);
  vs_annotations_leave();
}
