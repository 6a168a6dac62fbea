/* Replays recordings through the allocator: what analyze/replay.h answers, as lines for eyes and tests.
 *
 *   replay [--settings TEXT] [--fraction F] [--card BYTES] [--other] [--misses N] [--repeat N] FILE...
 *
 * --settings   instead of the recorded ones; with --other not compared with the recording, but run on a card of its own
 * --fraction   of the card that the allocator may reserve, where the program set it by a call, which no file says
 * --repeat     runs each N times and says how long one took
 *
 * One line for each file and device, "key=value" with spaces between, and below it the first differences.
 * Exit status 1 where something differs, 2 where a file cannot be read. */
#include "analyze/replay.h"
#include "snapshot/reader.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct wishes {
  const char *settings;
  double fraction; /* 0: not given */
  uint64_t card;
  bool other;
  uint64_t misses, repeat;
} wishes;

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  size_t capacity = 1 << 20;
  char *bytes = malloc(capacity);
  for (*size = 0; bytes != NULL;) {
    const size_t got = fread(bytes + *size, 1, capacity - *size, file);
    *size += got;
    if (got == 0) break;
    if (*size == capacity) bytes = realloc(bytes, capacity *= 2);
  }
  fclose(file);
  return bytes;
}

static void print_step(const char *what, bool is_there, const vs_replay_step *step) {
  if (!is_there) printf(" %s nothing", what);
  else
    printf(" %s %s at %" PRIx64 " of %" PRIu64 " stream %" PRIx64, what, vs_event_kind_action(step->kind),
           step->address, step->size, step->stream);
}

static void print_misses(const vs_replay *replay, uint64_t most) {
  if (replay->first_misplaced != VS_NO_EVENT)
    printf("  event %" PRIu32 " was placed at %" PRIx64 ", recorded %" PRIx64 "\n", replay->first_misplaced,
           replay->misplaced_at, replay->misplaced_expected);
  for (size_t i = 0; i < replay->misses.count && i < most; i++) {
    const vs_replay_miss *miss = &replay->misses.data[i];
    printf("  request %" PRId64 ":", miss->request == VS_NO_EVENT ? -1 : (int64_t)miss->request);
    print_step("recorded", miss->has_expected, &miss->expected);
    print_step("got", miss->has_got, &miss->got);
    printf(" [%s]\n", vs_replay_reason_word(miss->reason));
  }
}

