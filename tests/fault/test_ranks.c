/* The files of ranks with each request for memory failing once, on whichever thread: VS_NO_MEMORY, and all memory is given back. */
#include "ranks/tables.h"
#include "unit/ranks/job.h"

#include <pthread.h>

/* A host that several threads use, of which one call at a time reaches `below`. */
typedef struct shared_host {
  vs_host host;
  const vs_host *below;
  pthread_mutex_t lock;
} shared_host;

static void *resize(void *ctx, void *old, size_t old_size, size_t new_size) {
  shared_host *shared = ctx;
  (void)pthread_mutex_lock(&shared->lock);
  void *const memory = shared->below->resize(shared->below->ctx, old, old_size, new_size);
  (void)pthread_mutex_unlock(&shared->lock);
  return memory;
}

typedef struct made_job {
  vs_folder folder;
  char paths[2][VS_FOLDER_PATH + 64];
  size_t count; /* of the paths that are read */
  uint64_t ranks, rows[VS_JOB_TABLES];
} made_job;

static vs_status count_rows(void *ctx, const vs_records *records) {
  made_job *job = ctx;
  for (size_t i = 0; i < VS_JOB_TABLES; i++)
    if (records->type == &vs_job_table_types[i]) job->rows[i] += records->count;
  return VS_OK;
}

static vs_status read_tables(made_job *job, const vs_rank_files *files, const vs_host *host) {
  const vs_rank_face face = job_face(host);
  const vs_rank_tables_options options = {.ctx = job, .put = count_rows};
  vs_rank_tables_result result;
  memset(job->rows, 0, sizeof job->rows);
  const vs_status status = vs_rank_tables_read(files, &face, &options, &result);
  if (status == VS_OK) {
    assert_int_equal(result.read + result.not_read, job->ranks);
    assert_int_equal(job->rows[VS_JOB_RANKS], job->ranks);
    assert_int_equal(job->rows[VS_JOB_STEPS], result.read * 3);
    assert_int_equal(job->rows[VS_JOB_OWNERS], result.read * 3);
  }
  return status;
}

static vs_status list_and_read(const vs_host *host, void *ctx) {
  made_job *job = ctx;
  shared_host shared = {.below = host};
  const char *const paths[] = {job->paths[0], job->paths[1]};
  vs_rank_files files;
  vs_error error;
  shared.host = (vs_host){.ctx = &shared, .resize = resize};
  assert_int_equal(pthread_mutex_init(&shared.lock, NULL), 0);
  vs_status status = vs_rank_files_list(&files, &shared.host, paths, job->count, &error);
  if (status == VS_OK) {
    assert_int_equal(vs_rank_files_count(&files), job->ranks);
    status = read_tables(job, &files, &shared.host);
  }
  vs_rank_files_deinit(&files);
  assert_int_equal(pthread_mutex_destroy(&shared.lock), 0);
  return status;
}

/* A job of three ranks in a folder, one of which is damaged, and a file of its own. */
static void begin(made_job *job) {
  static const job_rank rank = {.weights = 4096, .temporary = 1024, .kept = 512, .steps = 4};
  job_begin(&job->folder);
  job_write(&job->folder, "alone.pickle", &rank);
  job_write(&job->folder, "job/rank0.pickle", &rank);
  job_write(&job->folder, "job/rank1.pickle", &rank);
  made_proc_file(&job->folder, "job/rank2.pickle", "\x80\x04no");
  vs_format(job->paths[0], sizeof job->paths[0], "%s/alone.pickle", job->folder.path);
  vs_format(job->paths[1], sizeof job->paths[1], "%s/job", job->folder.path);
}

/* One file is read on the caller's thread, several on others. */
static void every_request_fails_once(void **state) {
  static made_job job;
  (void)state;
  begin(&job);
  job.count = 1;
  job.ranks = 1;
  const uint64_t of_one = fault_prove(list_and_read, &job);
  assert_true(of_one > 50);
  job.count = 2;
  job.ranks = 4;
  assert_true(fault_prove(list_and_read, &job) > 2 * of_one);
  vs_folder_remove(&job.folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_request_fails_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
