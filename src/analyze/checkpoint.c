#include "analyze/checkpoint.h"

#include "analyze/arrange.h"

enum {
  MOST_OWN_ALLOCS = 2, /* in the backward pass of an operation that saved its result */
  MOST_BEFORE = 64     /* allocations before a call among which its argument is looked for */
};

typedef enum block_role {
  PLAIN,  /* of no call, or not live behind it, or held */
  SAVED,  /* freed at the end of the call, computed again */
  RESULT, /* what the caller holds */
} block_role;

/* A row of lifetimes. */
typedef struct tracked {
  uint32_t alloc, free; /* requests, VS_NO_REQUEST */
  uint32_t freed_at;    /* 0: as recorded; VS_NO_REQUEST: never; else before this request */
  uint32_t copy;        /* while a call is computed again: 1 + its copy; 0: there is none */
  uint8_t role;         /* block_role */
  uint8_t function;     /* of a saved block: the index of its function */
  bool is_by_backward;  /* the backward pass frees it */
  bool is_of_backward;  /* and allocated it */
} tracked;

/* What a call saves. */
typedef struct call_facts {
  uint32_t result;     /* row, VS_NO_ROW: it is not among the blocks that the backward pass frees */
  uint32_t last_alloc; /* of the saved blocks, and of the result if it is computed again */
  uint32_t first_free, last_free; /* of the saved blocks; VS_NO_REQUEST: none is freed by the backward pass */
  uint64_t blocks;
  bool is_endless;   /* a saved block is not freed by the backward pass */
  bool saves_result; /* the result is computed again */
} call_facts;

typedef struct votes {
  uint64_t saved, others;
} votes;

typedef struct builder {
  const vs_host *host;
  const vs_replay_plan *plan;
  const vs_snapshot *snapshot;
  const vs_function_calls *calls;
  vs_checkpoint *out;
  VS_VEC(tracked) blocks;   /* by row */
  VS_VEC(call_facts) facts; /* by call */
  VS_VEC(uint32_t) frees;   /* by the backward pass, of blocks of the forward pass */
  VS_VEC(uint32_t) allocs;  /* by request: the ALLOC or FAIL at or before it; VS_NO_REQUEST: none */
  VS_VEC(votes) votes;      /* of blocks with one place in the function */
  vs_map place_votes;       /* place -> index into votes */
  vs_map others; /* hashes of stacks inside of the function: their results are not saved by their operation */
  vs_map met;    /* (call, stack) -> how many blocks of the call had that stack so far */
  uint32_t last_failure; /* the last one behind which no backward pass allocates; VS_NO_REQUEST: none */
} builder;

static const vs_replay_request *request_at(const builder *b, uint32_t at) {
  VS_ASSERT(at < b->plan->requests.count);
  return &b->plan->requests.data[at];
}

static bool is_kind(const builder *b, uint32_t at, vs_replay_kind kind) {
  return request_at(b, at)->kind == kind;
}

static tracked *block_of(builder *b, uint32_t at) {
  VS_ASSERT(request_at(b, at)->lifetime < b->blocks.count);
  return &b->blocks.data[request_at(b, at)->lifetime];
}

static uint64_t size_of(const builder *b, const tracked *block) { return request_at(b, block->alloc)->size; }

static void set_bit(uint64_t *bits, uint32_t at) { bits[at / 64] |= UINT64_C(1) << at % 64; }

#define FILL(host, vec, entries)                                                                    \
  (vs_vec_reserve(host, vec, (entries) + 1) == VS_OK                                                \
       ? (memset((vec)->data, 0, (entries) * sizeof *(vec)->data), (vec)->count = (entries), VS_OK) \
       : VS_NO_MEMORY)

/* ---- blocks ---------------------------------------------------------------------------------------------- */

/* What a program frees behind a failed request is no step of the backward pass. */
static bool is_by_backward(const builder *b, uint32_t alloc) {
  return alloc != VS_NO_REQUEST && b->calls->passes.data[alloc] == VS_PASS_BACKWARD &&
         is_kind(b, alloc, VS_REPLAY_ALLOC);
}

