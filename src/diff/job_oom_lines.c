#include "diff/job_oom_lines.h"
#include "base/check.h"
#include "base/sort.h"
#include "diff/sentence.h"

bool vs_job_oom_capacity(const vs_job_oom *job, uint64_t *capacity, uint32_t *rank) {
  uint32_t least = VS_JOB_NO_RANK;
  for (size_t i = 0; i < job->failed.count; i++) {
    const uint32_t next = job->failed.data[i];
    if (!job->list.data[next].has_capacity) continue;
    if (least == VS_JOB_NO_RANK || job->list.data[next].capacity < job->list.data[least].capacity)
      least = next;
  }
  if (least == VS_JOB_NO_RANK) return false;
  *capacity = job->list.data[least].capacity;
  if (rank != NULL) *rank = least;
  return true;
}

typedef struct writing {
  vs_jsonw *json;
  const vs_job_oom *job;
  uint32_t median;
  vs_unit unit;
  bool have_numbers;
  VS_VEC(vs_rank_label) labels; /* of one sentence */
  vs_text text;
} writing;

static uint64_t count_of(const writing *w, bool (*has)(const vs_job_oom_rank *rank)) {
  uint64_t count = 0;
  for (size_t i = 0; i < w->job->list.count; i++)
    count += vs_job_rank_was_read(&w->job->ranks.list.data[i]) && has(&w->job->list.data[i]);
  return count;
}

static bool is_any(const vs_job_oom_rank *rank) {
  (void)rank;
  return true;
}
static bool has_no_history(const vs_job_oom_rank *rank) { return !rank->has_history; }
static bool has_others(const vs_job_oom_rank *rank) { return rank->has_others; }

static void end_line(writing *w, const char *about, const char *label, const char *tone) {
  vs_sentence_put(w->json, &w->text, about, label, 0, tone);
}

static void put_bytes(writing *w, uint64_t bytes) { vs_text_bytes(&w->text, bytes, w->unit); }

/* ---- naming ranks */

static vs_rank_label label_of(const writing *w, uint32_t rank) {
  const vs_job_rank *of = &w->job->ranks.list.data[rank];
  return (vs_rank_label){.number = of->number, .name = of->name};
}

static void put_rank(writing *w, uint32_t rank) {
  const vs_rank_label label = label_of(w, rank);
  vs_sentence_ranks(&w->text, &w->job->ranks.strings, &label, 1, w->have_numbers);
}

static bool is_lower(const void *ctx, uint32_t a, uint32_t b) {
  const vs_job_oom *job = ctx;
  return job->ranks.list.data[a].number < job->ranks.list.data[b].number;
}

/* The ranks that ran out of memory from `from` on: with numbers in their order, else those that are first in front. */
static vs_status collect_failed(writing *w, size_t from) {
  const vs_host *host = w->job->ranks.host;
  const size_t count = w->job->failed.count - from;
  VS_VEC(uint32_t) order = {0};
  VS_TRY(vs_vec_reserve(host, &order, count));
  if (count != 0) memcpy(order.data, w->job->failed.data + from, count * sizeof *order.data);
  vs_status status = w->have_numbers ? vs_sort_rows(host, order.data, count, is_lower, w->job) : VS_OK;
  w->labels.count = 0;
  if (status == VS_OK) status = vs_vec_reserve(host, &w->labels, count);
  for (size_t i = 0; i < count && status == VS_OK; i++)
    w->labels.data[w->labels.count++] = label_of(w, order.data[i]);
  vs_vec_free(host, &order);
  return status;
}

static void put_labels(writing *w) {
  vs_sentence_ranks(&w->text, &w->job->ranks.strings, w->labels.data, w->labels.count, w->have_numbers);
}

/* ---- which ranks ran out of memory */

static void put_none(writing *w, uint64_t read) {
  const uint64_t unknown = count_of(w, has_no_history);
  if (unknown == read) {
    vs_text_cstr(&w->text,
                 "unknown: only the end states were recorded, not whether a request failed. To record that, "
                 "call torch.cuda.memory._record_memory_history() before the first allocation");
  } else {
    vs_text_cstr(&w->text, "none: no request failed in the recorded events");
    if (unknown != 0)
      vs_text_format(&w->text, " of %U of %U ranks; of the others only the end state was recorded",
                     read - unknown, read);
    else vs_text_format(&w->text, " of %s%U rank%s", read == 1 ? "" : "all ", read, read == 1 ? "" : "s");
  }
  end_line(w, "oom", "Out of memory", unknown == 0 ? "good" : "warning");
}

/* "; the last of them 1.20 s after it" */
static void put_span(writing *w) {
  const vs_job_oom *job = w->job;
  const int64_t first = job->list.data[job->failed.data[0]].time_us,
                last = job->list.data[job->failed.data[job->failed.count - 1]].time_us;
  VS_ASSERT(last >= first);
  vs_text_cstr(&w->text, job->failed.count == 2 ? ", " : ", the last of them ");
  vs_text_duration(&w->text, (uint64_t)last - (uint64_t)first);
  vs_text_cstr(&w->text, " later");
}

