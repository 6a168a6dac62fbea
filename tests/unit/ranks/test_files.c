/* Which files are the ranks of a job, and in which order. */
#include "unit/ranks/job.h"

static const job_rank small = {.weights = 512, .temporary = 512, .kept = 512, .steps = 0};

/* `wanted`: below the folder, the last one is NULL. */
static void expect_files(const vs_rank_files *files, const vs_folder *folder, const char *const *wanted) {
  char path[VS_FOLDER_PATH + 64];
  size_t count = 0;
  for (; wanted[count] != NULL; count++) {
    assert_true(count < vs_rank_files_count(files));
    vs_format(path, sizeof path, "%s/%s", folder->path, wanted[count]);
    assert_string_equal(vs_rank_files_at(files, count), path);
  }
  assert_int_equal(vs_rank_files_count(files), count);
}

static void list(vs_rank_files *files, const vs_folder *folder, const char *const *names, size_t count) {
  static char paths[4][VS_FOLDER_PATH + 64];
  const char *all[4];
  vs_error error;
  assert_true(count <= 4);
  for (size_t i = 0; i < count; i++) {
    vs_format(paths[i], sizeof paths[i], "%s/%s", folder->path, names[i]);
    all[i] = paths[i];
  }
  expect_ok(vs_rank_files_list(files, vs_host_default(), all, count, &error));
}

static void a_folder_has_its_snapshots_by_their_numbers(void **state) {
  static const char *const made[] = {"rank10.pickle",   "rank2.pickle.gz", "rank1.vram",
                                     "rank3.pkl",       "rank4.pkl.gz",    "rank5.vram.gz",
                                     ".hidden.pkl",     "notes.txt",       "rank6.pickle.x",
                                     "below/rank7.pkl", "pickle",          "folder.pickle/rank8.x"};
  vs_folder folder;
  vs_rank_files files;
  (void)state;
  job_begin(&folder);
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) job_write(&folder, made[i], &small);
  static const char *const wanted[] = {"rank1.vram",    "rank2.pickle.gz", "rank3.pkl", "rank4.pkl.gz",
                                       "rank5.vram.gz", "rank10.pickle",   NULL};
  list(&files, &folder, (const char *const[]){""}, 1); /* with a slash at its end */
  expect_files(&files, &folder, wanted);
  vs_rank_files_deinit(&files);
  const char *const path = folder.path;
  vs_error error;
  expect_ok(vs_rank_files_list(&files, vs_host_default(), &path, 1, &error));
  expect_files(&files, &folder, wanted);
  vs_rank_files_deinit(&files);
  vs_folder_remove(&folder);
}

/* Files that are named are taken whatever they are called, and whether they exist is not looked at. */
static void paths_keep_their_order(void **state) {
  vs_folder folder;
  vs_rank_files files;
  (void)state;
  job_begin(&folder);
  job_write(&folder, "a/rank1.pickle", &small);
  job_write(&folder, "a/rank0.pickle", &small);
  job_write(&folder, "b/rank0.pickle", &small);
  list(&files, &folder, (const char *const[]){"z.json", "b", "missing", "a"}, 4);
  expect_files(
      &files, &folder,
      (const char *const[]){"z.json", "b/rank0.pickle", "missing", "a/rank0.pickle", "a/rank1.pickle", NULL});
  vs_rank_files_move(&files, 3, 1);
  vs_rank_files_move(&files, 4, 2);
  vs_rank_files_cut(&files, 3);
  expect_files(&files, &folder, (const char *const[]){"z.json", "a/rank0.pickle", "a/rank1.pickle", NULL});
  vs_rank_files_deinit(&files);
  vs_folder_remove(&folder);
}

static void a_folder_without_snapshots_is_refused(void **state) {
  char good[VS_FOLDER_PATH + 64], bad[VS_FOLDER_PATH + 64];
  const char *const paths[] = {good, bad, good};
  vs_folder folder;
  vs_rank_files files;
  vs_error error;
  (void)state;
  job_begin(&folder);
  vs_format(good, sizeof good, "%s/job", folder.path);
  vs_format(bad, sizeof bad, "%s/other", folder.path);
  job_write(&folder, "job/rank0.pickle", &small);
  job_write(&folder, "other/notes.txt", &small);
  job_write(&folder, "other/below/rank0.pickle", &small);
  assert_true(vs_rank_files_is_folder(bad));
  assert_false(vs_rank_files_is_folder("/nowhere/at/all"));
  expect_status(vs_rank_files_list(&files, vs_host_default(), paths, 3, &error), VS_IO);
  assert_string_equal(files.failed, bad);
  assert_non_null(strstr(error.text, "no snapshots"));
  vs_rank_files_deinit(&files);
  vs_folder_remove(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_folder_has_its_snapshots_by_their_numbers),
                                     cmocka_unit_test(paths_keep_their_order),
                                     cmocka_unit_test(a_folder_without_snapshots_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