static vs_status free_note(builder *b, uint32_t at) {
  tracked *freed = block_of(b, at);
  freed->free = at;
  freed->is_by_backward = is_by_backward(b, b->allocs.data[at]);
  if (!freed->is_by_backward || freed->is_of_backward || freed->alloc == VS_NO_REQUEST) return VS_OK;
  VS_TRY(vs_vec_reserve(b->host, &b->frees, 1));
  b->frees.data[b->frees.count++] = at;
  return VS_OK;
}

static vs_status blocks_note(builder *b) {
  uint32_t alloc = VS_NO_REQUEST;
  b->last_failure = VS_NO_REQUEST;
  for (uint32_t row = 0; row < b->blocks.count; row++)
    b->blocks.data[row].alloc = b->blocks.data[row].free = VS_NO_REQUEST;
  for (uint32_t at = 0; at < b->plan->requests.count; at++) {
    if (b->calls->passes.data[at] != VS_PASS_NONE) alloc = at;
    b->allocs.data[at] = alloc;
    if (is_kind(b, at, VS_REPLAY_FREE)) VS_TRY(free_note(b, at));
    if (is_kind(b, at, VS_REPLAY_FAIL)) b->last_failure = at;
    if (!is_kind(b, at, VS_REPLAY_ALLOC)) continue;
    block_of(b, at)->alloc = at;
    block_of(b, at)->is_of_backward = b->calls->passes.data[at] == VS_PASS_BACKWARD;
    if (block_of(b, at)->is_of_backward) b->last_failure = VS_NO_REQUEST;
  }
  return VS_OK;
}

static bool is_live_behind(const tracked *block, const vs_function_call *call) {
  return block->free == VS_NO_REQUEST || block->free > call->next;
}

/* Its end is not recorded: it is never freed, or only where the program gave up. */
static bool is_endless(const builder *b, const tracked *block) {
  return block->free == VS_NO_REQUEST || (b->last_failure != VS_NO_REQUEST && block->free > b->last_failure);
}

static uint32_t earlier(uint32_t a, uint32_t b) { return a < b ? a : b; }
static uint32_t later(uint32_t a, uint32_t b) { return a > b ? a : b; }

/* ---- what calls save ------------------------------------------------------------------------------------- */

static void saved_add(const vs_function_call *call, call_facts *facts, tracked *saved) {
  VS_ASSERT(saved->alloc >= call->first && saved->alloc <= call->last);
  saved->role = SAVED;
  saved->function = (uint8_t)call->function;
  facts->blocks++;
  facts->last_alloc = facts->blocks == 1 ? saved->alloc : later(facts->last_alloc, saved->alloc);
  if (!saved->is_by_backward) {
    facts->is_endless = true;
    return;
  }
  if (facts->first_free == VS_NO_REQUEST) facts->first_free = facts->last_free = saved->free;
  facts->first_free = earlier(facts->first_free, saved->free);
  facts->last_free = later(facts->last_free, saved->free);
}

/* The block of the call that the backward pass frees first; VS_NO_ROW: it frees none. */
static uint32_t first_freed(builder *b, const vs_function_call *call) {
  uint32_t first = VS_NO_ROW;
  for (uint32_t at = call->first; at <= call->last; at++) {
    if (!is_kind(b, at, VS_REPLAY_ALLOC) || !block_of(b, at)->is_by_backward ||
        !is_live_behind(block_of(b, at), call))
      continue;
    if (first == VS_NO_ROW || block_of(b, at)->free < b->blocks.data[first].free)
      first = request_at(b, at)->lifetime;
  }
  return first;
}

/* The block that stays and was allocated behind all that the backward pass frees, but for `first`; VS_NO_ROW: none was. Where it
 * frees nothing else, a block that is never freed may be a cache, and is not taken for the result. */
