#include "analyze/function_calls.h"
#include "base/nearest.h"

enum { MOST_PERIOD = 64 }; /* first stacks in one call, while a repetition is looked for */

typedef VS_VEC(uint64_t) hashes;

typedef struct finder {
  const vs_host *host;
  const vs_replay_plan *plan;
  const vs_snapshot *snapshot;
  vs_passes *passes;
  vs_function_calls *out;
  VS_VEC(uint32_t) allocs; /* the plan's ALLOCs and FAILs */
  VS_VEC(uint32_t) starts; /* of the run: indices into allocs at which a call may begin */
  hashes pieces;           /* one for each of them */
  vs_map functions;        /* file and name of a frame at the line */
  vs_map places;           /* hashes of what called it */
} finder;

uint32_t vs_request_stack(const vs_replay_plan *plan, uint32_t request) {
  const vs_slice *slice = plan->lifetimes->slice;
  VS_ASSERT(request < plan->requests.count);
  return vs_events_stack(&slice->snapshot->events, vs_slice_row(slice, plan->requests.data[request].event));
}

/* ---- functions ------------------------------------------------------------------------------------------- */

/* FILE:LINE, FILE:NAME or NAME. */
typedef struct wanted {
  vs_str file, name; /* the file is empty for NAME */
  int64_t line;      /* 0: by name */
} wanted;

/* "::" of a C++ name is no separator. */
static wanted read_function(vs_str text) {
  size_t colon = text.size;
  while (colon > 0 && text.data[colon - 1] != ':') colon--;
  if (colon < 2 || text.data[colon - 2] == ':') return (wanted){.name = text};
  wanted w = {.file = {text.data, colon - 1}, .name = {text.data + colon, text.size - colon}};
  if (!vs_parse_i64(w.name, &w.line) || w.line <= 0) w.line = 0;
  return w;
}

static const vs_frame *frame_at(const finder *f, uint32_t frame) {
  VS_ASSERT(frame < f->snapshot->stacks.frames.count);
  return &f->snapshot->stacks.frames.data[frame];
}

static bool is_python(finder *f, uint32_t frame) {
  const vs_frame_kind kind = vs_frames_kind(f->passes->frames, frame);
  return (kind == VS_FRAME_KIND_user || kind == VS_FRAME_KIND_library) && frame_at(f, frame)->is_forward == 0;
}

static bool is_wanted(finder *f, const wanted *w, uint32_t frame) {
  const vs_frame *at = frame_at(f, frame);
  if (w->line != 0 ? at->line != w->line : !vs_str_equal(vs_snapshot_string(f->snapshot, at->name), w->name))
    return false;
  return is_python(f, frame) &&
         (w->file.size == 0 || vs_path_ends_with(vs_snapshot_string(f->snapshot, at->file), w->file));
}

static uint64_t function_of(const vs_frame *frame) { return (uint64_t)frame->file << 32 | frame->name; }
static uint64_t hash_next(uint64_t hash, uint64_t value) {
  return vs_hash_mix(hash ^ vs_hash_u64(value), UINT64_C(0x8bb84b93962eacc9));
}

static vs_status set_put(const vs_host *host, vs_map *set, uint64_t key) {
  if (vs_map_find(set, key) != VS_MAP_NONE) return VS_OK;
  VS_TRY(vs_map_reserve(host, set));
  vs_map_add(set, key, 0);
  return VS_OK;
}

static bool set_has(const vs_map *set, uint64_t key) { return vs_map_find(set, key) != VS_MAP_NONE; }

/* What a frame of a stack was called from: the hash of the frames outside of it. Calls `visit` for each, outermost first. */
static vs_status stack_visit(finder *f, uint32_t stack, uint32_t function,
                             vs_status (*visit)(finder *, uint32_t frame, uint64_t place,
                                                uint32_t function)) {
  const vs_list list = vs_stacks_at(&f->snapshot->stacks, stack);
  uint64_t place = 0;
  for (uint32_t i = list.count; i-- > 0;) {
    VS_TRY(visit(f, list.items[i], place, function));
    place = hash_next(place, list.items[i]);
  }
  return VS_OK;
}

