#include "record/record.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/pages.h"
#include "record/recorder.h"

/* ---- the list of recorders
 *
 * A thread that ends releases its ring. The ring's recorder may be closed by then, so the thread looks for it in this
 * list. */

static vs_lock live_lock;
static vs_recorder *live_recorders;

static void list_recorder(vs_recorder *r) {
  vs_lock_take(&live_lock);
  r->next_live = live_recorders;
  live_recorders = r;
  vs_lock_give(&live_lock);
}

static void unlist_recorder(vs_recorder *r) {
  vs_lock_take(&live_lock);
  for (vs_recorder **at = &live_recorders; *at != NULL; at = &(*at)->next_live)
    if (*at == r) {
      *at = r->next_live;
      break;
    }
  vs_lock_give(&live_lock);
}

static bool has_ring(const vs_recorder *r, const vs_ring *ring) {
  const uint32_t count = atomic_load_explicit(&r->ring_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++)
    if (r->rings[i] == ring) return true;
  return false;
}

/* ---- a thread's ring */

/* The ring that the thread used last, and the serial of its recorder. The initial-exec model makes the first use
 * allocate no memory. */
typedef struct own_ring {
  uint64_t serial;
  vs_ring *ring;
} own_ring;
static _Thread_local own_ring own __attribute__((tls_model("initial-exec")));
static _Thread_local bool is_attaching __attribute__((tls_model("initial-exec")));

static void end_thread(void *value) {
  vs_ring *ring = value;
  vs_lock_take(&live_lock);
  for (const vs_recorder *r = live_recorders; r != NULL; r = r->next_live)
    if (has_ring(r, ring)) atomic_store_explicit(&ring->state, VS_RING_LEFT, memory_order_release);
  vs_lock_give(&live_lock);
  if (own.ring == ring) own = (own_ring){0}; /* if the thread still records, it attaches again */
}

/* The ring that this thread already has in the recorder, because it uses several recorders. */
static vs_ring *find_own(const vs_recorder *r, uint64_t thread) {
  const uint32_t count = atomic_load_explicit(&r->ring_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++)
    if (r->rings[i]->owner == thread && r->rings[i]->state == VS_RING_OWNED) return r->rings[i];
  return NULL;
}

/* Takes a ring without a thread, of which at least half has room. */
static bool take_ring(vs_ring *ring, vs_ring_state state) {
  if (!vs_ring_change(ring, state, VS_RING_OWNED)) return false;
  if (vs_ring_room(ring, ring->capacity / 2) >= ring->capacity / 2) return true;
  atomic_store_explicit(&ring->state, state, memory_order_release);
  return false;
}

static vs_ring *find_ring(vs_recorder *r) {
  const uint32_t count = atomic_load_explicit(&r->ring_count, memory_order_acquire);
  for (uint32_t i = 0; i < count; i++)
    if (take_ring(r->rings[i], VS_RING_FREE) || take_ring(r->rings[i], VS_RING_LEFT)) return r->rings[i];
  return NULL;
}

static vs_ring *add_ring(vs_recorder *r) {
  vs_ring *ring;
  const uint32_t count = r->ring_count;
  if (count == VS_RECORD_MOST_THREADS || vs_ring_create(r->options.ring_slots, &ring) != VS_OK) return NULL;
  ring->state = VS_RING_OWNED;
  VS_ASSERT(r->rings[count] == NULL);
  r->rings[count] = ring;
  atomic_store_explicit(&r->ring_count, count + 1, memory_order_release);
  return ring;
}

/* Says in the ring which thread's messages follow: the number that the thread has in the file, and its name. */
static void introduce(vs_recorder *r, vs_ring *ring, uint64_t thread) {
  const uint32_t number = atomic_fetch_add(&r->threads, 1) + 1;
  vs_slot *slot = vs_ring_slot(ring, 0);
  VS_ASSERT(!ring->is_busy && vs_ring_room(ring, 1) >= 1);
  ring->owner = thread;
  ring->is_resident = true;
  *slot = (vs_slot){.sequence = atomic_fetch_add_explicit(&r->sequence, 1, memory_order_relaxed),
                    .type = VS_MESSAGE_THREAD,
                    .slots = 1,
                    .words = {r->options.is_simulated ? number : thread}};
  char name[VS_THREAD_NAME] = "";
  if (!r->options.is_simulated) vs_thread_name(name);
  memcpy(&slot->words[1], name, sizeof name);
  vs_ring_push(ring, 1);
}

