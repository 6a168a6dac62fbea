#include "dryrun/sampling.h"
#include "base/check.h"
#include "base/text.h"

/* ---- axes */

static uint32_t position_of(const vs_sampling_axis *axis, uint32_t rank) {
  uint32_t position = 0, weight = 1;
  for (uint32_t i = 0; i < axis->digit_count; i++) {
    position += rank / axis->digits[i].stride % axis->digits[i].size * weight;
    weight *= axis->digits[i].size;
  }
  return position;
}

/* The rank at a position of the axis through rank 0. */
static uint32_t rank_at(const vs_sampling_axis *axis, uint32_t position) {
  uint32_t rank = 0;
  VS_ASSERT(position < axis->size);
  for (uint32_t i = 0; i < axis->digit_count; i++) {
    rank += position % axis->digits[i].size * axis->digits[i].stride;
    position /= axis->digits[i].size;
  }
  return rank;
}

/* How often the pattern of the first `period` ranks repeats, each time `stride` further. */
static size_t repeats_of(const uint32_t *ranks, size_t count, size_t period, uint32_t stride) {
  size_t at = period;
  while (at < count && ranks[at] == ranks[at % period] + at / period * stride) at++;
  return at / period;
}

/* Finds the digits of a group; false if it has no regular pattern. */
static bool set_digits(vs_sampling_axis *axis, const uint32_t *ranks, size_t count) {
  size_t known = 1; /* ranks[0 .. known) are made by the digits so far */
  if (count < 2 || ranks[0] != 0) return false;
  while (known < count) {
    const uint32_t stride = ranks[known];
    if (stride == 0 || axis->digit_count == VS_SAMPLING_DIGITS) return false;
    const size_t repeats = repeats_of(ranks, count, known, stride);
    if (repeats < 2 || count % (known * repeats) != 0) return false;
    axis->digits[axis->digit_count++] = (vs_sampling_digit){stride, (uint32_t)repeats};
    known *= repeats;
  }
  axis->size = (uint32_t)count;
  for (size_t i = 0; i < count; i++)
    if (position_of(axis, ranks[i]) != i) return false;
  return true;
}

static bool is_like(const vs_sampling_axis *a, const vs_sampling_axis *b) {
  return a->digit_count == b->digit_count &&
         memcmp(a->digits, b->digits, a->digit_count * sizeof a->digits[0]) == 0;
}

/* Keeps the order by size; the world, which is the largest, stays the last one. */
static void insert_axis(vs_sampling *sampling, const vs_sampling_axis *axis) {
  size_t at = sampling->axis_count++;
  for (; at > 0 && sampling->axes[at - 1].size > axis->size; at--)
    sampling->axes[at] = sampling->axes[at - 1];
  sampling->axes[at] = *axis;
}

bool vs_sampling_add(vs_sampling *sampling, vs_str name, const uint32_t *ranks, size_t count) {
  vs_sampling_axis axis = {.size = 0};
  if (count < 2 || count >= sampling->world) return true;
  if (ranks[count - 1] >= sampling->world) return false;
  if (!set_digits(&axis, ranks, count)) return false;
  for (size_t i = 0; i < sampling->axis_count; i++)
    if (is_like(&sampling->axes[i], &axis)) return true;
  if (sampling->axis_count == VS_SAMPLING_AXES) return false;
  vs_format(axis.name, sizeof axis.name, "%S", name);
  insert_axis(sampling, &axis);
  return true;
}

void vs_sampling_init(vs_sampling *sampling, const vs_host *host, uint32_t world, uint32_t most) {
  VS_ASSERT(world >= 1 && most >= 1);
  *sampling = (vs_sampling){.host = host, .world = world, .most = most, .axis_count = 1};
  sampling->axes[0] = (vs_sampling_axis){.digits = {{1, world}}, .digit_count = 1, .size = world};
}

void vs_sampling_deinit(vs_sampling *sampling) {
  for (size_t i = 0; i < sampling->axis_count; i++) vs_vec_free(sampling->host, &sampling->axes[i].samples);
  vs_vec_free(sampling->host, &sampling->runs);
}

