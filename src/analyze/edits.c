#include "analyze/edits.h"

/* No scaled size is above this, so that their sums do not overflow. */
#define MOST_SIZE (UINT64_C(1) << 44)

/* What becomes of an allocation, or of a failed request. */
typedef struct change {
  double factor; /* 1: as recorded */
  bool is_named, is_out, is_early, is_freed;
} change;

typedef struct editor {
  const vs_host *host;
  const vs_replay_plan *plan;
  const vs_edit *edits;
  size_t edit_count;
  bool empties_cache;
  uint32_t last_failure;           /* event of the plan's last FAIL; VS_NO_EVENT: none */
  const vs_checkpoint *checkpoint; /* NULL: none */
  size_t next_insert;              /* of it */
  vs_edited *out;
} editor;

static bool has_bit(const uint64_t *bits, uint32_t at) {
  return bits != NULL && (bits[at / 64] >> at % 64 & 1) != 0;
}

static void change_add(change *c, const vs_edit *edit) {
  c->is_named = true;
  switch (edit->kind) {
    case VS_EDIT_WITHOUT: c->is_out = true; break;
    case VS_EDIT_SCALE: c->factor *= edit->factor; break;
    case VS_EDIT_FREE_EARLY: c->is_early = true; break;
    case VS_EDIT_FREE: c->is_freed = true; break;
    case VS_EDIT_EMPTY_CACHE:
    case VS_EDIT_CHECKPOINT: break;
  }
}

/* Whether the program holds the block when the last failed request comes. */
static bool is_held_then(const editor *e, uint32_t row) {
  const vs_lifetime *life = &e->plan->lifetimes->rows.data[row];
  const uint32_t freed = life->free_requested != VS_NO_EVENT ? life->free_requested : life->end;
  return e->last_failure != VS_NO_EVENT && (life->start == VS_NO_EVENT || life->start < e->last_failure) &&
         (freed == VS_NO_EVENT || freed > e->last_failure);
}

static change change_of_row(const editor *e, uint32_t row) {
  change c = {.factor = 1};
  for (size_t i = 0; i < e->edit_count; i++) {
    if (!has_bit(e->edits[i].rows, row)) continue;
    if (e->edits[i].kind != VS_EDIT_FREE || is_held_then(e, row)) change_add(&c, &e->edits[i]);
  }
  return c;
}

static change change_of_failure(const editor *e, uint32_t event) {
  change c = {.factor = 1};
  for (size_t i = 0; i < e->edit_count; i++)
    if (e->edits[i].kind != VS_EDIT_FREE && has_bit(e->edits[i].events, event)) change_add(&c, &e->edits[i]);
  return c;
}

static uint64_t scaled(uint64_t size, double factor) {
  if (factor == 1 || size == 0) return size;
  const double wanted = (double)size * factor + 0.5;
  if (wanted >= (double)MOST_SIZE) return MOST_SIZE;
  return vs_max_u64((uint64_t)wanted, 1);
}

/* `cause`: event of the allocation whose stack an ALLOC has. */
static vs_status put_caused(editor *e, vs_replay_request request, uint32_t cause) {
  vs_replay_requests *out = &e->out->requests;
  if (e->checkpoint != NULL) {
    VS_TRY(vs_vec_reserve(e->host, &e->out->causes, 1));
    e->out->causes.data[e->out->causes.count++] = cause;
  }
  VS_ASSERT(out->count == 0 || request.steps >= out->data[out->count - 1].steps);
  VS_TRY(vs_vec_reserve(e->host, out, 1));
  out->data[out->count++] = request;
  return VS_OK;
}

static vs_status put(editor *e, vs_replay_request request) { return put_caused(e, request, request.event); }

/* Counts what the edits name, and frees the blocks from before the trace that are out or freed early. */
static vs_status rows_take(editor *e) {
  const vs_lifetimes *lifetimes = e->plan->lifetimes;
  for (uint32_t row = 0; row < lifetimes->rows.count; row++) {
    const change c = change_of_row(e, row);
    const bool is_older = lifetimes->rows.data[row].start == VS_NO_EVENT;
    if (!c.is_named) continue;
    e->out->allocs++;
    e->out->bytes = vs_sat_add_u64(e->out->bytes, lifetimes->rows.data[row].size);
    e->out->start_allocs += is_older;
    if (is_older && (c.is_out || c.is_early))
      VS_TRY(put(e, (vs_replay_request){.lifetime = row, .kind = VS_REPLAY_FREE, .is_prompt = true}));
  }
  return VS_OK;
}

static vs_status alloc_take(editor *e, vs_replay_request request) {
  const change c = change_of_row(e, request.lifetime);
  if (c.is_out) return VS_OK;
  request.size = scaled(request.size, c.factor);
  VS_TRY(put(e, request));
  if (!c.is_early) return VS_OK;
  return put(e, (vs_replay_request){.event = request.event,
                                    .lifetime = request.lifetime,
                                    .steps = request.steps,
                                    .kind = VS_REPLAY_FREE,
                                    .is_prompt = true});
}

