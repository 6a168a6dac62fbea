#include "faces/exporter/xids.h"
#include "base/text.h"
#include "os/clock.h"
#include "os/thread.h"

enum {
  WAIT_MS = 100,         /* for the driver's next event */
  AGAIN_NS = 500000000,  /* after a failure, until the next try */
  STEP_NS = 2 * 1000000, /* between two looks at the other thread */
  LOOKS_AT_BEGIN = 2500, /* 5 s */
  LOOKS_AT_END = 250,
};

struct vs_xids {
  const vs_host *host;
  vs_thread thread;
  vs_wakeup wake;
  _Atomic bool is_over, has_ended, has_begun;
  vs_devices *devices;      /* of the thread alone; NULL: no connection */
  VS_VEC(uint32_t) card_of; /* likewise: by unit the row of `cards`; UINT32_MAX: none, as for MIG devices */
  vs_lock lock;             /* of what follows */
  vs_xid_cards cards;
};

const char *vs_xid_text(uint32_t number) {
  switch (number) {
#define VS_XID_TEXT(known, text) \
  case known:                    \
    return text;
#include "faces/exporter/xid_texts.def"
#undef VS_XID_TEXT
    default: return "";
  }
}

/* ---- the cards */

static bool is_of(const vs_xid_card *card, const vs_devices_info *info) {
  if (info->uuid[0] != 0) return vs_str_equal(vs_str_from(card->uuid), vs_str_from(info->uuid));
  return card->index == info->index; /* a lost card does not tell its UUID */
}

/* The row of a card; a new one if it was never seen. */
static vs_status find_card(vs_xids *x, const vs_devices_info *info, uint32_t *row) {
  for (*row = 0; *row < x->cards.count; ++*row)
    if (is_of(&x->cards.data[*row], info)) return VS_OK;
  VS_TRY(vs_vec_reserve(x->host, &x->cards, 1));
  vs_xid_card *card = &x->cards.data[x->cards.count++];
  *card = (vs_xid_card){.index = info->index};
  vs_format(card->uuid, sizeof card->uuid, "%s", info->uuid);
  return VS_OK;
}

static void count(vs_xid_card *card, uint32_t number) {
  uint32_t at = 0;
  while (at < card->kinds && card->counts[at].number != number) at++;
  if (at == VS_XID_NUMBERS) {
    card->others++;
  } else {
    if (at == card->kinds) card->counts[card->kinds++].number = number;
    card->counts[at].count++;
  }
  card->last = number;
  card->last_us = vs_clock_wall_ns() / 1000;
}

/* ---- the thread */

static vs_status watch_unit(vs_xids *x, uint32_t unit) {
  vs_devices_info info;
  uint32_t row = UINT32_MAX;
  VS_TRY(vs_vec_reserve(x->host, &x->card_of, 1));
  VS_TRY(vs_devices_info_of(x->devices, unit, &info));
  if (!info.is_mig) {
    const vs_metric watched = vs_devices_watch_xids(x->devices, unit);
    vs_lock_take(&x->lock);
    const vs_status status = find_card(x, &info, &row);
    if (status == VS_OK) x->cards.data[row].watched = watched;
    vs_lock_give(&x->lock);
    if (status != VS_OK) return status;
  }
  x->card_of.data[x->card_of.count++] = row;
  return VS_OK;
}

static void disconnect(vs_xids *x, vs_metric why) {
  vs_devices_close(x->devices);
  x->devices = NULL;
  vs_lock_take(&x->lock);
  for (size_t i = 0; i < x->cards.count; i++)
    if (vs_metric_is_known(x->cards.data[i].watched)) x->cards.data[i].watched = why;
  vs_lock_give(&x->lock);
}