/* ---- intervals and cells */

static bool is_world(const vs_sampling *sampling, const vs_sampling_axis *axis) {
  return axis == &sampling->axes[sampling->axis_count - 1];
}

/* A number that positions of one interval have in common. Those between two samples that differ are in an interval without a sample:
 * they are unknown. An axis without samples says nothing of others than its first position; but the world beside
 * other axes, which is only a check. */
static uint64_t interval_of(const vs_sampling *sampling, const vs_sampling_axis *axis, uint32_t position) {
  const size_t count = axis->samples.count;
  const vs_sampling_sample *samples = axis->samples.data;
  uint64_t interval = 0;
  if (count < 2) return is_world(sampling, axis) && sampling->axis_count > 1 ? 0 : position;
  for (size_t i = 1; i < count && samples[i - 1].position < position; i++) {
    const bool differs = samples[i].surprise != samples[i - 1].surprise;
    if (differs) interval += position < samples[i].position ? 1 : 2;
  }
  return interval;
}

/* Whether the axes that were sampled have both ranks in one cell. */
static bool share_cell(const vs_sampling *sampling, uint32_t a, uint32_t b) {
  for (size_t i = 0; i < sampling->done_count; i++) {
    const vs_sampling_axis *axis = &sampling->axes[i];
    const uint32_t at_a = position_of(axis, a), at_b = position_of(axis, b);
    if (at_a != at_b && interval_of(sampling, axis, at_a) != interval_of(sampling, axis, at_b)) return false;
  }
  return true;
}

static size_t find_run(const vs_sampling *sampling, uint32_t rank) {
  for (size_t i = 0; i < sampling->runs.count; i++)
    if (sampling->runs.data[i].rank == rank) return i;
  return SIZE_MAX;
}

size_t vs_sampling_run_of(const vs_sampling *sampling, uint32_t rank) {
  const size_t own = find_run(sampling, rank);
  if (own != SIZE_MAX) return own;
  for (size_t i = 0; i < sampling->runs.count; i++)
    if (share_cell(sampling, sampling->runs.data[i].rank, rank)) return i;
  return SIZE_MAX;
}

/* ---- runs. Each of these functions returns VS_LIMIT when no more may run. */

static vs_status run_rank(vs_sampling *sampling, vs_sampling_try try, uint32_t rank, size_t *run) {
  *run = find_run(sampling, rank);
  if (*run != SIZE_MAX) return VS_OK;
  sampling->is_limited |= sampling->runs.count >= sampling->most;
  if (sampling->is_limited || sampling->is_stopped) return VS_LIMIT;
  VS_TRY(vs_vec_reserve(sampling->host, &sampling->runs, 1));
  uint32_t outcome;
  sampling->is_stopped = !try.run(try.ctx, rank, &outcome);
  if (sampling->is_stopped) return VS_LIMIT;
  *run = sampling->runs.count;
  sampling->runs.data[sampling->runs.count++] = (vs_sampling_run){rank, outcome};
  return VS_OK;
}

/* The outcome that the axes before this one expect: that of the first run in the rank's cell. */
static uint32_t expected(const vs_sampling *sampling, uint32_t rank) {
  for (size_t i = 0; i < sampling->runs.count; i++)
    if (share_cell(sampling, sampling->runs.data[i].rank, rank)) return sampling->runs.data[i].outcome;
  return UINT32_MAX;
}

static vs_status take_sample(vs_sampling *sampling, vs_sampling_try try, vs_sampling_axis *axis,
                             uint32_t position) {
  const uint32_t rank = rank_at(axis, position), wanted = expected(sampling, rank);
  const size_t runs = sampling->runs.count;
  size_t run, at = 0;
  while (at < axis->samples.count && axis->samples.data[at].position < position) at++;
  if (at < axis->samples.count && axis->samples.data[at].position == position) return VS_OK;
  VS_TRY(vs_vec_reserve(sampling->host, &axis->samples, 1));
  VS_TRY(run_rank(sampling, try, rank, &run));
  const uint32_t outcome = sampling->runs.data[run].outcome;
  const bool is_surprise = outcome != wanted && wanted != UINT32_MAX;
  for (size_t i = axis->samples.count++; i > at; i--) axis->samples.data[i] = axis->samples.data[i - 1];
  axis->samples.data[at] = (vs_sampling_sample){position, is_surprise ? outcome + 1 : 0};
  if (sampling->axis_count == 1 || !is_world(sampling, axis) || sampling->runs.count == runs) return VS_OK;
  sampling->check_count++;
  sampling->failed_count += is_surprise;
  return VS_OK;
}

