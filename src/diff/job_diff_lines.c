#include "diff/job_diff_lines.h"
#include "base/check.h"
#include "base/sort.h"
#include "diff/rank_names.h"
#include "diff/sentence.h"

enum { NAMED = 3, GROUPS = 4 };

/* ---- what changed, as words */

static void put_named(vs_text *text, const vs_comparison *c, const vs_diff_row *row) {
  const int64_t change = vs_diff_row_change(row);
  vs_part_name name;
  vs_part_name_init(&name, c, row, row->parts[1].count != 0 ? 1 : 0);
  if (change == 0) vs_text_cstr(text, "other sizes at");
  else vs_text_bytes_change(text, change, c->options.unit);
  vs_text_byte(text, ' ');
  vs_text_str(text, vs_text_view(&name.owner));
  vs_part_name_deinit(&name, &text->status);
}

void vs_job_diff_put_summary(vs_text *text, const vs_comparison *c) {
  uint64_t count = 0;
  for (size_t i = 0; i < c->rows.list.count; i++) {
    const vs_diff_row *row = &c->rows.list.data[i];
    if (vs_diff_row_is_same(row) || ++count > NAMED) continue;
    if (count > 1) vs_text_cstr(text, ", ");
    put_named(text, c, row);
  }
  if (count > NAMED)
    vs_text_format(text, " and %U other %s", count - NAMED, vs_diff_by_noun(c->options.by, count - NAMED));
}

/* ---- naming ranks */

vs_status vs_job_diff_have_numbers(const vs_job_diff *job, bool *have) {
  VS_VEC(vs_sort_pair) numbers = {0};
  bool all = true, differ = true;
  VS_TRY(vs_vec_reserve(job->host, &numbers, job->list.count));
  for (size_t i = 0; i < job->list.count; i++) {
    all = all && job->list.data[i].has_number;
    numbers.data[numbers.count++] = (vs_sort_pair){.key = job->list.data[i].number, .value = (uint32_t)i};
  }
  const vs_status status = vs_rank_numbers_differ(job->host, numbers.data, numbers.count, &differ);
  *have = all && differ;
  vs_vec_free(job->host, &numbers);
  return status;
}

typedef struct writing {
  vs_jsonw *json;
  const vs_job_diff *job;
  bool have_numbers;
  VS_VEC(vs_rank_label) labels; /* of one sentence */
  vs_text text;
} writing;

static vs_rank_label label_of(const writing *w, size_t pair) {
  return (vs_rank_label){.number = w->job->list.data[pair].number, .name = w->job->list.data[pair].name};
}

static bool is_lower(const void *ctx, uint32_t a, uint32_t b) {
  const vs_job_diff *job = ctx;
  return job->list.data[a].number < job->list.data[b].number;
}

/* Names the pairs that `is_one` chooses; nothing if there are none. */
static vs_status put_pairs(writing *w, bool (*is_one)(const vs_rank_pair *pair, uint32_t value),
                           uint32_t value) {
  const vs_job_diff *job = w->job;
  VS_VEC(uint32_t) chosen = {0};
  VS_TRY(vs_vec_reserve(job->host, &chosen, job->list.count));
  for (uint32_t i = 0; i < job->list.count; i++)
    if (job->list.data[i].was_compared && is_one(&job->list.data[i], value)) chosen.data[chosen.count++] = i;
  vs_status status =
      w->have_numbers ? vs_sort_rows(job->host, chosen.data, chosen.count, is_lower, job) : VS_OK;
  w->labels.count = 0;
  if (status == VS_OK) status = vs_vec_reserve(job->host, &w->labels, chosen.count);
  for (size_t i = 0; i < chosen.count && status == VS_OK; i++)
    w->labels.data[w->labels.count++] = label_of(w, chosen.data[i]);
  if (status == VS_OK && w->labels.count != 0)
    vs_sentence_ranks(&w->text, &job->strings, w->labels.data, w->labels.count, w->have_numbers);
  vs_vec_free(job->host, &chosen);
  return status;
}

static bool is_in_group(const vs_rank_pair *pair, uint32_t group) { return pair->group == group; }
static bool ran_out(const vs_rank_pair *pair, uint32_t side) { return pair->ooms[side] != 0; }

