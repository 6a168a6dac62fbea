#include "analyze/edits.h"

#include "base/sort.h"

/* Sizes stay below this, so that their sums do not overflow. */
#define MOST_SIZE (UINT64_C(1) << 44)

/* What becomes of one row of lifetimes. */
typedef struct change {
  double factor; /* 1: as recorded */
  bool is_named, is_out, is_early;
} change;

/* A request that an edit adds: it stands before the first request of the plan whose place is larger. */
typedef struct insertion {
  uint64_t place; /* 2 * event: before the requests of that event; 2 * event + 1: behind them */
  vs_replay_request request;
} insertion;

typedef struct editor {
  const vs_host *host;
  const vs_replay_plan *plan;
  const vs_edit *edits;
  size_t edit_count;
  change *changes; /* by row */
  size_t rows;
  VS_VEC(insertion) added;
  vs_edited *out;
} editor;

static bool has_bit(const uint64_t *bits, uint32_t at) {
  return bits != NULL && (bits[at / 64] >> at % 64 & 1) != 0;
}

static uint64_t before(uint32_t event) { return 2 * (uint64_t)event; }
static uint64_t behind(uint32_t event) { return 2 * (uint64_t)event + 1; }

static uint64_t scaled(uint64_t size, double factor) {
  if (factor == 1 || size == 0) return size;
  const double wanted = (double)size * factor + 0.5;
  if (wanted >= (double)MOST_SIZE) return MOST_SIZE;
  return vs_max_u64((uint64_t)wanted, 1);
}

/* ---- what becomes of each row --------------------------------------------------------------------------- */

/* Whether a row is freed where the recording frees it, unless a checkpoint moves that. */
static bool is_as_recorded(const change *c) { return !c->is_out && !c->is_early; }

static void row_name(editor *e, uint32_t row, const vs_edit *edit) {
  change *c = &e->changes[row];
  c->is_named = true;
  if (edit->kind == VS_EDIT_WITHOUT) c->is_out = true;
  if (edit->kind == VS_EDIT_SCALE) c->factor *= edit->factor;
  if (edit->kind == VS_EDIT_FREE_EARLY) c->is_early = true;
}

static uint32_t freed_at(const vs_lifetime *life) {
  return life->free_requested != VS_NO_EVENT ? life->free_requested : life->end;
}

static void changes_collect(editor *e) {
  const vs_lifetime *lives = e->plan->lifetimes->rows.data;
  for (size_t row = 0; row < e->rows; row++) e->changes[row] = (change){.factor = 1};
  for (size_t i = 0; i < e->edit_count; i++)
    for (uint32_t row = 0; e->edits[i].rows != NULL && row < e->rows; row++)
      if (has_bit(e->edits[i].rows, row)) row_name(e, row, &e->edits[i]);
  for (size_t row = 0; row < e->rows; row++) {
    if (!e->changes[row].is_named) continue;
    e->out->allocs++;
    e->out->bytes = vs_sat_add_u64(e->out->bytes, lives[row].size);
    e->out->start_allocs += lives[row].start == VS_NO_EVENT;
  }
}

/* ---- requests that are added ---------------------------------------------------------------------------- */

static vs_status add(editor *e, uint64_t place, vs_replay_request request) {
  VS_TRY(vs_vec_reserve(e->host, &e->added, 1));
  e->added.data[e->added.count++] = (insertion){place, request};
  return VS_OK;
}

static vs_replay_request prompt_free(uint32_t row, uint32_t event) {
  return (vs_replay_request){.event = event, .lifetime = row, .kind = VS_REPLAY_FREE, .is_prompt = true};
}

/* Rows that are freed at another time than recorded. */
static vs_status frees_add(editor *e) {
  const vs_lifetime *lives = e->plan->lifetimes->rows.data;
  for (uint32_t row = 0; row < e->rows; row++) {
    const change *c = &e->changes[row];
    const uint32_t start = lives[row].start;
    if (start == VS_NO_EVENT && (c->is_out || c->is_early)) VS_TRY(add(e, 0, prompt_free(row, 0)));
    else if (c->is_early && !c->is_out) VS_TRY(add(e, behind(start), prompt_free(row, start)));
  }
  return VS_OK;
}