/* The middle of the widest pair of neighbours that differ and are not next to each other; false if there is none. */
static bool find_gap(const vs_sampling_axis *axis, uint32_t *middle) {
  uint32_t widest = 1;
  for (size_t i = 1; i < axis->samples.count; i++) {
    const vs_sampling_sample *a = &axis->samples.data[i - 1], *b = a + 1;
    const uint32_t width = b->position - a->position;
    if (a->surprise == b->surprise || width <= widest) continue;
    widest = width;
    *middle = a->position + width / 2;
  }
  return widest > 1;
}

static vs_status sample_axis(vs_sampling *sampling, vs_sampling_try try, vs_sampling_axis *axis) {
  uint32_t middle;
  VS_TRY(take_sample(sampling, try, axis, 0));
  VS_TRY(take_sample(sampling, try, axis, axis->size - 1));
  VS_TRY(take_sample(sampling, try, axis, axis->size > 1));
  VS_TRY(take_sample(sampling, try, axis, axis->size / 2));
  for (size_t i = 0; is_world(sampling, axis) && i < sampling->runs.count; i++)
    VS_TRY(take_sample(sampling, try, axis, sampling->runs.data[i].rank)); /* which takes no run */
  while (find_gap(axis, &middle)) VS_TRY(take_sample(sampling, try, axis, middle));
  return VS_OK;
}

static vs_status fill_cells(vs_sampling *sampling, vs_sampling_try try) {
  for (uint32_t rank = 0; rank < sampling->world; rank++) {
    size_t run;
    if (vs_sampling_run_of(sampling, rank) == SIZE_MAX) VS_TRY(run_rank(sampling, try, rank, &run));
  }
  return VS_OK;
}

static vs_status find(vs_sampling *sampling, vs_sampling_try try) {
  size_t run;
  VS_TRY(run_rank(sampling, try, 0, &run));
  for (size_t i = 0; i < sampling->axis_count; i++) {
    VS_TRY(sample_axis(sampling, try, &sampling->axes[i]));
    sampling->done_count = i + 1;
    VS_TRY(fill_cells(sampling, try));
  }
  return VS_OK;
}

vs_status vs_sampling_find(vs_sampling *sampling, vs_sampling_try try) {
  const vs_status status = find(sampling, try);
  sampling->done_count = sampling->axis_count; /* what was not sampled counts as unknown */
  VS_ASSERT(vs_sampling_check(sampling));
  return status == VS_LIMIT ? VS_OK : status;
}

/* ---- check */

static bool check_axis(const vs_sampling_axis *axis) {
  for (size_t i = 0; i < axis->samples.count; i++) {
    if (axis->samples.data[i].position >= axis->size) return false;
    if (i != 0 && axis->samples.data[i].position <= axis->samples.data[i - 1].position) return false;
  }
  return axis->digit_count >= 1;
}

bool vs_sampling_check(const vs_sampling *sampling) {
  if (sampling->axis_count == 0 || sampling->axis_count > VS_SAMPLING_AXES ||
      sampling->runs.count > sampling->most)
    return false;
  for (size_t i = 0; i < sampling->axis_count; i++) {
    if (!check_axis(&sampling->axes[i])) return false;
    if (i != 0 && sampling->axes[i].size < sampling->axes[i - 1].size) return false;
  }
  for (size_t i = 0; i < sampling->runs.count; i++)
    if (find_run(sampling, sampling->runs.data[i].rank) != i ||
        sampling->runs.data[i].rank >= sampling->world)
      return false;
  return sampling->axes[sampling->axis_count - 1].size == sampling->world;
}
