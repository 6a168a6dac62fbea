/* Our allocator as programs use it: behind its lock, on a simulated H100, with its history or a recording. */
#include "sides.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <vramscope/live.h>

static void must(vs_status status, const char *what) {
  if (status != VS_OK) bench_fail(what, vs_status_name(status));
}

static vs_live *live;
static uint64_t streams[BENCH_ALL_STREAMS];
static bool is_recording;

static void live_history(const bench_options *options) {
  vs_error error;
  vs_history_options history = {.max_entries = 100000};
  if (strcmp(options->history, "off") == 0) return;
  if (strcmp(options->history, "vram") == 0) {
    is_recording = true;
    if (vs_live_recording_start(live, options->file, true, VS_HISTORY_STACKS_NATIVE, &error) != VS_OK)
      bench_fail(options->file, error.text);
    return;
  }
  if (strcmp(options->history, "state") == 0) {
    history.enabled = VS_HISTORY_STATE;
    history.context = VS_HISTORY_CONTEXT_STATE;
  } else {
    history.enabled = VS_HISTORY_EVENTS;
    history.context = VS_HISTORY_CONTEXT_ALL;
  }
  if (strcmp(options->history, "native") == 0) history.stacks = VS_HISTORY_STACKS_NATIVE;
  if (vs_live_history(live, &history, &error) != VS_OK) bench_fail(options->history, error.text);
}

/* Asked once for each event. One thread. */
static int64_t time_of_work(void *ctx) {
  static int64_t now = 1700000000000000;
  static uint64_t random = 88172645463325252u;
  (void)ctx;
  random ^= random << 13;
  random ^= random >> 7;
  random ^= random << 17;
  return now += 1 + (int64_t)(random % 16);
}

static void live_begin(const bench_options *options) {
  vs_error error;
  const vs_live_options wanted = {.gpus = "H100",
                                  .settings = options->settings,
                                  .time = strcmp(options->clock, "work") == 0 ? time_of_work : NULL};
  if (vs_live_open(&wanted, &live, &error) != VS_OK) bench_fail("vs_live_open", error.text);
  for (int i = 1; i < BENCH_ALL_STREAMS; i++)
    must(vs_live_stream_create(live, 0, &streams[i]), "vs_live_stream_create");
  live_history(options);
}

static uint64_t live_alloc(uint64_t bytes, uint32_t stream) {
  uint64_t address;
  must(vs_live_malloc(live, 0, bytes, streams[stream], &address), "vs_live_malloc");
  return address;
}

static void live_free(uint64_t address) { must(vs_live_free(live, 0, address), "vs_live_free"); }

static void live_settle(void) {
  vs_recording_info info;
  if (!is_recording) return;
  uint64_t before = UINT64_MAX;
  for (vs_live_recording_info(live, &info); info.events != before; vs_live_recording_info(live, &info)) {
    before = info.events;
    nanosleep(&(struct timespec){.tv_nsec = 15000000}, NULL); /* the writer looks every 10 ms */
  }
}

static void live_end(uint64_t events) {
  vs_live_memory memory;
  must(vs_live_memory_of(live, 0, &memory), "vs_live_memory_of");
  printf("reserved %llu\n", (unsigned long long)memory.reserved_peak);
  vs_recording_info info;
  vs_live_recording_info(live, &info);
  vs_error error;
  if (vs_live_close(live, &error) != VS_OK) bench_fail("vs_live_close", error.text);
  if (is_recording)
    printf("recorded_events %llu\nlost %llu\ncalls %llu\n", (unsigned long long)info.events,
           (unsigned long long)info.lost, (unsigned long long)events);
}

const bench_side bench_live = {"live", live_begin, live_alloc, live_free, live_settle, live_end};
