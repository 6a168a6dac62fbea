/* The writer thread: takes messages from all rings in the order of their numbers, and encodes them. */
#include "base/text.h"
#include "os/clock.h"
#include "record/recorder.h"

/* ---- losses and failures */

uint64_t vs_recorder_lost_ring(const vs_recorder *r) {
  uint64_t lost = 0;
  const uint32_t count = atomic_load_explicit(&r->ring_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) lost += atomic_load_explicit(&r->rings[i]->lost, memory_order_relaxed);
  return lost;
}

uint64_t vs_recorder_lost(const vs_recorder *r) {
  return vs_recorder_lost_ring(r) + atomic_load_explicit(&r->lost_file, memory_order_relaxed) +
         atomic_load_explicit(&r->lost_other, memory_order_relaxed);
}

static void say(const vs_recorder *r, const char *sentence) {
  if (r->options.say != NULL) r->options.say(r->options.say_ctx, sentence);
}

/* Stops writing after a failure of the file, and says so once. The program goes on. */
void vs_recorder_fail(vs_recorder *r, vs_status status) {
  VS_ASSERT(status != VS_OK);
  if (r->status != VS_OK) return;
  r->status = status;
  atomic_store_explicit(&r->is_on, false, memory_order_relaxed);
  char sentence[VS_ERROR_TEXT_SIZE + 128];
  const char *reason = r->sink.error.status != VS_OK ? r->sink.error.text : vs_status_text(status);
  vs_format(sentence, sizeof sentence,
            "recording has stopped: %s; the file keeps what it has, the program goes on", reason);
  say(r, sentence);
}

/* ---- order */

/* The ring whose first message is number `next`. Messages of a ring often follow each other, so the search begins
 * with the last ring. */
static vs_ring *find_next(vs_recorder *r) {
  const uint32_t count = atomic_load_explicit(&r->ring_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t at = (r->last_ring + i) % count;
    const vs_slot *message = vs_ring_peek(r->rings[at]);
    if (message == NULL || message->sequence != r->next) continue;
    r->last_ring = at;
    return r->rings[at];
  }
  return NULL;
}

static void take(vs_recorder *r, vs_ring *ring) {
  const vs_slot *message = vs_ring_peek(ring);
  vs_status status = r->status;
  VS_ASSERT(message != NULL && message->sequence == r->next && message->slots != 0);
  if (status == VS_OK && !ring->is_named) status = vs_encoder_thread(&r->encoder, ring);
  ring->is_named = true;
  if (status == VS_OK) status = vs_encoder_put(&r->encoder, ring, message);
  if (status == VS_OK) r->taken += vs_message_events((vs_message_type)message->type);
  if (status != VS_OK) {
    vs_recorder_fail(r, status);
    atomic_fetch_add_explicit(&r->lost_file, vs_message_events((vs_message_type)message->type),
                              memory_order_relaxed);
  }
  vs_ring_pop(ring, message->slots);
}

/* ---- a number that does not come
 *
 * Between taking a number and publishing the message a thread may be interrupted, for long if the machine is busy, or for
 * ever if the thread is ended there. The writer thread waits for such a message no longer than this. */

#define PATIENCE_NS UINT64_C(2000000000)

/* The smallest number of a published message, UINT64_MAX if there is none. Drops messages before `next`, which are
 * counted as lost already. */
static uint64_t smallest(vs_recorder *r) {
  uint64_t least = UINT64_MAX;
  const uint32_t count = atomic_load_explicit(&r->ring_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) {
    const vs_slot *message;
    while ((message = vs_ring_peek(r->rings[i])) != NULL && message->sequence < r->next)
      vs_ring_pop(r->rings[i], message->slots);
    if (message != NULL) least = vs_min_u64(least, message->sequence);
  }
  return least;
}

static bool give_up(vs_recorder *r, uint64_t patience) {
  const uint64_t least = smallest(r);
  VS_ASSERT(least >= r->next);
  if (least == r->next) return true; /* published just now */
  if (least == UINT64_MAX) {         /* no later message waits for it */
    r->stuck_since = 0;
    return false;
  }
  const uint64_t now = vs_clock_ns();
  if (r->stuck_since == 0) r->stuck_since = now;
  if (now - r->stuck_since < patience) return false;
  atomic_fetch_add_explicit(&r->lost_other, least - r->next, memory_order_relaxed);
  r->next = least;
  return true;
}

/* ---- draining */

/* Frees the rings of ended threads once they are empty, for threads that start later. */
static void free_rings(vs_recorder *r) {
  const uint32_t count = atomic_load_explicit(&r->ring_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) {
    vs_ring *ring = r->rings[i];
    if (atomic_load_explicit(&ring->state, memory_order_acquire) != VS_RING_LEFT ||
        vs_ring_peek(ring) != NULL)
      continue;
    ring->is_named = false;
    atomic_store_explicit(&ring->state, VS_RING_FREE, memory_order_release);
  }
}

static void drain(vs_recorder *r, uint64_t patience) {
  do {
    for (vs_ring *ring = find_next(r); ring != NULL; ring = find_next(r)) {
      do {
        take(r, ring);
        r->next++;
        r->stuck_since = 0;
      } while (vs_ring_peek(ring) != NULL && vs_ring_peek(ring)->sequence == r->next);
    }
  } while (give_up(r, patience));
  if (r->status == VS_OK) {
    const vs_status status = vs_encoder_lost(&r->encoder, vs_recorder_lost(r));
    if (status != VS_OK) vs_recorder_fail(r, status);
  }
  free_rings(r);
  atomic_store_explicit(&r->events, r->taken, memory_order_relaxed);
  atomic_store_explicit(&r->bytes, vs_tracew_bytes(r->encoder.file), memory_order_relaxed);
}

/* All threads have stopped recording: a message that is missing now will never come. */
void vs_recorder_drain(vs_recorder *r) { drain(r, 0); }

/* A reader of a ring file begins at a checkpoint, so its length contains several. */
static void keep_readable(vs_recorder *r) {
  vs_encoder *e = &r->encoder;
  if (r->sink.most == 0 || r->status != VS_OK || r->sink.frame - e->frames_at_checkpoint < r->sink.most / 4)
    return;
  const vs_status status = vs_tracew_checkpoint(e->file);
  e->frames_at_checkpoint = r->sink.frame;
  if (status != VS_OK) vs_recorder_fail(r, status);
}

void vs_recorder_write(void *recorder) {
  vs_recorder *r = recorder;
  const uint64_t pause = (uint64_t)r->options.flush_ms * 1000000;
  while (!atomic_load_explicit(&r->is_stopping, memory_order_acquire)) {
    drain(r, PATIENCE_NS);
    keep_readable(r);
    vs_wakeup_wait(&r->wakeup, pause);
  }
}
