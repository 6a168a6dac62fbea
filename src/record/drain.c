/* The writer thread: takes messages from all rings in the order of their numbers, and encodes them. */
#include "base/text.h"
#include "os/clock.h"
#include "record/recorder.h"

/* ---- losses and failures */

uint64_t vs_recorder_lost_ring(const vs_recorder *r) {
  uint64_t lost = atomic_load_explicit(&r->lost_suspended, memory_order_acquire);
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

/* The losses so far, before the next record. */
static vs_status put_loss(vs_recorder *r) {
  const uint64_t lost = vs_recorder_lost(r);
  if (lost == r->encoder.lost_written) return VS_OK;
  return vs_encoder_lost(&r->encoder, lost, atomic_exchange(&r->lost_since, 0));
}

/* After a failure. Whether this can be written depends on the failure; if it cannot, the file ends without it. */
void vs_recorder_put_last_loss(vs_recorder *r) {
  vs_status status = put_loss(r);
  if (status == VS_OK) status = vs_tracew_flush(r->encoder.file);
  (void)status; /* the first failure is the one that is told */
}

static void put_reason(vs_recorder *r, const char *reason) {
  r->sink.may_use_spare = true;
  vs_status status = vs_encoder_stopped(&r->encoder, reason, vs_clock_ns());
  if (status == VS_OK) status = put_loss(r);
  (void)status;
}

/* Stops writing after a failure of the file, and says so once. The program goes on. */
void vs_recorder_fail(vs_recorder *r, vs_status status) {
  VS_ASSERT(status != VS_OK);
  if (r->status != VS_OK) return;
  r->status = status;
  atomic_store_explicit(&r->mode, (uint8_t)VS_RECORDER_OFF, memory_order_relaxed);
  char sentence[VS_ERROR_TEXT_SIZE + 128];
  const char *reason = r->sink.error.status != VS_OK ? r->sink.error.text : vs_status_text(status);
  put_reason(r, reason);
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
  VS_ASSERT(message != NULL && message->slots != 0);
  if (__builtin_expect(message->type == VS_MESSAGE_THREAD, 0)) ring->thread = message->words[0];
  if (vs_message_events((vs_message_type)message->type) != 0)
    r->sink.newest_ns = vs_max_u64(r->sink.newest_ns, message->words[0]);
  if (status == VS_OK && message->type == VS_MESSAGE_STATE_BEGIN) status = put_loss(r);
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
  uint8_t on = VS_RECORDER_ON;
  if (r->options.checkpoint != NULL)
    atomic_compare_exchange_strong(&r->mode, &on, (uint8_t)VS_RECORDER_SUSPENDED);
  r->next = least;
  return true;
}

/* ---- draining */

/* Looks after a ring without a thread: it is free once it is empty. True: its slots take memory. */
static bool check_ring(vs_ring *ring, bool may_keep) {
  if (!vs_ring_change(ring, VS_RING_LEFT, VS_RING_CHECKED) &&
      !vs_ring_change(ring, VS_RING_FREE, VS_RING_CHECKED))
    return false;
  const bool is_empty = vs_ring_peek(ring) == NULL;
  if (is_empty && ring->is_resident && !may_keep) vs_ring_release(ring);
  const bool is_resident = ring->is_resident;
  atomic_store_explicit(&ring->state, is_empty ? VS_RING_FREE : VS_RING_LEFT, memory_order_release);
  return is_resident;
}

/* Frees the rings of ended threads once they are empty, for threads that start later. A few of them keep their memory. */
static void free_rings(vs_recorder *r) {
  uint32_t spare = 0;
  const uint32_t count = atomic_load_explicit(&r->ring_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++) spare += check_ring(r->rings[i], spare < VS_RECORDER_SPARE_RINGS);
}

/* A process that is killed after a failure leaves a count that is right up to a factor of two. */
static void note_losses(vs_recorder *r) {
  if (r->status == VS_OK) {
    const vs_status status = put_loss(r);
    if (status != VS_OK) vs_recorder_fail(r, status);
  } else if (vs_recorder_lost(r) / 2 >= r->encoder.lost_written) {
    const vs_status status = put_loss(r);
    (void)status; /* the file has failed already */
  }
}

/* Takes at most `most` messages. False: there are more. */
static bool take_some(vs_recorder *r, uint64_t patience, size_t most) {
  do {
    for (vs_ring *ring = find_next(r); ring != NULL; ring = find_next(r)) {
      do {
        if (most-- == 0) return false;
        take(r, ring);
        r->next++;
        r->stuck_since = 0;
      } while (vs_ring_peek(ring) != NULL && vs_ring_peek(ring)->sequence == r->next);
    }
  } while (give_up(r, patience));
  return true;
}

static bool drain(vs_recorder *r, uint64_t patience, size_t most) {
  const bool is_empty = take_some(r, patience, most);
  note_losses(r);
  free_rings(r);
  atomic_store_explicit(&r->events, r->taken, memory_order_relaxed);
  atomic_store_explicit(&r->bytes, vs_tracew_bytes(r->encoder.file), memory_order_relaxed);
  return is_empty;
}

/* All threads have stopped recording: a message that is missing now will never come. */
void vs_recorder_drain(vs_recorder *r) { (void)drain(r, 0, SIZE_MAX); }

/* Whether a quarter of what the file keeps was written since the last checkpoint. */
static bool is_checkpoint_due(const vs_recorder *r) {
  const vs_encoder *e = &r->encoder;
  if (r->sink.most_ns != 0) return r->sink.newest_ns - e->checkpoint_ns > r->sink.most_ns / 4;
  return r->sink.most != 0 && r->sink.frame - e->frames_at_checkpoint >= r->sink.most / 4;
}

/* A reader of a ring file begins at a checkpoint, so its length contains several; each is followed by a state, if the recorder can write
 * one. */
static void keep_readable(vs_recorder *r) {
  vs_encoder *e = &r->encoder;
  if (r->status != VS_OK || !is_checkpoint_due(r)) return;
  const vs_status status = vs_encoder_repeat(e, &r->options);
  e->frames_at_checkpoint = r->sink.frame;
  e->checkpoint_ns = r->sink.newest_ns;
  r->wants_state = status == VS_OK && r->options.checkpoint != NULL;
  if (status != VS_OK) vs_recorder_fail(r, status);
}

/* ---- the state of all memory: after a loss, with which the recording goes on, and in ring files */

static _Thread_local const vs_recorder *writing __attribute__((tls_model("initial-exec")));

bool vs_recorder_writes(const vs_recorder *r) { return writing == r; }

/* A state begins after all events before it, and ends the loss. */
void vs_recorder_take_own(vs_recorder *r) {
  const vs_slot *message = vs_ring_peek(r->own);
  VS_ASSERT(vs_recorder_writes(r) && message != NULL);
  const vs_message_type type = (vs_message_type)message->type;
  if (type == VS_MESSAGE_STATE_BEGIN) {
    (void)drain(r, PATIENCE_NS, SIZE_MAX);
    r->state_began = vs_clock_ns();
  }
  take(r, r->own);
  if (type != VS_MESSAGE_STATE_END || r->status != VS_OK) return;
  const uint64_t now = vs_clock_ns();
  r->rests_until = now + (now - r->state_began) * VS_RECORDER_REST;
  uint8_t suspended = VS_RECORDER_SUSPENDED;
  r->wants_state = false;
  if (atomic_compare_exchange_strong(&r->mode, &suspended, (uint8_t)VS_RECORDER_ON))
    atomic_fetch_add_explicit(&r->checkpoints, 1, memory_order_relaxed);
}

/* Returns how long the writer thread may sleep. A program that records more than can be written must not spend its time with
 * checkpoints, which stop it: hence the rest between two. */
static uint64_t recover(vs_recorder *r, uint64_t pause) {
  enum { SOON = 1000000 };
  if (r->mode != VS_RECORDER_SUSPENDED && (!r->wants_state || r->status != VS_OK)) return pause;
  const uint64_t now = vs_clock_ns();
  if (now < r->rests_until) return vs_min_u64(pause, r->rests_until - now);
  return r->options.checkpoint(r->options.checkpoint_ctx, r) ? pause : vs_min_u64(pause, SOON);
}

/* A program that records faster than can be written never lets the rings become empty, so what else there is to do comes after so many
 * messages. */
void vs_recorder_write(void *recorder) {
  enum { BATCH = 4096 };
  vs_recorder *r = recorder;
  const uint64_t pause = (uint64_t)r->options.flush_ms * 1000000;
  writing = r;
  while (!atomic_load_explicit(&r->is_stopping, memory_order_acquire)) {
    const bool is_empty = drain(r, PATIENCE_NS, BATCH);
    keep_readable(r);
    const uint64_t rest = recover(r, pause);
    if (is_empty) vs_wakeup_wait(&r->wakeup, rest);
  }
}