static void end_line(writing *w, const char *about, const char *label, const char *tone) {
  vs_sentence_put(w->json, &w->text, about, label, 0, tone);
}

static void put_bytes(writing *w, uint64_t bytes) { vs_text_bytes(&w->text, bytes, w->job->options.unit); }

/* ---- which changed alike */

static vs_str summary_of(const writing *w, const vs_rank_group *group) {
  return vs_strings_at(&w->job->strings, group->summary);
}

static bool is_same(const vs_rank_group *group) { return group->summary == VS_STRING_EMPTY; }

static uint64_t compared(const vs_job_diff *job) {
  uint64_t count = 0;
  for (size_t i = 0; i < job->list.count; i++) count += job->list.data[i].was_compared;
  return count;
}

/* "all 8 changed alike: ...", "6 of 8 changed alike: ..." */
static void put_largest(writing *w, const vs_rank_group *group) {
  const uint64_t all = compared(w->job);
  if (all == 1) {
    vs_text_cstr(&w->text, is_same(group) ? "the same memory at the moments compared" : "");
  } else if (group->count == all) {
    vs_text_format(&w->text, "all %U ", all);
    vs_text_cstr(&w->text,
                 is_same(group) ? "have the same memory at the moments compared" : "changed alike: ");
  } else {
    vs_text_format(&w->text, "%U of %U ", group->count, all);
    vs_text_cstr(&w->text,
                 is_same(group) ? "have the same memory at the moments compared" : "changed alike: ");
  }
  vs_text_str(&w->text, summary_of(w, group));
  end_line(w, "ranks", "Ranks", is_same(group) && group->count == all ? "good" : "plain");
}

static vs_status put_group(writing *w, uint32_t number, const char *label) {
  const vs_rank_group *group = &w->job->groups.data[number];
  VS_TRY(put_pairs(w, is_in_group, number));
  vs_text_cstr(&w->text, is_same(group) ? ": the same memory at the moments compared" : ": ");
  vs_text_str(&w->text, summary_of(w, group));
  end_line(w, "groups", label, "warning");
  return VS_OK;
}

/* Where no two ranks changed alike each is named; otherwise the largest group is what is usual. */
static vs_status put_groups(writing *w, const uint32_t *order) {
  const vs_job_diff *job = w->job;
  const size_t count = job->groups.count;
  if (count == 0) return VS_OK;
  const bool has_usual = job->groups.data[order[0]].count > 1 || count == 1;
  if (has_usual) {
    put_largest(w, &job->groups.data[order[0]]);
  } else {
    vs_text_format(&w->text, "no two of the %U changed alike", compared(job));
    end_line(w, "ranks", "Ranks", "warning");
  }
  for (size_t i = has_usual ? 1 : 0, shown = 0; i < count; i++, shown++) {
    if (shown == GROUPS) {
      vs_text_format(&w->text, "%U more, in other ways: see --json", (uint64_t)(count - i));
      end_line(w, "groups", "", "plain");
      break;
    }
    VS_TRY(put_group(w, order[i], shown != 0 ? "" : has_usual ? "Otherwise" : "Changes"));
  }
  return VS_OK;
}

/* ---- figures */

/* The pair with the highest figure of a side. */
static size_t highest(const vs_job_diff *job, unsigned side, bool is_reserved) {
  size_t most = job->list.count;
  uint64_t highest = 0;
  for (size_t i = 0; i < job->list.count; i++) {
    const vs_rank_pair *pair = &job->list.data[i];
    const uint64_t bytes = is_reserved ? pair->reserved[side] : pair->allocated[side];
    if (!pair->was_compared || (most != job->list.count && bytes <= highest)) continue;
    most = i;
    highest = bytes;
  }
  return most;
}

static void put_highest(writing *w, bool is_reserved) {
  for (unsigned side = 0; side < 2; side++) {
    const size_t pair = highest(w->job, side, is_reserved);
    const vs_rank_label label = label_of(w, pair);
    const vs_rank_pair *of = &w->job->list.data[pair];
    if (side == 1) vs_text_cstr(&w->text, ", ");
    put_bytes(w, is_reserved ? of->reserved[side] : of->allocated[side]);
    vs_text_cstr(&w->text, side == 0 ? " before (" : " after (");
    vs_sentence_ranks(&w->text, &w->job->strings, &label, 1, w->have_numbers);
    vs_text_byte(&w->text, ')');
  }
}