static uint32_t held_result(builder *b, const vs_function_call *call, uint32_t first) {
  uint32_t held = VS_NO_ROW;
  bool is_any = false;
  for (uint32_t at = call->first; at <= call->last; at++) {
    const uint32_t row = request_at(b, at)->lifetime;
    if (!is_kind(b, at, VS_REPLAY_ALLOC) || row == first || !is_live_behind(block_of(b, at), call)) continue;
    held = block_of(b, at)->is_by_backward ? VS_NO_ROW : row;
    is_any |= block_of(b, at)->is_by_backward;
  }
  return is_any || (held != VS_NO_ROW && !is_endless(b, &b->blocks.data[held])) ? held : VS_NO_ROW;
}

static void call_judge(builder *b, const vs_function_call *call, call_facts *facts) {
  *facts = (call_facts){.result = VS_NO_ROW, .first_free = VS_NO_REQUEST, .last_free = VS_NO_REQUEST};
  if (call->next == VS_NO_REQUEST) return;
  const uint32_t first = first_freed(b, call);
  if (first == VS_NO_ROW) return;
  facts->result = held_result(b, call, first);
  if (facts->result == VS_NO_ROW) facts->result = first;
  b->blocks.data[facts->result].role = RESULT;
  for (uint32_t at = call->first; at <= call->last; at++) {
    if (!is_kind(b, at, VS_REPLAY_ALLOC) || request_at(b, at)->lifetime == facts->result) continue;
    tracked *found = block_of(b, at);
    if (found->is_by_backward && is_live_behind(found, call)) saved_add(call, facts, found);
  }
}