static vs_status stacks_visit(finder *f, uint32_t function,
                              vs_status (*visit)(finder *, uint32_t frame, uint64_t place,
                                                 uint32_t function)) {
  const uint32_t stacks = vs_lists_count(&f->snapshot->stacks.lists);
  for (uint32_t stack = 0; stack < stacks; stack++) VS_TRY(stack_visit(f, stack, function, visit));
  return VS_OK;
}

static vs_status places_collect(finder *f, uint32_t frame, uint64_t place, uint32_t function) {
  return f->out->of_frame.data[frame] == function + 1 ? set_put(f->host, &f->places, place) : VS_OK;
}

/* A frame of the same file and name, called from where a frame at the line was called. */
static vs_status frames_collect(finder *f, uint32_t frame, uint64_t place, uint32_t function) {
  if (set_has(&f->functions, function_of(frame_at(f, frame))) && set_has(&f->places, place) &&
      is_python(f, frame))
    f->out->of_frame.data[frame] = (uint8_t)(function + 1);
  return VS_OK;
}

/* The other lines of the function that has the line. */
static vs_status lines_collect(finder *f, uint32_t function) {
  vs_map_clear(&f->functions);
  vs_map_clear(&f->places);
  for (uint32_t i = 0; i < f->out->of_frame.count; i++)
    if (f->out->of_frame.data[i] == function + 1)
      VS_TRY(set_put(f->host, &f->functions, function_of(frame_at(f, i))));
  VS_TRY(stacks_visit(f, function, places_collect));
  return stacks_visit(f, function, frames_collect);
}

/* Offers what the text may have meant: names of functions, with the file where it has one. */
static vs_status unknown_function(finder *f, vs_str text, const wanted *w, vs_error *error) {
  vs_nearest nearest = vs_nearest_to(w->line == 0 ? w->name : vs_path_base(w->file));
  bool has_python = false;
  for (uint32_t i = 0; i < f->snapshot->stacks.frames.count; i++) {
    const vs_frame *at = frame_at(f, i);
    if (!is_python(f, i)) continue;
    has_python = true;
    vs_nearest_offer(&nearest, w->line == 0 ? vs_snapshot_string(f->snapshot, at->name)
                                            : vs_path_base(vs_snapshot_string(f->snapshot, at->file)));
  }
  if (!has_python)
    return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET,
                   "checkpoint: the recording has no Python stacks, so no function is known; record with "
                   "stacks=\"python\" or \"all\"");
  if (nearest.best.size == 0 || vs_str_equal(nearest.best, nearest.typed))
    return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET,
                   "checkpoint: no Python function '%S' is on a recorded stack", text);
  return vs_fail(error, VS_NOT_FOUND, VS_NO_OFFSET,
                 "checkpoint: no Python function '%S' is on a recorded stack; did you mean '%S'?", text,
                 nearest.best);
}

static vs_status function_mark(finder *f, vs_str text, uint32_t function, vs_error *error) {
  const wanted w = read_function(text);
  bool is_any = false;
  for (uint32_t i = 0; i < f->out->of_frame.count; i++) {
    if (!is_wanted(f, &w, i)) continue;
    is_any = true;
    if (f->out->of_frame.data[i] == 0) f->out->of_frame.data[i] = (uint8_t)(function + 1);
  }
  if (!is_any) return unknown_function(f, text, &w, error);
  return w.line != 0 ? lines_collect(f, function) : VS_OK;
}

static void depths_find(finder *f) {
  for (uint32_t stack = 0; stack < f->out->depths.count; stack++) {
    const vs_list list = vs_stacks_at(&f->snapshot->stacks, stack);
    for (uint32_t i = 0; i < list.count; i++)
      if (f->out->of_frame.data[list.items[i]] != 0) f->out->depths.data[stack] = i + 1;
  }
}

uint64_t vs_function_calls_inside(const vs_function_calls *calls, const vs_snapshot *snapshot,
                                  uint32_t stack) {
  const vs_list list = vs_stacks_at(&snapshot->stacks, stack);
  uint64_t hash = 1;
  VS_ASSERT(calls->depths.data[stack] != 0 && calls->depths.data[stack] <= list.count);
  for (uint32_t i = 0; i < calls->depths.data[stack]; i++) hash = hash_next(hash, list.items[i]);
  return hash;
}

/* ---- runs ------------------------------------------------------------------------------------------------ */

static uint32_t stack_at(const finder *f, size_t alloc) {
  VS_ASSERT(alloc < f->allocs.count);
  return vs_request_stack(f->plan, f->allocs.data[alloc]);
}