static void print_replay(const char *path, const vs_replay_plan *plan, const vs_replay_options *options,
                         const vs_replay *replay) {
  const vs_slice *slice = plan->lifetimes->slice;
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_replay_settings_write(&options->settings, &text);
  printf("file=%s device=%" PRId32 " events=%" PRIu32 " requests=%zu settings='%.*s' rules=%s known=%d", path,
         slice->device, slice->event_count, plan->requests.count, (int)text.bytes.count, text.bytes.data,
         options->settings.rules->name, options->settings_known);
  vs_text_deinit(&text);
  printf(" start_segments=%zu empties=%" PRIu64 " pendings=%" PRIu64, plan->start.segments.count,
         plan->empties, plan->pendings);
  if (options->follows)
    printf(" matched=%" PRIu64 "/%" PRIu64 " extra=%" PRIu64 " placed=%" PRIu64 "/%" PRIu64, replay->matched,
           replay->steps, replay->extra, replay->placed, replay->allocs);
  printf(" misses=%" PRIu64 " strays=%" PRIu64 " cut=%d ran_out=%" PRId64 " avoided=%" PRIu64,
         replay->miss_count, replay->strays, replay->is_cut,
         replay->ran_out ? (int64_t)replay->ran_out_at : -1, replay->avoided);
  printf(" reserved_peak=%" PRIu64 " allocated_peak=%" PRIu64 " requested_peak=%" PRIu64
         " segments_peak=%" PRIu64 " reserved=%" PRIu64 " allocated=%" PRIu64 " retries=%" PRIu64
         " recorded_peak=%" PRIu64 "\n",
         replay->reserved_peak, replay->allocated_peak, replay->requested_peak, replay->segments_peak,
         replay->reserved, replay->allocated, replay->retries, plan->reserved_peak);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static vs_status replay_again(const wishes *w, const vs_replay_plan *plan, const vs_replay_options *options) {
  const double begin = seconds();
  for (uint64_t i = 0; i < w->repeat; i++) {
    vs_replay replay;
    VS_TRY(vs_replay_run(vs_host_default(), plan, options, &replay));
    vs_replay_deinit(vs_host_default(), &replay);
  }
  const double each = (seconds() - begin) / (double)w->repeat;
  printf("  %.6f s a run, %.1f ns an event\n", each,
         each * 1e9 / (double)plan->lifetimes->slice->event_count);
  return VS_OK;
}

static vs_status run_plan(const char *path, const wishes *w, const vs_replay_plan *plan, bool *is_equal) {
  const vs_host *host = vs_host_default();
  vs_replay_options options;
  vs_replay replay;
  vs_error error = {.offset = VS_NO_OFFSET};
  vs_replay_options_init(&options, plan->lifetimes->slice->snapshot);
  options.card = w->card;
  options.follows = !w->other;
  if (w->settings != NULL) {
    const vs_status status =
        vs_replay_settings_parse(vs_str_from(w->settings), NULL, &options.settings, &error);
    if (status != VS_OK) {
      fprintf(stderr, "replay: %s\n", error.text);
      return status;
    }
    options.settings_known = true;
  }
  if (w->fraction != 0) options.settings.memory_fraction = w->fraction;
  const char *broken = vs_replay_plan_check(plan);
  if (broken != NULL) {
    fprintf(stderr, "replay: %s: %s\n", path, broken);
    return VS_BAD_FORMAT;
  }
  if (w->settings == NULL && options.follows) VS_TRY(vs_replay_follow(host, plan, &options, &replay));
  else VS_TRY(vs_replay_run(host, plan, &options, &replay));
  print_replay(path, plan, &options, &replay);
  print_misses(&replay, w->misses);
  *is_equal &= replay.miss_count == 0 && replay.placed == replay.allocs;
  vs_replay_deinit(host, &replay);
  return w->repeat > 0 ? replay_again(w, plan, &options) : VS_OK;
}

static vs_status run_slice(const char *path, const wishes *w, const vs_slice *slice, bool *is_equal) {
  const vs_host *host = vs_host_default();
  vs_lifetimes lifetimes;
  vs_replay_plan plan;
  double begin = seconds();
  VS_TRY(vs_lifetimes_build(host, slice, &lifetimes));
  if (w->repeat > 0) printf("  lifetimes %.6f s\n", seconds() - begin);
  begin = seconds();
  vs_status status = vs_replay_plan_build(host, &lifetimes, &plan);
  if (status == VS_OK) {
    if (w->repeat > 0) printf("  plan %.6f s\n", seconds() - begin);
    status = run_plan(path, w, &plan, is_equal);
    vs_replay_plan_deinit(host, &plan);
  }
  vs_lifetimes_deinit(host, &lifetimes);
  return status;
}

static vs_status run_snapshot(const char *path, const wishes *w, const vs_snapshot *snapshot,
                              bool *is_equal) {
  vs_slices slices;
  VS_TRY(vs_slices_build(vs_host_default(), snapshot, &slices));
  vs_status status = VS_OK;
  for (size_t i = 0; i < slices.list.count && status == VS_OK; i++)
    if (slices.list.data[i].device != VS_DEVICE_HOST)
      status = run_slice(path, w, &slices.list.data[i], is_equal);
  vs_slices_deinit(vs_host_default(), &slices);
  return status;
}

static vs_status run_file(const char *path, const wishes *w, bool *is_equal) {
  size_t size;
  char *bytes = read_file(path, &size);
  if (bytes == NULL) {
    fprintf(stderr, "replay: cannot read %s\n", path);
    return VS_NOT_FOUND;
  }
  vs_memory_reader reader;
  vs_snapshot *snapshot = NULL;
  vs_error error = {.offset = VS_NO_OFFSET};
  vs_status status = vs_snapshot_read(vs_host_default(), vs_reader_from_bytes(&reader, bytes, size), NULL,
                                      &snapshot, &error);
  if (status == VS_OK) status = run_snapshot(path, w, snapshot, is_equal);
  if (status != VS_OK) fprintf(stderr, "replay: %s: %s %s\n", path, vs_status_text(status), error.text);
  vs_snapshot_destroy(snapshot);
  free(bytes);
  return status;
}

int main(int count, char **words) {
  wishes w = {.misses = 5};
  bool is_equal = true;
  int at = 1;
  for (; at < count && words[at][0] == '-'; at++) {
    const vs_str word = vs_str_from(words[at]);
    const bool has_value = at + 1 < count;
    if (vs_str_equal(word, VS_STR("--other"))) w.other = true;
    else if (has_value && vs_str_equal(word, VS_STR("--settings"))) w.settings = words[++at];
    else if (has_value && vs_str_equal(word, VS_STR("--fraction"))) w.fraction = strtod(words[++at], NULL);
    else if (has_value && vs_str_equal(word, VS_STR("--card"))) w.card = strtoull(words[++at], NULL, 10);
    else if (has_value && vs_str_equal(word, VS_STR("--misses"))) w.misses = strtoull(words[++at], NULL, 10);
    else if (has_value && vs_str_equal(word, VS_STR("--repeat"))) w.repeat = strtoull(words[++at], NULL, 10);
    else return 2;
  }
  for (; at < count; at++)
    if (run_file(words[at], &w, &is_equal) != VS_OK) return 2;
  return is_equal ? 0 : 1;
}