/* The frees of `frees` in [from, to): the index of the first of them. */
static size_t frees_from(const builder *b, uint32_t from) {
  size_t low = 0, high = b->frees.count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (b->frees.data[middle] < from) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* How many allocations of the result's size come right before its free, with no other between and no free of another block of the
 * forward pass; counts no further than one more than the operation itself and a sum of gradients make. */
static unsigned allocs_of_its_size(const builder *b, const tracked *result) {
  const size_t place = frees_from(b, result->free);
  const uint32_t since = place == 0 ? result->alloc : b->frees.data[place - 1];
  unsigned count = 0;
  for (uint32_t at = b->allocs.data[result->free]; at > since && count <= MOST_OWN_ALLOCS;
       at = b->allocs.data[at - 1]) {
    if (request_at(b, at)->size != size_of(b, result)) break;
    count++;
  }
  return count;
}

/* Whether the operation that made the result may have saved it: see the header. */
static bool may_save_result(const builder *b, const call_facts *facts) {
  const tracked *result = &b->blocks.data[facts->result];
  if (!result->is_by_backward) return is_endless(b, result);
  const size_t next = frees_from(b, result->free) + 1;
  const unsigned allocs = allocs_of_its_size(b, result);
  VS_ASSERT(b->frees.data[next - 1] == result->free);
  return next < b->frees.count && b->frees.data[next] == facts->first_free && allocs > 0 &&
         allocs <= MOST_OWN_ALLOCS;
}

static uint64_t inside_of(const builder *b, uint32_t at) {
  return vs_function_calls_inside(b->calls, b->snapshot, vs_request_stack(b->plan, at));
}

static vs_status results_judge(builder *b) {
  for (size_t i = 0; i < b->facts.count; i++) {
    const call_facts *facts = &b->facts.data[i];
    if (facts->result == VS_NO_ROW || facts->blocks == 0 || may_save_result(b, facts)) continue;
    const uint64_t inside = inside_of(b, b->blocks.data[facts->result].alloc);
    if (vs_map_find(&b->others, inside) != VS_MAP_NONE) continue;
    VS_TRY(vs_map_reserve(b->host, &b->others));
    vs_map_add(&b->others, inside, 0);
  }
  for (size_t i = 0; i < b->facts.count; i++) {
    call_facts *facts = &b->facts.data[i];
    if (facts->result == VS_NO_ROW || facts->blocks == 0) continue;
    const tracked *result = &b->blocks.data[facts->result];
    facts->saves_result =
        result->is_by_backward && vs_map_find(&b->others, inside_of(b, result->alloc)) == VS_MAP_NONE;
    if (facts->saves_result) facts->last_alloc = later(facts->last_alloc, result->alloc);
  }
  return VS_OK;
}

/* ---- calls without a recorded backward pass ---------------------------------------------------------------- */

/* The votes of a block's place in its function: its stack there, and how many blocks of the call had that stack before. */
static vs_status votes_of(builder *b, uint32_t call, uint32_t at, votes **out) {
  const uint64_t inside = inside_of(b, at), key = vs_hash_mix(inside, vs_hash_u64(call + UINT64_C(1)));
  size_t slot = vs_map_find(&b->met, key);
  if (slot == VS_MAP_NONE) {
    VS_TRY(vs_map_reserve(b->host, &b->met));
    vs_map_add(&b->met, key, 0);
    slot = vs_map_find(&b->met, key);
  }
  const uint64_t place = vs_hash_mix(inside, vs_hash_u64(~(uint64_t)b->met.slots[slot].value++));
  slot = vs_map_find(&b->place_votes, place);
  if (slot == VS_MAP_NONE) {
    VS_TRY(vs_map_reserve(b->host, &b->place_votes));
    VS_TRY(vs_vec_reserve(b->host, &b->votes, 1));
    vs_map_add(&b->place_votes, place, (uint32_t)b->votes.count);
    b->votes.data[b->votes.count++] = (votes){0};
    slot = vs_map_find(&b->place_votes, place);
  }
  *out = &b->votes.data[b->place_votes.slots[slot].value];
  return VS_OK;
}

static vs_status votes_count(builder *b) {
  for (uint32_t i = 0; i < b->facts.count; i++) {
    const vs_function_call *call = &b->calls->list.data[i];
    for (uint32_t at = call->first; at <= call->last && b->facts.data[i].blocks != 0; at++) {
      votes *place;
      if (!is_kind(b, at, VS_REPLAY_ALLOC)) continue;
      VS_TRY(votes_of(b, i, at, &place));
      if (is_endless(b, block_of(b, at))) continue;
      if (block_of(b, at)->role == SAVED) place->saved++;
      else place->others++;
    }
  }
  return VS_OK;
}

static vs_status votes_apply(builder *b) {
  vs_map_clear(&b->met);
  for (uint32_t i = 0; i < b->facts.count; i++) {
    const vs_function_call *call = &b->calls->list.data[i];
    for (uint32_t at = call->first; at <= call->last && call->next != VS_NO_REQUEST; at++) {
      const votes *place;
      if (!is_kind(b, at, VS_REPLAY_ALLOC)) continue;
      VS_TRY(votes_of(b, i, at, (votes **)&place));
      if (is_endless(b, block_of(b, at)) && place->saved > place->others)
        saved_add(call, &b->facts.data[i], block_of(b, at));
    }
  }
  return VS_OK;
}

/* ---- inserted requests ----------------------------------------------------------------------------------- */

static vs_status insert(builder *b, uint32_t before, uint32_t row, vs_replay_request request) {
  VS_ASSERT(before > 0 && before <= b->plan->requests.count);
  VS_TRY(vs_vec_reserve(b->host, &b->out->inserts, 1));
  request.event = request_at(b, before - 1)->event;
  b->out->inserts.data[b->out->inserts.count++] =
      (vs_checkpoint_insert){.before = before, .row = row, .request = request};
  return VS_OK;
}

static vs_status insert_free(builder *b, uint32_t before, uint32_t row, uint32_t lifetime) {
  return insert(b, before, row,
                (vs_replay_request){.lifetime = lifetime, .kind = VS_REPLAY_FREE, .is_prompt = true});
}

/* The ALLOC `at` again. */
static vs_status insert_alloc(builder *b, uint32_t before, uint32_t at, uint32_t lifetime) {
  vs_replay_request request = *request_at(b, at);
  request.lifetime = lifetime;
  request.was_refused = false;
  return insert(b, before, request_at(b, at)->lifetime, request);
}

static uint32_t lifetime_of_copy(const builder *b, uint32_t copy) {
  return (uint32_t)b->blocks.count + copy - 1;
}

static vs_status copy_free(builder *b, uint32_t before, uint32_t row) {
  const uint32_t copy = b->blocks.data[row].copy;
  b->blocks.data[row].copy = 0;
  return copy == 0 ? VS_OK : insert_free(b, before, row, lifetime_of_copy(b, copy));
}

/* Computes the allocation `at` again: as the block itself if it is saved, else as a copy. What is never freed was made once. */
static vs_status alloc_again(builder *b, uint32_t before, uint32_t at, const call_facts *facts,
                             uint32_t *copies) {
  const uint32_t row = request_at(b, at)->lifetime;
  tracked *again = &b->blocks.data[row];
  if (again->role == SAVED || (row == facts->result && facts->saves_result))
    return insert_alloc(b, before, at, row);
  if (again->free == VS_NO_REQUEST) return VS_OK;
  again->copy = ++*copies;
  b->out->copies = later(b->out->copies, *copies);
  return insert_alloc(b, before, at, lifetime_of_copy(b, again->copy));
}

static vs_status call_again(builder *b, const vs_function_call *call, const call_facts *facts,
                            uint32_t before) {
  uint32_t copies = 0;
  if (facts->saves_result) VS_TRY(insert_free(b, before, facts->result, facts->result));
  for (uint32_t at = call->first; at <= facts->last_alloc; at++) {
    if (is_kind(b, at, VS_REPLAY_ALLOC)) VS_TRY(alloc_again(b, before, at, facts, &copies));
    if (is_kind(b, at, VS_REPLAY_FREE)) VS_TRY(copy_free(b, before, request_at(b, at)->lifetime));
  }
  for (uint32_t at = call->first; at <= facts->last_alloc; at++)
    if (is_kind(b, at, VS_REPLAY_ALLOC)) VS_TRY(copy_free(b, before, request_at(b, at)->lifetime));
  b->out->functions.data[call->function].recomputed++;
  return VS_OK;
}

/* Before the first allocation, and at most before `until`, behind the last free of a block of the forward pass; else before the
 * first allocation of the backward pass. */
static uint32_t backward_begin(const builder *b, const vs_function_call *call, uint32_t until) {
  const size_t next = frees_from(b, until);
  const bool is_any = next > 0 && b->frees.data[next - 1] > call->last;
  const vs_request_pass from = is_any ? VS_PASS_OTHER : VS_PASS_BACKWARD;
  uint32_t at = is_any ? b->frees.data[next - 1] + 1 : call->next;
  VS_ASSERT(until > call->last);
  while (at < until && b->calls->passes.data[at] < from) at++;
  return at;
}

static uint32_t begin_of(builder *b, const vs_function_call *call, const call_facts *facts) {
  if (!facts->saves_result) return backward_begin(b, call, facts->first_free);
  return b->allocs.data[b->blocks.data[facts->result].free];
}

/* An argument is freed behind the backward pass of the call; never where that is not recorded. */
static void argument_hold(tracked *argument, const call_facts *facts) {
  const bool is_recorded = facts->first_free != VS_NO_REQUEST && !facts->is_endless;
  argument->freed_at = later(argument->freed_at, is_recorded ? facts->last_free + 1 : VS_NO_REQUEST);
}

/* Where the newest block of the result's size that is live at the call is freed by the program before the call's backward pass, it is
 * the argument, which the caller holds. */
static void caller_holds(builder *b, const vs_function_call *call, const call_facts *facts) {
  const uint64_t size = facts->result == VS_NO_ROW ? 0 : size_of(b, &b->blocks.data[facts->result]);
  uint32_t at = call->first;
  for (int i = 0; i < MOST_BEFORE && at != 0 && b->allocs.data[at - 1] != VS_NO_REQUEST; i++) {
    at = b->allocs.data[at - 1];
    if (!is_kind(b, at, VS_REPLAY_ALLOC) || request_at(b, at)->size != size) continue;
    tracked *older = block_of(b, at);
    if (older->free < call->first || older->is_of_backward) continue;
    if (!older->is_by_backward && older->free != VS_NO_REQUEST && older->free < facts->first_free)
      argument_hold(older, facts);
    return;
  }
}

static void arguments_hold(builder *b, const vs_function_call *call, const call_facts *facts) {
  bool is_any = false;
  for (uint32_t at = call->first; at < call->next; at++) {
    if (!is_kind(b, at, VS_REPLAY_FREE)) continue;
    tracked *argument = block_of(b, at);
    if ((argument->alloc != VS_NO_REQUEST && argument->alloc >= call->first) || argument->is_of_backward)
      continue;
    argument_hold(argument, facts);
    is_any = true;
  }
  if (!is_any) caller_holds(b, call, facts);
}

static vs_status saved_free(builder *b, const vs_function_call *call) {
  for (uint32_t at = call->first; at <= call->last; at++)
    if (is_kind(b, at, VS_REPLAY_ALLOC) && block_of(b, at)->role == SAVED)
      VS_TRY(insert_free(b, call->last + 1, request_at(b, at)->lifetime, request_at(b, at)->lifetime));
  return VS_OK;
}

static vs_status call_checkpoint(builder *b, const vs_function_call *call, const call_facts *facts) {
  if (facts->blocks == 0) return VS_OK;
  VS_TRY(saved_free(b, call));
  arguments_hold(b, call, facts);
  return facts->first_free == VS_NO_REQUEST ? VS_OK : call_again(b, call, facts, begin_of(b, call, facts));
}

/* A request of the backward pass failed last: that pass may have begun with the last call of which it has freed nothing. */
static vs_status failed_call_again(builder *b) {
  const uint32_t failure = b->last_failure;
  if (failure == VS_NO_REQUEST || b->calls->passes.data[failure] != VS_PASS_BACKWARD) return VS_OK;
  for (size_t i = b->facts.count; i-- > 0;) {
    const vs_function_call *call = &b->calls->list.data[i];
    const call_facts *facts = &b->facts.data[i];
    if (call->last > failure || facts->blocks == 0) continue;
    if (facts->is_endless && facts->first_free == VS_NO_REQUEST)
      return call_again(b, call, facts, backward_begin(b, call, failure));
    if (facts->is_endless) return VS_OK; /* its backward pass is under way */
  }
  return VS_OK;
}

static vs_status moved_free(builder *b) {
  for (uint32_t row = 0; row < b->blocks.count; row++) {
    const uint32_t at = b->blocks.data[row].freed_at;
    if (at == 0) continue;
    set_bit(b->out->moved.data, row);
    if (at != VS_NO_REQUEST) VS_TRY(insert_free(b, at, row, row));
  }
  return VS_OK;
}

static bool is_before(const void *ctx, uint32_t left, uint32_t right) {
  const vs_checkpoint_insert *inserts = ctx;
  return inserts[left].before < inserts[right].before;
}

static vs_status inserts_make(builder *b) {
  for (size_t i = 0; i < b->facts.count; i++)
    VS_TRY(call_checkpoint(b, &b->calls->list.data[i], &b->facts.data[i]));
  VS_TRY(failed_call_again(b));
  VS_TRY(moved_free(b));
  return vs_arrange(b->host, b->out->inserts.data, b->out->inserts.count, sizeof *b->out->inserts.data,
                    is_before, b->out->inserts.data);
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

/* What is saved of each function, and the bits of the saved blocks. */
static void functions_sum(builder *b) {
  uint64_t live[VS_MOST_FUNCTIONS] = {0};
  for (uint32_t i = 0; i < b->facts.count; i++)
    b->out->functions.data[b->calls->list.data[i].function].calls++;
  for (uint32_t at = 0; at < b->plan->requests.count; at++) {
    if (!is_kind(b, at, VS_REPLAY_ALLOC) && !is_kind(b, at, VS_REPLAY_FREE)) continue;
    const tracked *saved = block_of(b, at);
    if (saved->role != SAVED) continue;
    vs_checkpointed *sum = &b->out->functions.data[saved->function];
    const uint64_t size = size_of(b, saved);
    if (at == saved->free) {
      live[saved->function] -= size;
      continue;
    }
    set_bit(b->out->saved.data, request_at(b, at)->lifetime);
    sum->blocks++;
    sum->bytes = vs_sat_add_u64(sum->bytes, size);
    live[saved->function] += size;
    sum->most_bytes = vs_max_u64(sum->most_bytes, live[saved->function]);
  }
}

static vs_status prepare(builder *b, size_t functions) {
  const size_t rows = b->plan->lifetimes->rows.count, requests = b->plan->requests.count;
  VS_TRY(FILL(b->host, &b->blocks, rows));
  VS_TRY(FILL(b->host, &b->allocs, requests));
  VS_TRY(FILL(b->host, &b->facts, b->calls->list.count));
  VS_TRY(FILL(b->host, &b->out->saved, rows / 64 + 1));
  VS_TRY(FILL(b->host, &b->out->moved, rows / 64 + 1));
  return FILL(b->host, &b->out->functions, functions);
}

static vs_status build(builder *b, size_t functions) {
  VS_TRY(prepare(b, functions));
  memcpy(b->out->told, b->calls->told, sizeof b->out->told);
  VS_TRY(blocks_note(b));
  for (size_t i = 0; i < b->facts.count; i++) call_judge(b, &b->calls->list.data[i], &b->facts.data[i]);
  VS_TRY(votes_count(b));
  VS_TRY(votes_apply(b));
  VS_TRY(results_judge(b));
  VS_TRY(inserts_make(b));
  functions_sum(b);
  return VS_OK;
}

static vs_status build_of_calls(const vs_host *host, const vs_replay_plan *plan,
                                const vs_function_calls *calls, size_t functions, vs_checkpoint *out) {
  builder b = {
      .host = host, .plan = plan, .snapshot = plan->lifetimes->slice->snapshot, .calls = calls, .out = out};
  const vs_status status = build(&b, functions);
  vs_vec_free(host, &b.blocks);
  vs_vec_free(host, &b.facts);
  vs_vec_free(host, &b.frees);
  vs_vec_free(host, &b.allocs);
  vs_vec_free(host, &b.votes);
  vs_map_deinit(host, &b.place_votes);
  vs_map_deinit(host, &b.others);
  vs_map_deinit(host, &b.met);
  return status;
}

vs_status vs_checkpoint_build(const vs_host *host, const vs_replay_plan *plan, vs_frames *frames,
                              const vs_str *functions, size_t count, vs_error *error, vs_checkpoint *out) {
  vs_passes passes;
  vs_function_calls calls = {0};
  *out = (vs_checkpoint){0};
  VS_TRY(vs_passes_init(host, frames, &passes));
  vs_status status = vs_function_calls_find(host, plan, &passes, functions, count, error, &calls);
  if (status == VS_OK) status = build_of_calls(host, plan, &calls, count, out);
  vs_function_calls_deinit(host, &calls);
  vs_passes_deinit(host, &passes);
  if (status != VS_OK) vs_checkpoint_deinit(host, out);
  return status;
}

void vs_checkpoint_deinit(const vs_host *host, vs_checkpoint *checkpoint) {
  vs_vec_free(host, &checkpoint->inserts);
  vs_vec_free(host, &checkpoint->saved);
  vs_vec_free(host, &checkpoint->moved);
  vs_vec_free(host, &checkpoint->functions);
}