static bool connect(vs_xids *x) {
  vs_status status = vs_devices_open(NULL, &x->devices, NULL);
  if (status != VS_OK) x->devices = NULL;
  x->card_of.count = 0;
  for (uint32_t i = 0; status == VS_OK && i < vs_devices_count(x->devices); i++) status = watch_unit(x, i);
  if (status != VS_OK) disconnect(x, (vs_metric){.reason = VS_REASON_NO_DRIVER});
  return status == VS_OK;
}

static bool is_any_watched(vs_xids *x) {
  bool is_any = false;
  vs_lock_take(&x->lock);
  for (size_t i = 0; i < x->cards.count; i++) is_any = is_any || vs_metric_is_known(x->cards.data[i].watched);
  vs_lock_give(&x->lock);
  return is_any;
}

/* Waits for an event, or, after a failure, for a while. */
static void wait_for_one(vs_xids *x) {
  vs_telemetry_xid xid;
  const vs_metric answer = vs_devices_next_xid(x->devices, WAIT_MS, &xid);
  if (!vs_metric_is_known(answer)) {
    disconnect(x, answer);
    vs_wakeup_wait(&x->wake, AGAIN_NS);
    return;
  }
  const uint32_t row = answer.value != 0 ? x->card_of.data[xid.unit] : UINT32_MAX;
  if (row == UINT32_MAX) return;
  vs_lock_take(&x->lock);
  count(&x->cards.data[row], xid.number);
  vs_lock_give(&x->lock);
}

/* A driver that cannot watch any card is asked again from time to time, as one that is gone. */
static void run(void *ctx) {
  vs_xids *x = ctx;
  while (!atomic_load(&x->is_over)) {
    const bool is_connected = x->devices != NULL || connect(x);
    const bool is_watching = is_connected && is_any_watched(x);
    atomic_store(&x->has_begun, true);
    if (is_watching) {
      wait_for_one(x);
      continue;
    }
    if (is_connected) disconnect(x, (vs_metric){.reason = VS_REASON_NO_DRIVER});
    vs_wakeup_wait(&x->wake, AGAIN_NS);
  }
  vs_devices_close(x->devices);
  atomic_store(&x->has_ended, true);
}

/* ---- beginning and end */

vs_status vs_xids_start(vs_xids **out, const vs_host *host) {
  vs_xids *x = vs_host_alloc(host, sizeof *x);
  *out = NULL;
  if (x == NULL) return VS_NO_MEMORY;
  *x = (vs_xids){.host = host};
  const vs_status status = vs_thread_start(&x->thread, "vs-xids", run, x);
  if (status != VS_OK) {
    vs_host_free(host, x, sizeof *x);
    return status;
  }
  for (int i = 0; i < LOOKS_AT_BEGIN && !atomic_load(&x->has_begun); i++) vs_clock_sleep_ns(STEP_NS);
  *out = x;
  return VS_OK;
}

vs_status vs_xids_read(vs_xids *x, vs_xid_cards *cards) {
  cards->count = 0;
  vs_lock_take(&x->lock);
  const vs_status status = vs_vec_reserve(x->host, cards, x->cards.count);
  if (status == VS_OK && x->cards.count != 0) {
    memcpy(cards->data, x->cards.data, x->cards.count * sizeof *cards->data);
    cards->count = x->cards.count;
  }
  vs_lock_give(&x->lock);
  return status;
}

void vs_xids_stop(vs_xids *x) {
  if (x == NULL) return;
  atomic_store(&x->is_over, true);
  vs_wakeup_send(&x->wake);
  for (int i = 0; i < LOOKS_AT_END && !atomic_load(&x->has_ended); i++) vs_clock_sleep_ns(STEP_NS);
  if (atomic_load(&x->has_ended)) vs_thread_join(&x->thread);
}

bool vs_xids_free(vs_xids *x) {
  if (x == NULL) return true;
  if (!atomic_load(&x->has_ended)) return false;
  vs_vec_free(x->host, &x->card_of);
  vs_vec_free(x->host, &x->cards);
  vs_host_free(x->host, x, sizeof *x);
  return true;
}
