/* Noise, libraries, and the one frame to show. */
#include "analyze/frames.h"
#include "unit/analyze/made.h"

/* One letter for a frame: n noise, u user's Python, l library's Python, c C++. */
static char kind_of(const char *name, const char *file) {
  made m = made_begin();
  const uint32_t frame = made_frame(&m, name, file, 5);
  vs_frames frames;
  expect_ok(vs_frames_init(m.host, m.snapshot, &frames));
  const bool is_python = vs_frame_is_python(m.snapshot, frame),
             is_library = vs_frames_is_library(&frames, frame);
  assert_int_equal(vs_frame_has_line(m.snapshot, frame), is_python);
  assert_true(is_python || !is_library);
  const char kind = vs_frames_is_noise(&frames, frame) ? 'n' : !is_python ? 'c' : is_library ? 'l' : 'u';
  vs_frames_deinit(m.host, &frames);
  made_end(&m);
  return kind;
}

static void test_kinds(void **state) {
  (void)state;
  static const struct {
    const char *name, *file;
    char kind;
  } cases[] = {
      {"forward", "/home/user/model.py", 'u'},
      {"forward", "C:\\work\\model.py", 'u'},
      {"main", "/usr/local/bin/serve", 'u'}, /* a script without extension */
      {"<module>", "<stdin>", 'u'},
      {"<module>", "<ipython-input-3-abcdef>", 'u'},
      {"on_train_start", "/home/user/hooks.py", 'u'}, /* ends as a noise name does */
      {"f", "/home/user/Register.py", 'u'},
      {"forward", "none", 'u'},
      {"forward", "/venv/lib/python3.12/site-packages/torch/nn/modules/linear.py", 'l'},
      {"f", "/usr/lib/python3/dist-packages/numpy/core.py", 'l'},
      {"f", "/opt/conda/lib/python3.11/threading.py", 'l'},
      {"f", "/home/user/src/torch/nn/functional.py", 'l'},
      {"f", "torch/optim/adamw.py", 'l'},
      {"f", "C:\\Python312\\Lib\\runpy.py", 'l'},
      {"f", "D:\\a\\torch\\nn\\modules\\module.py", 'l'},
      {"_call_with_frames_removed", "<frozen importlib._bootstrap>", 'l'},
      {"forward", "<string>", 'l'},
      {"forward", "<eval_with_key>.7", 'l'},
      {"call", "/tmp/torchinductor_user/ab/cab.py", 'l'},
      {"at::native::add(at::Tensor const&)", "??", 'c'},
      {"operator()", "Exceptions.h", 'c'},
      {"cublasCreate_v2", "/usr/lib/libcublas.so.12", 'c'},
      {"clone", "/lib/libc.so.6", 'c'},
      {"slot_nb_add", "/src/Objects/typeobject.c", 'c'},
      {"kernel", "op.cu", 'c'},
      {"execute_native_thread_routine", "thread48.o", 'c'},
      {"??", "", 'c'},
      {"PyNumber_Add", "/usr/bin/python3.11", 'c'},
      {"main", "/home/user/python_tools.py", 'u'},
      {"torch::unwind::unwind()", "??", 'n'},
      {"torch::CapturedTraceback::gather(bool, bool, bool)", "??", 'n'},
      {"c10::cuda::CUDACachingAllocator::Native::malloc(void**)", "", 'n'},
      {"_PyEval_EvalFrameDefault", "bytecodes.c", 'n'},
      {"_start", "??", 'n'},
      {"__libc_start_main_impl", "libc-start.c", 'n'},
      {"call", "/src/aten/src/ATen/core/boxing/KernelFunction.h", 'n'},
      {"wrap", "/build/RegisterCUDA.cpp", 'n'},
      {"run_mod", "Python/pythonrun.c", 'n'},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (kind_of(cases[i].name, cases[i].file) != cases[i].kind)
      fail_msg("%s in %s is %c, not %c", cases[i].name, cases[i].file, kind_of(cases[i].name, cases[i].file),
               cases[i].kind);
}

static void test_lines(void **state) {
  (void)state;
  made m = made_begin();
  assert_false(vs_frame_has_line(m.snapshot, made_frame(&m, "c10::f()", "/lib/libc10.so", 108146796)));
  assert_false(vs_frame_has_line(m.snapshot, made_frame(&m, "f", "none", 0)));
  assert_false(vs_frame_has_line(m.snapshot, made_frame(&m, "f", "a.py", -1)));
  assert_true(vs_frame_has_line(m.snapshot, made_frame(&m, "f", "a.py", 1)));
  made_end(&m);
}

/* Stacks are innermost first; the wanted frame is the index in the stack, -1 for none. */
static void expect_user(const char *const *frames, size_t count, int wanted) {
  made m = made_begin();
  uint32_t ids[8];
  for (size_t i = 0; i < count; i++)
    ids[i] = made_frame(&m, frames[2 * i], frames[2 * i + 1], (int64_t)i + 1);
  const uint32_t stack = made_stack_of(&m, ids, count);
  vs_frames table;
  expect_ok(vs_frames_init(m.host, m.snapshot, &table));
  for (int again = 0; again < 2; again++) /* the second answer is a remembered one */
    assert_int_equal(vs_frames_user(&table, stack), wanted < 0 ? VS_NO_FRAME : ids[wanted]);
  vs_frames_deinit(m.host, &table);
  made_end(&m);
}

static void test_user_frame(void **state) {
  (void)state;
  static const char *const training[] = {
      "torch::unwind::unwind()",
      "??",
      "at::empty(long)",
      "??",
      "linear",
      "/x/site-packages/torch/nn/functional.py",
      "forward",
      "/home/user/model.py",
      "main",
      "/home/user/train.py",
  };
  expect_user(training, 5, 3);
  expect_user(training, 3, 2); /* no user's code: the library's */
  expect_user(training, 2, 1); /* no Python: the C++ frame */
  expect_user(training, 1, -1);
  expect_user(training, 0, -1);
  static const char *const backward[] = {
      "at::empty(long)",
      "??",
      "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)",
      "??",
      "torch::autograd::Engine::thread_main(std::shared_ptr<GraphTask> const&)",
      "??",
  };
  expect_user(backward, 3, 1);
}

static void test_path_base(void **state) {
  (void)state;
  expect_str(vs_path_base(VS_STR("/a/b.py")), "b.py");
  expect_str(vs_path_base(VS_STR("c:\\a\\b.py")), "b.py");
  expect_str(vs_path_base(VS_STR("b.py")), "b.py");
  expect_str(vs_path_base(VS_STR("/")), "");
  expect_str(vs_path_base(VS_STR("")), "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_user_frame),
      cmocka_unit_test(test_path_base),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