static vs_status free_take(editor *e, vs_replay_request request) {
  const change c = change_of_row(e, request.lifetime);
  if (e->checkpoint != NULL && has_bit(e->checkpoint->moved.data, request.lifetime)) return VS_OK;
  return c.is_out || c.is_early ? VS_OK : put(e, request);
}

/* A request of a call that is computed again is changed as the recorded one is. */
static vs_status insert_take(editor *e, const vs_checkpoint_insert *insert) {
  const vs_replay_requests *out = &e->out->requests;
  const change c = change_of_row(e, insert->row);
  vs_replay_request request = insert->request;
  request.steps = out->count == 0 ? 0 : out->data[out->count - 1].steps;
  request.size = scaled(request.size, c.factor);
  if (c.is_out || (c.is_early && request.kind == VS_REPLAY_FREE)) return VS_OK;
  VS_TRY(put_caused(e, request, e->plan->lifetimes->rows.data[insert->row].start));
  if (!c.is_early) return VS_OK;
  request.kind = VS_REPLAY_FREE;
  request.is_prompt = true;
  return put(e, request);
}

/* What the program does in addition right before a request of the plan. */
static vs_status inserts_take(editor *e, size_t before) {
  for (; e->checkpoint != NULL && e->next_insert < e->checkpoint->inserts.count; e->next_insert++) {
    const vs_checkpoint_insert *insert = &e->checkpoint->inserts.data[e->next_insert];
    if (insert->before > before) return VS_OK;
    VS_TRY(insert_take(e, insert));
  }
  return VS_OK;
}

/* What happens right before the last failed request. Its own steps are not passed: they are the request's. */
static vs_status frees_put(editor *e, vs_replay_request failure) {
  const vs_replay_requests *out = &e->out->requests;
  vs_replay_request request = {.event = failure.event,
                               .stream = failure.stream,
                               .pool = failure.pool,
                               .steps = out->count == 0 ? 0 : out->data[out->count - 1].steps,
                               .kind = VS_REPLAY_FREE,
                               .is_prompt = true};
  for (uint32_t row = 0; row < e->plan->lifetimes->rows.count; row++) {
    request.lifetime = row;
    if (change_of_row(e, row).is_freed) VS_TRY(put(e, request));
  }
  request.kind = VS_REPLAY_EMPTY;
  request.lifetime = VS_NO_ROW;
  return e->empties_cache ? put(e, request) : VS_OK;
}

static vs_status failure_take(editor *e, vs_replay_request request) {
  const change c = change_of_failure(e, request.event);
  if (request.event == e->last_failure) VS_TRY(frees_put(e, request));
  request.size = scaled(request.size, c.factor);
  return c.is_out ? VS_OK : put(e, request);
}

static vs_status request_take(editor *e, vs_replay_request request) {
  switch ((vs_replay_kind)request.kind) {
    case VS_REPLAY_ALLOC: return alloc_take(e, request);
    case VS_REPLAY_FREE: return free_take(e, request);
    case VS_REPLAY_FAIL: return failure_take(e, request);
    case VS_REPLAY_EMPTY: return put(e, request);
  }
  return VS_OK;
}

static uint32_t last_failure_of(const vs_replay_plan *plan) {
  for (size_t i = plan->requests.count; i-- > 0;)
    if (plan->requests.data[i].kind == VS_REPLAY_FAIL) return plan->requests.data[i].event;
  return VS_NO_EVENT;
}

vs_status vs_edits_apply(const vs_host *host, const vs_replay_plan *plan, const vs_edit *edits, size_t count,
                         vs_edited *out) {
  *out = (vs_edited){0};
  editor e = {.host = host,
              .plan = plan,
              .edits = edits,
              .edit_count = count,
              .last_failure = last_failure_of(plan),
              .out = out};
  for (size_t i = 0; i < count; i++) {
    e.empties_cache |= edits[i].kind == VS_EDIT_EMPTY_CACHE;
    if (edits[i].kind == VS_EDIT_CHECKPOINT) e.checkpoint = edits[i].checkpoint;
  }
  out->copies = e.checkpoint != NULL ? e.checkpoint->copies : 0;
  vs_status status = vs_vec_reserve(host, &out->requests, plan->requests.count);
  if (status == VS_OK) status = rows_take(&e);
  for (size_t i = 0; i <= plan->requests.count && status == VS_OK; i++) {
    status = inserts_take(&e, i);
    if (status == VS_OK && i < plan->requests.count) status = request_take(&e, plan->requests.data[i]);
  }
  if (status != VS_OK) vs_edited_deinit(host, out);
  return status;
}

void vs_edited_deinit(const vs_host *host, vs_edited *edited) {
  vs_vec_free(host, &edited->requests);
  vs_vec_free(host, &edited->causes);
}
