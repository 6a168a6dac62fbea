/* Names of files without what differs between machines. */
#include "diff/files.h"
#include "support/test.h"

static void expect_name(const char *kind, const char *file, const char *root, const char *wanted) {
  const bool is_user = kind[0] == 'u';
  const vs_side_frame frame = {.file = vs_str_from(file),
                               .function = VS_STR("f"),
                               .line = kind[0] == 'n' ? VS_SIDE_NO_LINE : 3,
                               .is_user = is_user,
                               .is_python = is_user || kind[0] == 'l'};
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_files_put(&text, vs_str_from(root), &frame);
  vs_text_byte(&text, 0);
  expect_ok(text.status);
  assert_string_equal(text.bytes.data, wanted);
  vs_text_deinit(&text);
}

static void packages_are_named_without_their_folder(void **state) {
  (void)state;
  expect_name("library", "/usr/lib/python3.11/site-packages/torch/nn/linear.py", "", "torch/nn/linear.py");
  expect_name("library", "/usr/lib/python3/dist-packages/numpy/core.py", "", "numpy/core.py");
  expect_name("library", "/usr/lib/python3.12/threading.py", "", "threading.py");
  expect_name("library", "/tmp/torchinductor_me/ab/cab.py", "", "ab/cab.py");
  expect_name("library", "/scratch/cache/v3/cv33u4yhdl65fdwuqdnj6ar76dzl4fx3i2en3vg5ufj32qwlasnr.py", "",
              "v3/cv33u4yhdl65fdwuqdnj6ar76dzl4fx3i2en3vg5ufj32qwlasnr.py");
  expect_name("library", "C:\\Python311\\Lib\\site-packages\\torch\\nn\\linear.py", "", "torch/nn/linear.py");
  expect_name("library", "C:\\Python311\\Lib\\threading.py", "", "threading.py");
  expect_name("library", "/src/pytorch/torch/nn/linear.py", "", "torch/nn/linear.py");
  expect_name("library", "<frozen importlib._bootstrap>", "", "<frozen importlib._bootstrap>");
}

static void files_of_the_user_are_named_below_their_folder(void **state) {
  (void)state;
  expect_name("user", "/home/me/job/models/gpt.py", "/home/me/job/", "models/gpt.py");
  expect_name("user", "C:\\job\\models\\gpt.py", "C:\\job\\", "models/gpt.py");
  expect_name("user", "train.py", "/home/me/job/", "train.py");
  expect_name("user", "/elsewhere/x.py", "/home/me/job/", "/elsewhere/x.py");
}

static void other_files_keep_their_names(void **state) {
  (void)state;
  expect_name("c++", "/src/kernels/op.cpp", "", "/src/kernels/op.cpp");
  expect_name("native", "/lib/libtorch_cuda.so", "", "");
}

static void expect_root(const char *const *files, size_t count, const char *wanted) {
  vs_side side = {0};
  expect_ok(vs_vec_reserve(vs_host_default(), &side.frames, count));
  for (size_t i = 0; i < count; i++)
    side.frames.data[side.frames.count++] =
        (vs_side_frame){.file = vs_str_from(files[i]), .is_user = true, .is_python = true};
  const vs_str root = vs_files_root(&side);
  assert_true(vs_str_equal(root, vs_str_from(wanted)));
  vs_side_deinit(vs_host_default(), &side);
}

static void the_root_is_the_folder_of_all_files_of_the_user(void **state) {
  (void)state;
  expect_root((const char *const[]){"/home/me/job/train.py"}, 1, "/home/me/job/");
  expect_root((const char *const[]){"/home/me/job/train.py", "/home/me/job/models/gpt.py"}, 2,
              "/home/me/job/");
  expect_root((const char *const[]){"/home/me/job/train.py", "/home/me/jobs/x.py"}, 2, "/home/me/");
  expect_root((const char *const[]){"train.py", "/home/me/x.py"}, 2, "/home/me/");
  expect_root((const char *const[]){"train.py"}, 1, "");
  expect_root(NULL, 0, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packages_are_named_without_their_folder),
      cmocka_unit_test(files_of_the_user_are_named_below_their_folder),
      cmocka_unit_test(other_files_keep_their_names),
      cmocka_unit_test(the_root_is_the_folder_of_all_files_of_the_user),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