static vs_ring *__attribute__((noinline)) attach(vs_recorder *r) {
  if (is_attaching) return NULL; /* called by malloc during an attach, or by a signal handler */
  is_attaching = true;
  const uint64_t thread = vs_thread_id();
  vs_lock_take(&r->lock);
  vs_ring *ring = find_own(r, thread);
  if (ring == NULL) {
    ring = find_ring(r);
    if (ring == NULL) ring = add_ring(r);
    if (ring != NULL) introduce(r, ring, thread);
  }
  vs_lock_give(&r->lock);
  if (ring != NULL) {
    VS_ASSERT(ring->owner == thread && !ring->is_busy);
    vs_thread_exit_hook_set(&r->exit_hook, ring);
    own = (own_ring){.serial = r->serial, .ring = ring};
  }
  is_attaching = false;
  return ring;
}

static inline vs_ring *ring_of(vs_recorder *r) {
  return __builtin_expect(own.serial == r->serial, 1) ? own.ring : attach(r);
}

/* ---- messages */

static bool is_here(const vs_recorder *r) { return r->forks == vs_fork_generation(); }

static vs_recorder_mode mode_of(const vs_recorder *r) {
  return (vs_recorder_mode)atomic_load_explicit(&r->mode, memory_order_relaxed);
}

bool vs_record_is_on(const vs_recorder *r) { return mode_of(r) != VS_RECORDER_OFF && is_here(r); }

static void set_if_unknown(_Atomic uint64_t *time, uint64_t time_ns) {
  uint64_t unknown = 0;
  if (atomic_load_explicit(time, memory_order_relaxed) == 0)
    atomic_compare_exchange_strong(time, &unknown, time_ns);
}

/* Counts a lost message. The first loss suspends the recording where a state can follow. The caller holds the lock of the
 * event's device, so no later event of that device is taken before the state. */
static void lose(vs_recorder *r, _Atomic uint64_t *counter, vs_message_type type, uint64_t time_ns) {
  const uint32_t events = vs_message_events(type);
  if (events == 0) return;
  set_if_unknown(&r->lost_since, time_ns);
  set_if_unknown(&r->first_lost, time_ns);
  atomic_fetch_add_explicit(counter, events, memory_order_release);
  uint8_t on = VS_RECORDER_ON;
  if (r->options.checkpoint != NULL &&
      atomic_compare_exchange_strong(&r->mode, &on, (uint8_t)VS_RECORDER_SUSPENDED))
    vs_wakeup_send(&r->wakeup);
}

/* Whether a message is taken although the recorder is not simply on: facts are while it is suspended, events are counted. */
static bool __attribute__((noinline)) is_taken(vs_recorder *r, vs_message_type type, uint64_t time_ns) {
  if (!is_here(r)) return false;
  if (mode_of(r) == VS_RECORDER_OFF) lose(r, &r->lost_file, type, time_ns);
  else if (vs_message_events(type) == 0) return true;
  else lose(r, &r->lost_suspended, type, time_ns);
  return false;
}

/* Whether a message waits for room: `wait_ms` at most, events not while the recorder is suspended, or until there is some. */
typedef enum patience { NEVER, BOUNDED_EVENT, BOUNDED, ALWAYS } patience;

/* Events do not wait while the recorder is suspended: the state that follows makes up for them. */
static bool may_wait(const vs_recorder *r, patience wait, uint64_t waited_ns) {
  const vs_recorder_mode mode = mode_of(r);
  if (mode == VS_RECORDER_OFF || wait == NEVER) return false;
  if (wait == ALWAYS) return true;
  if (wait == BOUNDED_EVENT && mode != VS_RECORDER_ON) return false;
  const uint64_t most = (uint64_t)r->options.wait_ms * 1000000;
  return most == 0 || waited_ns < most;
}

/* Waits until `slots` are free; false: they are not. */
static bool __attribute__((noinline))
wait_for_room(vs_recorder *r, vs_ring *ring, uint32_t slots, patience wait) {
  const uint64_t began = vs_clock_ns();
  uint64_t waited = 0;
  bool has_room = false;
  vs_wakeup_send(&r->wakeup);
  if (wait == NEVER) return false;
  while (!has_room && may_wait(r, wait, waited)) {
    vs_wakeup_send(&r->wakeup);
    vs_clock_sleep_ns(50000);
    has_room = vs_ring_room(ring, slots) >= slots;
    waited = vs_clock_ns() - began;
  }
  atomic_fetch_add_explicit(&r->waits, 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&r->waited_ns, waited, memory_order_relaxed);
  return has_room;
}