/* Whether every pair that was compared has both peaks. */
static bool know_reserved(const vs_job_diff *job) {
  for (size_t i = 0; i < job->list.count; i++)
    if (job->list.data[i].was_compared && !job->list.data[i].knows_reserved) return false;
  return true;
}

static void put_peaks(writing *w) {
  if (compared(w->job) == 0) return;
  vs_text_cstr(&w->text, "allocated ");
  put_highest(w, false);
  if (know_reserved(w->job)) {
    vs_text_cstr(&w->text, "; reserved ");
    put_highest(w, true);
  }
  end_line(w, "peaks", "Highest peaks", "plain");
}

static vs_status put_ooms(writing *w) {
  uint64_t ooms[2] = {0, 0};
  for (size_t i = 0; i < w->job->list.count; i++)
    for (unsigned side = 0; side < 2; side++) ooms[side] += w->job->list.data[i].ooms[side] != 0;
  if (ooms[0] + ooms[1] == 0) return VS_OK;
  for (uint32_t side = 0; side < 2; side++) {
    vs_text_cstr(&w->text, side == 0 ? "before: " : "; after: ");
    if (ooms[side] == 0) vs_text_cstr(&w->text, "none");
    else VS_TRY(put_pairs(w, ran_out, side));
  }
  end_line(w, "oom", "Out of memory", ooms[1] != 0 ? "bad" : "good");
  return VS_OK;
}

/* ---- doubts */

static void put_alone(writing *w) {
  static const char *const labels[2] = {"Only before", "Only after"};
  for (size_t side = 0; side < 2; side++) {
    const size_t count = w->job->alone[side].count;
    if (count == 0) continue;
    for (size_t i = 0; i < count && i < NAMED; i++) {
      if (i != 0) vs_text_cstr(&w->text, ", ");
      vs_text_str(&w->text, vs_strings_at(&w->job->strings, w->job->alone[side].data[i]));
    }
    if (count > NAMED) vs_text_format(&w->text, " and %U more", (uint64_t)(count - NAMED));
    vs_text_cstr(&w->text, ": no file of the other folder has this rank");
    end_line(w, "alone", labels[side], "warning");
  }
}

static void put_doubts(writing *w) {
  const vs_job_diff *job = w->job;
  uint64_t incomplete = 0;
  for (size_t i = 0; i < job->list.count; i++)
    incomplete += job->list.data[i].was_compared && !job->list.data[i].is_complete;
  if (incomplete != 0) {
    vs_text_format(&w->text,
                   "%U of %U pairs are not complete: what was allocated before a recording began or was lost "
                   "may be missing",
                   incomplete, (uint64_t)job->list.count);
    end_line(w, "trust", "Incomplete", "warning");
  }
  if (compared(job) == job->list.count) return;
  vs_text_format(&w->text, "%U of %U pairs could not be read", (uint64_t)job->list.count - compared(job),
                 (uint64_t)job->list.count);
  end_line(w, "failed", "Failed", "bad");
}

static vs_status put_all(writing *w, const uint32_t *order) {
  VS_TRY(vs_job_diff_have_numbers(w->job, &w->have_numbers));
  VS_TRY(put_groups(w, order));
  put_peaks(w);
  VS_TRY(put_ooms(w));
  put_alone(w);
  put_doubts(w);
  return w->text.status;
}

vs_status vs_job_diff_put_lines(vs_jsonw *json, const vs_job_diff *job, const uint32_t *order) {
  writing w = {.json = json, .job = job};
  vs_text_init(&w.text, job->host, NULL);
  vs_jsonw_key(json, VS_STR("lines"));
  vs_jsonw_array_begin(json);
  const vs_status status = put_all(&w, order);
  vs_jsonw_array_end(json);
  vs_vec_free(job->host, &w.labels);
  vs_text_deinit(&w.text);
  return status;
}