/* The function's own frame on a stack of a call. */
static uint32_t own_frame(const finder *f, size_t alloc) {
  const uint32_t stack = stack_at(f, alloc);
  VS_ASSERT(f->out->depths.data[stack] != 0);
  return vs_stacks_at(&f->snapshot->stacks, stack).items[f->out->depths.data[stack] - 1];
}

/* The function and what called it: equal within a run. */
static uint64_t run_key(const finder *f, size_t alloc) {
  const vs_list list = vs_stacks_at(&f->snapshot->stacks, stack_at(f, alloc));
  uint64_t hash = f->out->of_frame.data[own_frame(f, alloc)];
  for (uint32_t i = list.count; i > f->out->depths.data[stack_at(f, alloc)]; i--)
    hash = hash_next(hash, list.items[i - 1]);
  return hash;
}

static bool is_call(const finder *f, size_t alloc) {
  return f->out->passes.data[f->allocs.data[alloc]] == VS_PASS_CALL;
}

static vs_status call_add(finder *f, size_t begin, size_t end) {
  VS_ASSERT(begin < end && end <= f->allocs.count);
  VS_TRY(vs_vec_reserve(f->host, &f->out->list, 1));
  f->out->list.data[f->out->list.count++] = (vs_function_call){
      .function = f->out->of_frame.data[own_frame(f, begin)] - 1u,
      .first = f->allocs.data[begin],
      .last = f->allocs.data[end - 1],
      .next = end < f->allocs.count ? f->allocs.data[end] : VS_NO_REQUEST,
  };
  return VS_OK;
}

static vs_status starts_find(finder *f, size_t begin, size_t end, bool by_line) {
  f->starts.count = 0;
  for (size_t i = begin; i < end; i++) {
    if (i != begin && stack_at(f, i) != stack_at(f, begin)) continue;
    if (i != begin && by_line && own_frame(f, i - 1) == own_frame(f, begin)) continue;
    VS_TRY(vs_vec_reserve(f->host, &f->starts, 1));
    f->starts.data[f->starts.count++] = (uint32_t)i;
  }
  return VS_OK;
}

/* Fills `pieces`: for each start, a hash of the stacks (and sizes) of the allocations from it to the next start. */
static vs_status pieces_hash(finder *f, size_t end, bool with_sizes) {
  f->pieces.count = 0;
  VS_TRY(vs_vec_reserve(f->host, &f->pieces, f->starts.count));
  for (size_t i = 0; i < f->starts.count; i++) {
    const size_t until = i + 1 < f->starts.count ? f->starts.data[i + 1] : end;
    uint64_t hash = 0;
    for (size_t j = f->starts.data[i]; j < until; j++) {
      hash = hash_next(hash, stack_at(f, j));
      if (with_sizes) hash = hash_next(hash, f->plan->requests.data[f->allocs.data[j]].size);
    }
    f->pieces.data[f->pieces.count++] = hash;
  }
  return VS_OK;
}

/* The smallest period with which three quarters of the pieces repeat; 0: there is none. */
static size_t period_of(const hashes *pieces) {
  for (size_t period = 1; period <= pieces->count / 2 && period <= MOST_PERIOD; period++) {
    size_t others = 0;
    for (size_t i = period; i < pieces->count; i++) others += pieces->data[i] != pieces->data[i - period];
    if (others * 4 <= pieces->count - period) return period;
  }
  return 0;
}

static bool is_of_one_line(const finder *f, size_t begin, size_t end) {
  for (size_t i = begin; i < end; i++)
    if (own_frame(f, i) != own_frame(f, begin)) return false;
  return true;
}

/* The starts, and how many of them a call has; 0: the run is one call. */
static vs_status repetition_find(finder *f, size_t begin, size_t end, size_t *period, vs_calls_told *told) {
  const bool is_one_line = is_of_one_line(f, begin, end);
  *told = VS_CALLS_LINES;
  *period = 1;
  VS_TRY(starts_find(f, begin, end, !is_one_line));
  if (!is_one_line || f->starts.count == 1) return VS_OK;
  *told = VS_CALLS_SIZES;
  VS_TRY(pieces_hash(f, end, true));
  *period = period_of(&f->pieces);
  if (*period != 0) return VS_OK;
  *told = VS_CALLS_STACKS;
  VS_TRY(pieces_hash(f, end, false));
  *period = period_of(&f->pieces);
  if (*period == 0) *told = VS_CALLS_RUNS;
  return VS_OK;
}