/* The first slot of a message of `slots`, which the caller fills and end_message publishes; NULL: the message is
 * lost, and counted. `time_ns` is that of an event. */
static inline __attribute__((always_inline)) vs_slot *begin_message(vs_recorder *r, vs_message_type type,
                                                                    vs_ring **out, uint32_t slots,
                                                                    patience wait, uint64_t time_ns) {
  if (__builtin_expect(mode_of(r) != VS_RECORDER_ON || !is_here(r), 0) && !is_taken(r, type, time_ns))
    return NULL;
  vs_ring *ring = ring_of(r);
  if (__builtin_expect(ring == NULL || ring->is_busy, 0)) {
    lose(r, &r->lost_other, type, time_ns);
    return NULL;
  }
  ring->is_busy = true;
  atomic_signal_fence(memory_order_seq_cst);
  if (__builtin_expect(vs_ring_room(ring, slots) < slots, 0) && !wait_for_room(r, ring, slots, wait)) {
    lose(r, mode_of(r) == VS_RECORDER_OFF ? &r->lost_file : &ring->lost, type, time_ns);
    ring->is_busy = false;
    return NULL;
  }
  VS_ASSERT(slots >= 1 && slots <= ring->capacity && vs_ring_room(ring, slots) >= slots);
  vs_slot *slot = vs_ring_slot(ring, 0);
  slot->sequence = atomic_fetch_add_explicit(&r->sequence, 1, memory_order_relaxed);
  slot->slots = (uint16_t)slots;
  slot->type = (uint8_t)type;
  *out = ring;
  return slot;
}

static inline void end_message(vs_recorder *r, vs_ring *ring, uint32_t slots) {
  VS_ASSERT(ring->is_busy);
  vs_ring_push(ring, slots);
  atomic_signal_fence(memory_order_seq_cst);
  ring->is_busy = false;
  const uint64_t half = ring->capacity / 2;
  if (__builtin_expect(vs_ring_room(ring, half) < half, 0)) vs_wakeup_send(&r->wakeup);
}

static inline __attribute__((always_inline)) void
record(vs_recorder *r, vs_message_type type, const vs_event *event, const vs_record_facts *facts) {
  const uint32_t pool = vs_pool_pack(event->pool);
  const bool has_more =
      facts->metadata > UINT16_MAX || facts->compile_context != 0 || pool == VS_POOL_IN_MORE;
  vs_ring *ring;
  vs_slot *slot = begin_message(r, type, &ring, has_more ? 2 : 1, r->options.wait ? BOUNDED_EVENT : NEVER,
                                facts->time_ns);
  if (slot == NULL) return;
  VS_ASSERT(facts->device >= -1 && facts->device <= INT16_MAX);
  slot->kind = (uint8_t)event->kind;
  slot->device = (int16_t)facts->device;
  slot->metadata = (uint16_t)facts->metadata;
  slot->words[0] = facts->time_ns;
  slot->words[1] = event->address;
  slot->words[2] = event->size;
  slot->words[3] = event->rounded;
  slot->words[4] = event->stream;
  slot->words[5] = event->context | (uint64_t)pool << 32;
  if (has_more) {
    const vs_event_more more = {
        .pool = event->pool, .metadata = facts->metadata, .compile_context = facts->compile_context};
    vs_ring_put(ring, 1, &more, sizeof more);
  }
  end_message(r, ring, has_more ? 2 : 1);
}

void vs_record_event(vs_recorder *r, const vs_event *event, const vs_record_facts *facts) {
  record(r, VS_MESSAGE_EVENT, event, facts);
}

void vs_record_free(vs_recorder *r, const vs_event *event, const vs_record_facts *facts) {
  record(r, VS_MESSAGE_FREE, event, facts);
}

/* ---- messages outside the hot path: words, and a run of bytes */

typedef struct message {
  vs_message_type type;
  int32_t device;
  uint64_t words[VS_SLOT_WORDS];
  const void *data;
  size_t size;
} message;

static void fill(vs_ring *ring, vs_slot *slot, const message *m) {
  slot->kind = 0;
  slot->device = (int16_t)m->device;
  slot->metadata = 0;
  memcpy(slot->words, m->words, sizeof m->words);
  vs_ring_put(ring, 1, m->data, m->size);
}

/* A message of the writer thread: it is taken at once. */
static void write(vs_recorder *r, const message *m, uint32_t slots) {
  vs_slot *slot = vs_ring_slot(r->own, 0);
  VS_ASSERT(slots <= r->own->capacity && vs_ring_room(r->own, slots) >= slots);
  slot->sequence = 0;
  slot->slots = (uint16_t)slots;
  slot->type = (uint8_t)m->type;
  fill(r->own, slot, m);
  vs_ring_push(r->own, slots);
  vs_recorder_take_own(r);
}

