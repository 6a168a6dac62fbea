/* The rows of a job's ranks, against figures that are added up event by event. */
#include "ranks/tables.h"
#include "unit/ranks/job.h"

enum { RANKS = 5, MOST_STEPS = 8, LOST = 3 }; /* rank LOST is damaged */

static const job_rank job[RANKS] = {
    {.weights = 8192, .temporary = 4096, .kept = 512, .steps = 5},
    {.weights = 8192, .temporary = 4096, .kept = 512, .steps = 5},
    {.weights = 16384, .temporary = 1024, .kept = 2048, .steps = 8},
    {0},
    {.weights = 512, .temporary = 65536, .kept = 1024, .steps = 4},
};

/* ---- the truth */

typedef struct truth {
  uint64_t peak, end;
  uint64_t step_peaks[MOST_STEPS];
} truth;

static truth add_up(const job_rank *rank) {
  truth t = {.peak = rank->weights};
  uint64_t live = rank->weights;
  for (uint64_t k = 0; k < rank->steps; k++) {
    live += rank->temporary;
    t.step_peaks[k] = live;
    live += rank->kept;
    t.step_peaks[k] = vs_max_u64(t.step_peaks[k], live);
    live -= rank->temporary;
    t.peak = vs_max_u64(t.peak, t.step_peaks[k]);
  }
  t.end = live;
  return t;
}

/* ---- rows by the names of their columns */

static const vs_record_column *column_of(const vs_records *records, const char *name) {
  for (size_t i = 0; i < records->type->field_count; i++)
    if (strcmp(records->type->fields[i].name, name) == 0) return &records->columns[i];
  fail_msg("no column %s", name);
  return NULL;
}

static void expect_number(const vs_records *records, size_t row, const char *name, uint64_t wanted) {
  const vs_record_column *column = column_of(records, name);
  if (!column->known.data[row] || column->values.data[row] != wanted)
    fail_msg("%s, row %zu, %s: %lld, not %llu", records->type->name, row, name,
             column->known.data[row] ? (long long)column->values.data[row] : -1LL,
             (unsigned long long)wanted);
}

static void expect_unknown(const vs_records *records, size_t row, const char *name) {
  if (column_of(records, name)->known.data[row])
    fail_msg("%s, row %zu, %s is known", records->type->name, row, name);
}

static vs_str text_of(const vs_records *records, size_t row, const char *name) {
  const vs_record_column *column = column_of(records, name);
  if (!column->known.data[row]) fail_msg("%s, row %zu, %s is unknown", records->type->name, row, name);
  return vs_record_str(column, row);
}

/* ---- a job, as it is read */

typedef struct reading {
  vs_folder folder;
  vs_rank_files files;
  size_t batches[VS_JOB_TABLES], rows[VS_JOB_TABLES], failures;
  size_t owners_at; /* the rank that the next rows of owners are of */
} reading;

static void begin(reading *r) {
  char name[32];
  vs_error error;
  memset(r, 0, sizeof *r);
  job_begin(&r->folder);
  for (uint64_t i = 0; i < RANKS; i++) {
    vs_format(name, sizeof name, "rank%U.pickle", i);
    if (i == LOST) made_proc_file(&r->folder, name, "\x80\x04no");
    else job_write(&r->folder, name, &job[i]);
  }
  const char *const path = r->folder.path;
  expect_ok(vs_rank_files_list(&r->files, vs_host_default(), &path, 1, &error));
}

static void end(reading *r) {
  vs_rank_files_deinit(&r->files);
  vs_folder_remove(&r->folder);
}

/* ---- what is expected of each table */

static void expect_lost(const vs_records *ranks, size_t row) {
  assert_true(text_of(ranks, row, "error").size > 10);
  for (size_t i = 0; i < ranks->type->field_count; i++) {
    const char *const name = ranks->type->fields[i].name;
    if (strcmp(name, "rank") != 0 && strcmp(name, "file") != 0 && strcmp(name, "error") != 0)
      expect_unknown(ranks, row, name);
  }
}