static vs_status put_failed(writing *w, uint64_t read) {
  const vs_job_oom *job = w->job;
  const uint64_t failed = job->failed.count;
  vs_text_format(&w->text, "%U of %U ranks%s: ", failed, read,
                 read == job->list.count ? "" : " that could be read");
  if (failed > 1 && !job->is_ordered) {
    VS_TRY(collect_failed(w, 0));
    put_labels(w);
    vs_text_cstr(
        &w->text,
        "; which was the first is unknown: they have no times that can be compared. Most was missing "
        "on ");
    put_rank(w, job->failed.data[0]);
  } else {
    put_rank(w, job->failed.data[0]);
    if (failed > 1) vs_text_cstr(&w->text, " first, then ");
    if (failed > 1) VS_TRY(collect_failed(w, 1));
    if (failed > 1) put_labels(w);
    if (failed > 1) put_span(w);
  }
  end_line(w, "oom", "Out of memory", "bad");
  return VS_OK;
}

/* ---- in what it differs from the median rank */

/* "200.0 MiB more than the median rank, rank 0, at metrics.py:19 update and 2 other lines" */
static void put_more(writing *w, const vs_job_rank *first) {
  put_bytes(w, first->more);
  vs_text_cstr(&w->text, " more than the median rank, ");
  put_rank(w, w->median);
  vs_text_cstr(&w->text, ", at ");
  vs_text_str(&w->text, vs_strings_at(&w->job->ranks.strings, first->most));
  if (first->more_rows == 1) return;
  vs_text_cstr(&w->text, " and ");
  vs_text_counted(&w->text, (uint64_t)first->more_rows - 1, "other line");
}

static void put_difference(writing *w) {
  const uint32_t number = vs_job_oom_first(w->job);
  const vs_job_rank *first = &w->job->ranks.list.data[number];
  put_rank(w, number);
  if (number == w->median) {
    vs_text_cstr(&w->text, " is the median rank itself: at least half of the ranks reach its peak");
  } else if (first->more == 0) {
    vs_text_cstr(&w->text, " had no more than the median rank, ");
    put_rank(w, w->median);
    vs_text_cstr(&w->text, ", at any line: what is allocated does not make it the odd one");
  } else {
    vs_text_cstr(&w->text, " had ");
    put_more(w, first);
  }
  if (number != w->median)
    vs_text_cstr(&w->text, w->job->list.data[w->median].has_failed
                               ? " (both when they ran out of memory)"
                               : " (when it ran out of memory, against the peak of that one)");
  end_line(w, "difference", "Difference", first->more == 0 ? "plain" : "warning");
}

/* ---- the others */

/* The least headroom of the ranks that did not run out of memory. */
static void put_headroom(writing *w) {
  const vs_job_oom *job = w->job;
  uint32_t least = VS_JOB_NO_RANK, of;
  uint64_t capacity;
  if (!vs_job_oom_capacity(job, &capacity, &of)) return;
  for (uint32_t i = 0; i < job->list.count; i++) {
    const vs_job_rank *rank = &job->ranks.list.data[i];
    if (!vs_job_rank_was_read(rank) || job->list.data[i].has_failed) continue;
    if (least == VS_JOB_NO_RANK || rank->reserved > job->ranks.list.data[least].reserved) least = i;
  }
  if (least == VS_JOB_NO_RANK) return;
  const uint64_t reserved = job->ranks.list.data[least].reserved;
  vs_text_cstr(&w->text, reserved <= capacity ? "at least " : "none: ");
  put_bytes(w, reserved <= capacity ? capacity - reserved : reserved - capacity);
  vs_text_cstr(&w->text, reserved <= capacity ? " on the ranks that did not run out ("
                                              : " less than was reserved on a rank that did not run out (");
  put_rank(w, least);
  vs_text_cstr(&w->text, "), if they can reserve as much as ");
  put_rank(w, of);
  vs_text_cstr(&w->text, " could: ");
  put_bytes(w, capacity);
  end_line(w, "headroom", "Headroom", "plain");
}

static void put_others(writing *w) {
  const uint64_t count = count_of(w, has_others);
  if (count == 0) return;
  vs_text_format(&w->text,
                 "%U of the files ha%s a failed request of another GPU, too: see vramscope oom FILE", count,
                 count == 1 ? "s" : "ve");
  end_line(w, "others", "Other GPUs", "warning");
}

static vs_status put_all(writing *w) {
  const uint64_t read = count_of(w, is_any);
  VS_TRY(vs_job_ranks_have_numbers(&w->job->ranks, &w->have_numbers));
  if (read != 0 && w->job->failed.count == 0) put_none(w, read);
  if (w->job->failed.count != 0) {
    VS_TRY(put_failed(w, read));
    if (read > 1) put_difference(w);
    put_headroom(w);
  }
  put_others(w);
  vs_job_ranks_put_doubts(w->json, &w->text, &w->job->ranks);
  return w->text.status;
}

vs_status vs_job_oom_put_lines(vs_jsonw *json, const vs_job_oom *job, uint32_t median, vs_unit unit) {
  writing w = {.json = json, .job = job, .median = median, .unit = unit};
  vs_text_init(&w.text, job->ranks.host, NULL);
  vs_jsonw_key(json, VS_STR("lines"));
  vs_jsonw_array_begin(json);
  const vs_status status = put_all(&w);
  vs_jsonw_array_end(json);
  vs_vec_free(job->ranks.host, &w.labels);
  vs_text_deinit(&w.text);
  return status;
}