/* False: it is lost. */
static bool send_with(vs_recorder *r, const message *m, patience wait) {
  const uint32_t slots = 1 + (uint32_t)((m->size + VS_SLOT_SIZE - 1) / VS_SLOT_SIZE);
  VS_ASSERT(slots <= VS_RECORD_LEAST_RING && (m->data != NULL || m->size == 0));
  if (vs_recorder_writes(r)) {
    write(r, m, slots);
    return true;
  }
  vs_ring *ring;
  vs_slot *slot = begin_message(r, m->type, &ring, slots, wait, 0);
  if (slot == NULL) return false;
  fill(ring, slot, m);
  end_message(r, ring, slots);
  return true;
}

static void send(vs_recorder *r, const message *m) { (void)send_with(r, m, ALWAYS); }

static size_t cut(vs_str text) { return text.size < VS_RECORD_MOST_TEXT ? text.size : VS_RECORD_MOST_TEXT; }

bool vs_record_annotation(vs_recorder *r, uint32_t name, bool is_start, int32_t device, uint64_t time_ns) {
  const message m = {.type = VS_MESSAGE_ANNOTATION, .device = device, .words = {time_ns, name, is_start}};
  return send_with(r, &m, BOUNDED);
}

void vs_record_library(vs_recorder *r, uint32_t name, int32_t device, uint64_t bytes, uint64_t time_ns) {
  send(r, &(message){.type = VS_MESSAGE_LIBRARY, .device = device, .words = {time_ns, name, bytes}});
}

void vs_record_clock(vs_recorder *r, int64_t wall_ns_at_zero) {
  send(r, &(message){.type = VS_MESSAGE_CLOCK, .words = {(uint64_t)wall_ns_at_zero}});
}

void vs_record_device(vs_recorder *r, int32_t device, vs_str name, uint64_t total_bytes) {
  send(r, &(message){.type = VS_MESSAGE_DEVICE,
                     .device = device,
                     .words = {cut(name), total_bytes},
                     .data = name.data,
                     .size = cut(name)});
}

void vs_record_put_setting(vs_recorder *r, const vs_record_setting_value *value) {
  char bytes[2 * VS_RECORD_MOST_TEXT];
  const size_t key = cut(value->key), text = cut(value->text);
  memcpy(bytes, value->key.data, key);
  if (text != 0) memcpy(bytes + key, value->text.data, text);
  send(r, &(message){.type = VS_MESSAGE_SETTING,
                     .words = {key, text, value->kind, value->depth, value->bits},
                     .data = bytes,
                     .size = key + text});
}

void vs_record_state_begin(vs_recorder *r, vs_record_moment moment, uint64_t time_ns) {
  send(r, &(message){.type = VS_MESSAGE_STATE_BEGIN, .words = {time_ns, moment}});
}

void vs_record_state_segment(vs_recorder *r, const vs_record_segment *segment) {
  send(r, &(message){.type = VS_MESSAGE_SEGMENT, .data = segment, .size = sizeof *segment});
}

void vs_record_state_block(vs_recorder *r, const vs_record_block *block) {
  send(r, &(message){.type = VS_MESSAGE_BLOCK, .data = block, .size = sizeof *block});
}

void vs_record_state_end(vs_recorder *r) { send(r, &(message){.type = VS_MESSAGE_STATE_END}); }

void vs_record_flush(vs_recorder *r) {
  if (!vs_record_is_on(r) || own.serial != r->serial) return;
  const vs_ring *ring = own.ring;
  const uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
  while (atomic_load_explicit(&ring->tail, memory_order_acquire) < head) {
    vs_wakeup_send(&r->wakeup);
    vs_clock_sleep_ns(20000);
  }
}

/* ---- opening and closing */

static vs_status check_options(const vs_record_options *options, vs_record_options *out, vs_error *error) {
  *out = *options;
  if (out->ring_slots == 0) out->ring_slots = VS_RECORD_RING;
  if (out->flush_ms == 0) out->flush_ms = VS_RECORD_FLUSH_MS;
  if (out->max_bytes != 0 && out->max_ns != 0)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                   "a file keeps a number of bytes or a time, not both");
  const bool is_power = (out->ring_slots & (out->ring_slots - 1)) == 0;
  if (is_power && out->ring_slots >= VS_RECORD_LEAST_RING && out->ring_slots <= VS_RECORD_MOST_RING)
    return VS_OK;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "a ring has 2^n slots, from %u to %u",
                 VS_RECORD_LEAST_RING, VS_RECORD_MOST_RING);
}