/* What one call leaves behind: the rows [first, end) begin in it. */
typedef struct leftovers {
  uint32_t first, end; /* rows */
  uint32_t result;     /* the last row that outlives the call; VS_NO_ROW */
  uint32_t back;       /* event at which the first of the others is freed; VS_NO_EVENT: never */
} leftovers;

static leftovers leftovers_of(const editor *e, const vs_edit_call *call, uint32_t *row) {
  const vs_lifetime *lives = e->plan->lifetimes->rows.data;
  leftovers left = {.result = VS_NO_ROW, .back = VS_NO_EVENT};
  while (*row < e->rows && (lives[*row].start == VS_NO_EVENT || lives[*row].start < call->first)) ++*row;
  left.first = *row;
  while (*row < e->rows && lives[*row].start != VS_NO_EVENT && lives[*row].start <= call->last) {
    if (freed_at(&lives[*row]) > call->last) left.result = *row;
    ++*row;
  }
  left.end = *row;
  for (uint32_t r = left.first; r < left.end; r++)
    if (r != left.result && freed_at(&lives[r]) > call->last)
      left.back = (uint32_t)vs_min_u64(left.back, freed_at(&lives[r]));
  return left;
}

/* Frees what the call leaves behind, and makes its requests again before event `back`. */
static vs_status call_repeat(editor *e, const vs_edit_call *call, const leftovers *left, size_t *at) {
  const vs_lifetime *lives = e->plan->lifetimes->rows.data;
  const vs_replay_requests *requests = &e->plan->requests;
  for (uint32_t row = left->first; row < left->end; row++)
    if (row != left->result && freed_at(&lives[row]) > call->last && is_as_recorded(&e->changes[row]))
      VS_TRY(add(e, behind(call->last), prompt_free(row, call->last)));
  while (*at < requests->count && requests->data[*at].event < call->first) ++*at;
  for (size_t i = *at; i < requests->count && requests->data[i].event <= call->last; i++) {
    vs_replay_request request = requests->data[i];
    const uint32_t row = request.lifetime;
    if (request.kind != VS_REPLAY_ALLOC && request.kind != VS_REPLAY_FREE) continue;
    if (row < left->first || row >= left->end || row == left->result || e->changes[row].is_out) continue;
    if (request.kind == VS_REPLAY_FREE && e->changes[row].is_early) continue;
    request.event = left->back;
    request.is_prompt = request.kind == VS_REPLAY_FREE;
    request.size = scaled(request.size, e->changes[row].factor);
    VS_TRY(add(e, before(left->back), request));
    if (request.kind == VS_REPLAY_ALLOC && e->changes[row].is_early)
      VS_TRY(add(e, before(left->back), prompt_free(row, left->back)));
  }
  return VS_OK;
}

static vs_status checkpoints_add(editor *e, const vs_edit *edit) {
  size_t at = 0;
  uint32_t row = 0;
  for (size_t i = 0; i < edit->call_count; i++) {
    const leftovers left = leftovers_of(e, &edit->calls[i], &row);
    if (left.back != VS_NO_EVENT) VS_TRY(call_repeat(e, &edit->calls[i], &left, &at));
  }
  return VS_OK;
}

/* ---- the result ----------------------------------------------------------------------------------------- */

static vs_status put(editor *e, vs_replay_request request) {
  vs_replay_requests *out = &e->out->requests;
  VS_TRY(vs_vec_reserve(e->host, out, 1));
  if (out->count > 0) request.steps = (uint32_t)vs_max_u64(request.steps, out->data[out->count - 1].steps);
  out->data[out->count++] = request;
  return VS_OK;
}

