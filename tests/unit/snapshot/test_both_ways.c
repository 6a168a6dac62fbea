/* Every file is read as a whole and opcode by opcode, with the same tables, ids and errors. The public snapshots of ../shared/snapshots are
 * read, too, where that folder is. */
#include "support/both_ways.h"
#include "support/snapshots.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

static void is_the_same(const char *name, vs_str bytes, void *ctx) {
  const char *difference = read_both_ways(vs_host_default(), bytes);
  if (difference != NULL) fail_msg("%s: different in: %s", name, difference);
  ++*(size_t *)ctx;
}

static void files_of_the_corpus(void **state) {
  (void)state;
  size_t files = 0;
  for_each_corpus_file(is_the_same, &files);
  assert_true(files > 50);
}

static void public_files(void **state) {
  (void)state;
  static const char folder[] = "../shared/snapshots";
  size_t files = 0;
  DIR *entries = opendir(folder);
  for (struct dirent *e = entries == NULL ? NULL : readdir(entries); e != NULL; e = readdir(entries)) {
    char path[512];
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    const vs_str bytes = file_bytes(path);
    is_the_same(e->d_name, bytes, &files);
    free((void *)(uintptr_t)bytes.data);
  }
  if (entries != NULL) closedir(entries);
  print_message("%zu files of %s\n", files, folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_of_the_corpus),
      cmocka_unit_test(public_files),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