static void free_recorder(vs_recorder *r) {
  unlist_recorder(r);
  vs_thread_exit_hook_free(&r->exit_hook);
  for (uint32_t i = 0; i < r->ring_count; i++) vs_ring_destroy(r->rings[i]);
  vs_ring_destroy(r->own);
  vs_encoder_deinit(&r->encoder);
  vs_pages_unmap(r, sizeof *r);
}

static vs_status start(vs_recorder *r, vs_error *error) {
  vs_status status = vs_encoder_init(r);
  if (status == VS_OK) status = vs_thread_exit_hook_make(&r->exit_hook, end_thread);
  if (status == VS_OK) status = vs_ring_create(VS_RECORDER_OWN_SLOTS, &r->own);
  atomic_store(&r->mode, VS_RECORDER_ON);
  if (status == VS_OK) status = vs_thread_start(&r->thread, "vramscope", vs_recorder_write, r);
  if (status == VS_OK) return VS_OK;
  if (r->sink.error.status != VS_OK) *error = r->sink.error;
  else (void)vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  vs_sink_abandon(&r->sink);
  return status;
}

vs_status vs_record_open(const vs_host *host, const vs_record_options *options, vs_recorder **out,
                         vs_error *error) {
  static _Atomic uint64_t serials;
  vs_error unwanted;
  if (error == NULL) error = &unwanted;
  vs_record_options checked;
  *out = NULL;
  VS_TRY(check_options(options, &checked, error));
  void *pages = NULL;
  if (vs_pages_map(sizeof(vs_recorder), VS_PAGES_LAZY, &pages) != VS_OK)
    return vs_fail(error, VS_NO_MEMORY, VS_NO_OFFSET, "%s", vs_status_text(VS_NO_MEMORY));
  vs_recorder *r = pages;
  r->host = r->encoder.host = host;
  r->options = checked;
  r->serial = atomic_fetch_add(&serials, 1) + 1;
  vs_fork_watch();
  r->forks = vs_fork_generation();
  vs_status status = vs_sink_open(&r->sink, host, &checked, error);
  list_recorder(r);
  if (status == VS_OK) status = start(r, error);
  if (status == VS_OK) *out = r;
  else free_recorder(r);
  return status;
}

vs_record_figures vs_record_figures_of(const vs_recorder *r) {
  return (vs_record_figures){.events = r->events,
                             .lost_ring = vs_recorder_lost_ring(r),
                             .lost_file = r->lost_file,
                             .lost_other = r->lost_other,
                             .bytes = r->bytes,
                             .waits = r->waits,
                             .waited_ns = r->waited_ns,
                             .checkpoints = r->checkpoints,
                             .lost_since_ns = r->first_lost,
                             .threads = r->threads,
                             .status = (vs_status)r->status};
}

/* In the child of a fork: the file and the writer thread are the parent's. */
static vs_status forget(vs_recorder *r) {
  vs_sink_forget(&r->sink);
  free_recorder(r);
  return VS_OK;
}

/* Writes the messages that are left and the number of losses, and seals the last frame. */
static void finish(vs_recorder *r) {
  vs_recorder_drain(r);
  vs_status status = r->status;
  if (status == VS_OK) status = vs_tracew_flush(r->encoder.file);
  if (status != VS_OK) vs_recorder_fail(r, status);
  if (status != VS_OK) vs_recorder_put_last_loss(r);
}

vs_status vs_record_close(vs_recorder *r, vs_record_figures *figures, vs_error *error) {
  vs_error unwanted;
  if (error == NULL) error = &unwanted;
  if (figures != NULL) *figures = (vs_record_figures){0};
  if (!is_here(r)) return forget(r);
  atomic_store_explicit(&r->is_stopping, true, memory_order_release);
  vs_wakeup_send(&r->wakeup);
  vs_thread_join(&r->thread);
  finish(r);
  vs_status status = (vs_status)r->status;
  if (status != VS_OK && r->sink.error.status != VS_OK) *error = r->sink.error;
  else if (status != VS_OK) (void)vs_fail(error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
  vs_error closing;
  const vs_status closed = vs_sink_close(&r->sink, &closing);
  if (status == VS_OK && closed != VS_OK) *error = closing;
  if (status == VS_OK) status = closed;
  if (figures != NULL) *figures = vs_record_figures_of(r);
  free_recorder(r);
  return status;
}
