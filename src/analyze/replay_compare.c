#include "analyze/replay_course.h"

static const struct {
  const char *word, *sentence;
} REASONS[VS_REPLAY_REASONS] = {
#define VS_REPLAY_REASON(name, word, sentence) {word, sentence},
#include "analyze/replay_reasons.def"
#undef VS_REPLAY_REASON
};

const char *vs_replay_reason_word(vs_replay_reason reason) { return REASONS[reason].word; }
const char *vs_replay_reason_sentence(vs_replay_reason reason) { return REASONS[reason].sentence; }

enum { MOST_AHEAD = 256 }; /* at most this many steps are skipped to find an equal one */

static bool is_contradicted(const vs_lifetimes *lifetimes) {
  const vs_lifetime_doubts *doubts = &lifetimes->doubts;
  return doubts->double_alloc.count + doubts->double_free.count > 0;
}

static bool contradicts_setting(const vs_replay_course *r, const vs_replay_miss *miss) {
  if (!miss->has_expected) return false;
  const vs_event_kind kind = miss->expected.kind;
  return r->options->settings.expandable_segments ? kind == VS_EVENT_SEGMENT_ALLOC
                                                  : kind == VS_EVENT_SEGMENT_MAP;
}

static vs_replay_reason reason_of(const vs_replay_course *r, const vs_replay_miss *miss) {
  const vs_lifetimes *lifetimes = r->plan->lifetimes;
  if (miss->request == VS_NO_EVENT) return VS_REPLAY_NO_REQUEST;
  if (r->out->miss_count > 0 || r->out->first_misplaced < miss->request) return VS_REPLAY_AFTER_MISS;
  if (is_contradicted(lifetimes)) return VS_REPLAY_CONTRADICTION;
  if (lifetimes->closing.only_completion) return VS_REPLAY_SKIPPED;
  if (!r->options->settings_known) return VS_REPLAY_NO_SETTINGS;
  if (contradicts_setting(r, miss)) return VS_REPLAY_SETTINGS_CHANGED;
  if (r->limit_unknown) return VS_REPLAY_LIMIT_UNKNOWN;
  if (r->plan->has_private_pools && !r->plan->knows_pools) return VS_REPLAY_POOLS_UNKNOWN;
  if (r->plan->start.segments.count > 0) return VS_REPLAY_INITIAL_CACHE;
  if (r->plan->pendings > 0) return VS_REPLAY_PENDING;
  return VS_REPLAY_RULES;
}

static void miss_add(vs_replay_course *r, const vs_replay_step *expected, const vs_replay_step *got) {
  vs_replay *out = r->out;
  vs_replay_miss miss = {.request = r->now == NULL ? VS_NO_EVENT : r->now->event,
                         .has_expected = expected != NULL,
                         .has_got = got != NULL};
  if (expected != NULL) miss.expected = *expected;
  if (got != NULL) miss.got = *got;
  miss.reason = reason_of(r, &miss);
  out->by_reason[miss.reason]++;
  out->miss_count++;
  if (expected == NULL) out->extra++;
  if (out->misses.count == VS_REPLAY_MOST_MISSES) return;
  const vs_status status = vs_vec_reserve(r->host, &out->misses, 1);
  if (status != VS_OK) r->status = status;
  else out->misses.data[out->misses.count++] = miss;
}

static bool is_same(const vs_replay_step *left, const vs_replay_step *right) {
  return left->kind == right->kind && left->address == right->address && left->size == right->size &&
         left->stream == right->stream;
}

/* One step of the replay against those that the recording has for this request. */
static void compare(vs_replay_course *r, const vs_replay_step *got) {
  vs_replay_device *device = &r->device;
  uint32_t at = device->next;
  while (at < device->end && at - device->next < MOST_AHEAD && !is_same(&device->steps[at], got)) at++;
  if (at < device->end && at - device->next < MOST_AHEAD) {
    while (device->next < at) miss_add(r, &device->steps[device->next++], NULL);
    device->next++;
    r->out->matched++;
    return;
  }
  /* Whether both allocate memory or both release it: then it is the same step with another result. */
  const bool is_other = device->next < device->end &&
                        vs_replay_gives(device->steps[device->next].kind) == vs_replay_gives(got->kind);
  miss_add(r, is_other ? &device->steps[device->next] : NULL, got);
  if (is_other) device->next++;
}

void vs_replay_observe(void *ctx, const vs_event *event) {
  vs_replay_course *r = ctx;
  if (event->kind < VS_EVENT_SEGMENT_ALLOC || event->kind > VS_EVENT_SEGMENT_UNMAP) return;
  if (!r->options->follows) return;
  const vs_replay_step got = {
      .address = event->address,
      .size = event->size,
      .stream = event->stream,
      .event = VS_NO_EVENT,
      .kind = event->kind,
  };
  compare(r, &got);
}

/* Sets the event up to which pending frees are done when the allocator looks for a block. After a refusal they are not yet
 * done, because the allocator waited for them (was_refused), unless it collected old blocks instead, which does not wait. */
void vs_replay_steps_begin(vs_replay_course *r, const vs_replay_request *request) {
  const uint32_t before = r->now == NULL ? 0 : r->now->event + 1;
  r->now = request;
  r->device.now = r->options->follows && request->was_refused && !r->collects ? before : request->event;
  r->device.end = request->steps;
  r->device.must_fail = request->kind == VS_REPLAY_FAIL;
  r->device.refused_at = UINT32_MAX;
}

/* Counts the recorded steps that the replay did not make. */
void vs_replay_steps_end(vs_replay_course *r) {
  vs_replay_device *device = &r->device;
  if (r->options->follows)
    while (device->next < device->end) miss_add(r, &device->steps[device->next++], NULL);
  device->next = device->end;
}