/* The calls of allocs[begin, end), which are of one function and have one caller. */
static vs_status run_split(finder *f, size_t begin, size_t end) {
  size_t period, since = begin;
  vs_calls_told told;
  VS_TRY(repetition_find(f, begin, end, &period, &told));
  const size_t count = f->starts.count;
  f->out->told[VS_CALLS_RUNS] += told == VS_CALLS_RUNS;
  for (size_t i = period; period != 0 && i < count; i++) {
    if ((count - i) % period != 0) continue;
    VS_TRY(call_add(f, since, f->starts.data[i]));
    f->out->told[told]++;
    since = f->starts.data[i];
  }
  return call_add(f, since, end);
}

static vs_status runs_split(finder *f) {
  for (size_t begin = 0, end; begin < f->allocs.count; begin = end) {
    end = begin + 1;
    if (!is_call(f, begin)) continue;
    const uint64_t key = run_key(f, begin);
    while (end < f->allocs.count && is_call(f, end) && run_key(f, end) == key) end++;
    VS_TRY(run_split(f, begin, end));
  }
  return VS_OK;
}

static vs_request_pass pass_of(finder *f, uint32_t stack) {
  if (vs_passes_is_backward(f->passes, stack)) return VS_PASS_BACKWARD;
  return f->out->depths.data[stack] != 0 ? VS_PASS_CALL : VS_PASS_OTHER;
}

static vs_status requests_judge(finder *f) {
  for (uint32_t i = 0; i < f->plan->requests.count; i++) {
    const uint8_t kind = f->plan->requests.data[i].kind;
    if (kind != VS_REPLAY_ALLOC && kind != VS_REPLAY_FAIL) continue;
    VS_TRY(vs_vec_reserve(f->host, &f->allocs, 1));
    f->allocs.data[f->allocs.count++] = i;
    f->out->passes.data[i] = (uint8_t)pass_of(f, vs_request_stack(f->plan, i));
  }
  return VS_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

#define FILL(host, vec, entries)                                                                    \
  (vs_vec_reserve(host, vec, (entries) + 1) == VS_OK                                                \
       ? (memset((vec)->data, 0, (entries) * sizeof *(vec)->data), (vec)->count = (entries), VS_OK) \
       : VS_NO_MEMORY)

static vs_status find(finder *f, const vs_str *functions, size_t count, vs_error *error) {
  VS_TRY(FILL(f->host, &f->out->of_frame, f->snapshot->stacks.frames.count));
  VS_TRY(FILL(f->host, &f->out->depths, vs_lists_count(&f->snapshot->stacks.lists)));
  VS_TRY(FILL(f->host, &f->out->passes, f->plan->requests.count));
  for (uint32_t i = 0; i < count; i++) VS_TRY(function_mark(f, functions[i], i, error));
  depths_find(f);
  VS_TRY(requests_judge(f));
  return runs_split(f);
}

vs_status vs_function_calls_find(const vs_host *host, const vs_replay_plan *plan, vs_passes *passes,
                                 const vs_str *functions, size_t count, vs_error *error,
                                 vs_function_calls *out) {
  *out = (vs_function_calls){0};
  if (count > VS_MOST_FUNCTIONS)
    return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "checkpoint: %u functions at most",
                   (unsigned)VS_MOST_FUNCTIONS);
  finder f = {
      .host = host, .plan = plan, .snapshot = plan->lifetimes->slice->snapshot, .passes = passes, .out = out};
  const vs_status status = find(&f, functions, count, error);
  vs_vec_free(host, &f.allocs);
  vs_vec_free(host, &f.starts);
  vs_vec_free(host, &f.pieces);
  vs_map_deinit(host, &f.functions);
  vs_map_deinit(host, &f.places);
  if (status != VS_OK) vs_function_calls_deinit(host, out);
  return status;
}

void vs_function_calls_deinit(const vs_host *host, vs_function_calls *calls) {
  vs_vec_free(host, &calls->list);
  vs_vec_free(host, &calls->passes);
  vs_vec_free(host, &calls->depths);
  vs_vec_free(host, &calls->of_frame);
}