static void expect_rank(const vs_records *ranks, size_t row) {
  const job_rank *rank = &job[row];
  const truth t = add_up(rank);
  const uint64_t last = 1 + JOB_STEP * rank->steps;
  const struct {
    const char *name;
    uint64_t value;
  } wanted[] = {{"device", 0},
                {"peak_allocated_bytes", t.peak},
                {"peak_requested_bytes", t.peak},
                {"peak_reserved_bytes", JOB_SEGMENT},
                {"end_allocated_bytes", t.end},
                {"end_reserved_bytes", JOB_SEGMENT},
                {"ooms", 0},
                {"steps", job_whole_steps(rank)},
                {"growth_bytes_per_step", rank->kept},
                {"complete", 1},
                {"events", last + 1},
                {"first_time_us", job_time_us(0)},
                {"last_time_us", job_time_us(last)}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    expect_number(ranks, row, wanted[i].name, wanted[i].value);
  expect_unknown(ranks, row, "error");
  expect_unknown(ranks, row, "host");
  expect_unknown(ranks, row, "findings");
}

static void expect_ranks(const reading *r, const vs_records *ranks) {
  assert_int_equal(ranks->count, RANKS);
  for (size_t row = 0; row < RANKS; row++) {
    expect_number(ranks, row, "rank", row);
    assert_true(vs_str_equal(text_of(ranks, row, "file"), vs_str_from(vs_rank_files_at(&r->files, row))));
    if (row == LOST) expect_lost(ranks, row);
    else expect_rank(ranks, row);
  }
  const vs_str first = text_of(ranks, 0, "requests_hash");
  assert_true(vs_str_equal(first, text_of(ranks, 1, "requests_hash")));
  assert_false(vs_str_equal(first, text_of(ranks, 2, "requests_hash")));
}

/* From 0 on. */
static uint32_t line_of(vs_str owner) {
  const vs_str file = VS_STR("train.py:");
  assert_true(owner.size > file.size && memcmp(owner.data, file.data, file.size) == 0);
  assert_in_range(owner.data[file.size], '1', '3');
  return (uint32_t)(owner.data[file.size] - '1');
}

/* At the peak are the weights, the temporary memory, and what was kept in each step: lines 1 to 3 of the program. */
static void expect_owners(const vs_records *owners) {
  size_t row = 0;
  for (size_t i = 0; i < RANKS; i++) {
    const job_rank *rank = &job[i];
    const uint64_t bytes[] = {rank->weights, rank->temporary, rank->kept * rank->steps};
    uint32_t seen = 0;
    for (const size_t until = row + (i == LOST ? 0 : 3); row < until; row++) {
      assert_true(row < owners->count);
      expect_number(owners, row, "rank", i);
      const uint32_t line = line_of(text_of(owners, row, "owner"));
      seen |= 1U << line;
      expect_number(owners, row, "peak_bytes", bytes[line]);
      expect_number(owners, row, "peak_blocks", line == 2 ? rank->steps : 1);
      expect_number(owners, row, "growth_bytes_per_step", line == 2 ? rank->kept : 0);
    }
    assert_int_equal(seen, i == LOST ? 0 : 7);
  }
  assert_int_equal(owners->count, row);
}

static void expect_steps(const vs_records *steps) {
  size_t row = 0;
  for (size_t i = 0; i < RANKS; i++) {
    const truth t = add_up(&job[i]);
    for (uint64_t k = 0; k < job_whole_steps(&job[i]); k++, row++) {
      const uint64_t first = JOB_STEP_FIRST + JOB_STEP * k, last = first + JOB_STEP - 1;
      assert_true(row < steps->count);
      expect_number(steps, row, "rank", i);
      expect_number(steps, row, "step", k + 1);
      expect_number(steps, row, "first_event", first);
      expect_number(steps, row, "last_event", last);
      expect_number(steps, row, "first_time_us", job_time_us(first));
      expect_number(steps, row, "last_time_us", job_time_us(last));
      expect_number(steps, row, "peak_allocated_bytes", t.step_peaks[k]);
      expect_number(steps, row, "peak_requested_bytes", t.step_peaks[k]);
      expect_number(steps, row, "peak_reserved_bytes", JOB_SEGMENT);
    }
  }
  assert_int_equal(steps->count, row);
}

/* ---- reading */

static vs_job_table table_of(const vs_records *records) {
  for (size_t i = 0; i < VS_JOB_TABLES; i++)
    if (records->type == &vs_job_table_types[i]) return (vs_job_table)i;
  fail_msg("not a table of a job");
  return VS_JOB_TABLES;
}

static vs_status put(void *ctx, const vs_records *records) {
  reading *r = ctx;
  const vs_job_table table = table_of(records);
  r->batches[table]++;
  if (table == VS_JOB_RANKS) expect_ranks(r, records);
  if (table == VS_JOB_OWNERS) expect_owners(records);
  if (table == VS_JOB_STEPS) expect_steps(records);
  return VS_OK;
}

static void count_failure(void *ctx, const char *name, const char *why) {
  reading *r = ctx;
  r->failures++;
  assert_string_equal(name, vs_rank_files_at(&r->files, LOST));
  assert_string_not_equal(why, "");
}

static void figures_are_those_of_the_events(void **state) {
  reading r;
  vs_rank_tables_result result;
  (void)state;
  begin(&r);
  const vs_rank_face face = job_face(vs_host_default());
  const vs_rank_tables_options options = {.ctx = &r, .put = put, .fail = count_failure};
  expect_ok(vs_rank_tables_read(&r.files, &face, &options, &result));
  assert_int_equal(result.read, RANKS - 1);
  assert_int_equal(result.not_read, 1);
  assert_int_equal(result.incomplete, 0);
  assert_int_equal(r.failures, 1);
  for (size_t i = 0; i < VS_JOB_TABLES; i++) assert_int_equal(r.batches[i], 1);
  end(&r);
}

static void count_rows(reading *r, const vs_records *records) {
  const vs_job_table table = table_of(records);
  r->batches[table]++;
  r->rows[table] += records->count;
}

static vs_status put_count(void *ctx, const vs_records *records) {
  count_rows(ctx, records);
  return VS_OK;
}

/* A file with a key that this version does not know has rows, and counts as incomplete. `fail` may be NULL. */
static void incomplete_ranks_are_counted(void **state) {
  static const char *const newer = "{\"segments\":[],\"device_traces\":[[{\"action\":\"alloc\",\"addr\":512,"
                                   "\"size\":512,\"stream\":0,\"time_us\":9,\"frames\":[],\"new\":1}]]}";
  reading r;
  vs_error error;
  vs_rank_tables_result result;
  (void)state;
  begin(&r);
  vs_rank_files_deinit(&r.files);
  made_proc_file(&r.folder, "rank9.pickle", newer);
  const char *const path = r.folder.path;
  expect_ok(vs_rank_files_list(&r.files, vs_host_default(), &path, 1, &error));
  const vs_rank_face face = job_face(vs_host_default());
  const vs_rank_tables_options options = {.ctx = &r, .put = put_count};
  expect_ok(vs_rank_tables_read(&r.files, &face, &options, &result));
  assert_int_equal(result.read, RANKS);
  assert_int_equal(result.not_read, 1);
  assert_int_equal(result.incomplete, 1);
  assert_int_equal(r.rows[VS_JOB_RANKS], RANKS + 1);
  end(&r);
}

/* ---- batches */

enum { BATCH = 64 * 1024, FILES = 15, STEPS = 5000 }; /* a batch is full with so many rows */

/* One file many times. */
static void begin_long(reading *r) {
  static const job_rank rank = {.weights = 512, .temporary = 512, .kept = 512, .steps = STEPS + 1};
  char path[VS_FOLDER_PATH + 64];
  const char *paths[FILES];
  vs_error error;
  memset(r, 0, sizeof *r);
  job_begin(&r->folder);
  job_write(&r->folder, "rank0.pickle", &rank);
  vs_format(path, sizeof path, "%s/rank0.pickle", r->folder.path);
  for (size_t i = 0; i < FILES; i++) paths[i] = path;
  expect_ok(vs_rank_files_list(&r->files, vs_host_default(), paths, FILES, &error));
  vs_rank_files_cut(&r->files, (size_t)test_repetitions(FILES, 1));
}

/* A table that has enough rows is passed on before the end. */
static void rows_come_in_batches(void **state) {
  reading r;
  vs_rank_tables_result result;
  (void)state;
  begin_long(&r);
  const size_t files = vs_rank_files_count(&r.files);
  const vs_rank_face face = job_face(vs_host_default());
  const vs_rank_tables_options options = {.ctx = &r, .put = put_count};
  expect_ok(vs_rank_tables_read(&r.files, &face, &options, &result));
  assert_int_equal(result.read, files);
  assert_int_equal(r.rows[VS_JOB_STEPS], files * STEPS);
  assert_int_equal(r.batches[VS_JOB_STEPS], files * STEPS >= BATCH ? 2 : 1);
  assert_int_equal(r.rows[VS_JOB_RANKS], files);
  assert_int_equal(r.batches[VS_JOB_RANKS], 1);
  end(&r);
}

static vs_status refuse(void *ctx, const vs_records *records) {
  count_rows(ctx, records);
  return VS_IO;
}

/* A failure of `put` ends the reading, and nothing more is put. The file whose rows filled the batch was read. */
static void a_batch_that_cannot_be_put_ends_it(void **state) {
  reading r;
  vs_rank_tables_result result;
  (void)state;
  begin_long(&r);
  const size_t all = vs_rank_files_count(&r.files), filling = (BATCH + STEPS - 1) / STEPS;
  const vs_rank_face face = job_face(vs_host_default());
  const vs_rank_tables_options options = {.ctx = &r, .put = refuse};
  expect_status(vs_rank_tables_read(&r.files, &face, &options, &result), VS_IO);
  assert_int_equal(r.batches[0] + r.batches[1] + r.batches[2], 1);
  assert_int_equal(result.read, all < filling ? all : filling);
  assert_int_equal(result.not_read, 0);
  end(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(figures_are_those_of_the_events), cmocka_unit_test(incomplete_ranks_are_counted),
      cmocka_unit_test(rows_come_in_batches), cmocka_unit_test(a_batch_that_cannot_be_put_ends_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