static bool is_failure_out(const editor *e, const vs_replay_request *request) {
  for (size_t i = 0; i < e->edit_count; i++)
    if (e->edits[i].kind == VS_EDIT_WITHOUT && has_bit(e->edits[i].events, request->event)) return true;
  return false;
}

static double failure_factor(const editor *e, const vs_replay_request *request) {
  double factor = 1;
  for (size_t i = 0; i < e->edit_count; i++)
    if (e->edits[i].kind == VS_EDIT_SCALE && has_bit(e->edits[i].events, request->event))
      factor *= e->edits[i].factor;
  return factor;
}

/* A request of the plan under the edits; *is_out: it is not made. */
static vs_replay_request edited(const editor *e, vs_replay_request request, bool *is_out) {
  *is_out = false;
  switch ((vs_replay_kind)request.kind) {
    case VS_REPLAY_ALLOC:
      *is_out = e->changes[request.lifetime].is_out;
      request.size = scaled(request.size, e->changes[request.lifetime].factor);
      break;
    case VS_REPLAY_FREE: *is_out = !is_as_recorded(&e->changes[request.lifetime]); break;
    case VS_REPLAY_FAIL:
      *is_out = is_failure_out(e, &request);
      request.size = scaled(request.size, failure_factor(e, &request));
      break;
    case VS_REPLAY_EMPTY: break;
  }
  return request;
}

/* The plan's requests, with those that were added in their places. */
static vs_status merge(editor *e, const vs_sort_pair *order) {
  const vs_replay_requests *requests = &e->plan->requests;
  size_t next = 0;
  VS_TRY(vs_vec_reserve(e->host, &e->out->requests, requests->count + e->added.count));
  for (size_t i = 0; i < requests->count; i++) {
    bool is_out;
    const vs_replay_request request = edited(e, requests->data[i], &is_out);
    while (next < e->added.count && order[next].key <= before(request.event))
      VS_TRY(put(e, e->added.data[order[next++].value].request));
    if (!is_out) VS_TRY(put(e, request));
  }
  while (next < e->added.count) VS_TRY(put(e, e->added.data[order[next++].value].request));
  return VS_OK;
}

static vs_status merge_sorted(editor *e) {
  VS_VEC(vs_sort_pair) order = {0};
  if (e->added.count > UINT32_MAX) return VS_LIMIT;
  vs_status status = vs_vec_reserve(e->host, &order, e->added.count);
  for (size_t i = 0; i < e->added.count && status == VS_OK; i++)
    order.data[order.count++] = (vs_sort_pair){e->added.data[i].place, (uint32_t)i};
  if (status == VS_OK) status = vs_sort_pairs(e->host, order.data, order.count);
  if (status == VS_OK) status = merge(e, order.data);
  vs_vec_free(e->host, &order);
  return status;
}

static vs_status apply(editor *e) {
  changes_collect(e);
  VS_TRY(frees_add(e));
  for (size_t i = 0; i < e->edit_count; i++)
    if (e->edits[i].kind == VS_EDIT_CHECKPOINT) VS_TRY(checkpoints_add(e, &e->edits[i]));
  return merge_sorted(e);
}

vs_status vs_edits_apply(const vs_host *host, const vs_replay_plan *plan, const vs_edit *edits, size_t count,
                         vs_edited *out) {
  *out = (vs_edited){0};
  editor e = {.host = host,
              .plan = plan,
              .edits = edits,
              .edit_count = count,
              .rows = plan->lifetimes->rows.count,
              .out = out};
  e.changes = vs_host_alloc(host, (e.rows + 1) * sizeof *e.changes);
  if (e.changes == NULL) return VS_NO_MEMORY;
  const vs_status status = apply(&e);
  vs_host_free(host, e.changes, (e.rows + 1) * sizeof *e.changes);
  vs_vec_free(host, &e.added);
  if (status != VS_OK) vs_edited_deinit(host, out);
  return status;
}

void vs_edited_deinit(const vs_host *host, vs_edited *edited) { vs_vec_free(host, &edited->requests); }
