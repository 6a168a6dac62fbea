/* Kinds of frames, their names, and what a stack is attributed to. */
#include "analyze/frames.h"
#include "support/snapshots.h"
#include "unit/analyze/made.h"

static void expect_words(vs_str got, const char *wanted) {
  if (!vs_str_equal(got, vs_str_from(wanted))) fail_msg("%.*s, not %s", (int)got.size, got.data, wanted);
}

/* One letter for a frame: n noise, u user's, l library's Python, b backward pass, c other C++. With `python`, the snapshot
 * has a frame of Python, too. */
static char kind_of(const char *name, const char *file, bool python) {
  made m = made_begin();
  if (python) (void)made_frame(&m, "main", "/home/user/train.py", 1);
  const uint32_t frame = made_frame(&m, name, file, 5);
  vs_frames frames;
  expect_ok(vs_frames_init(m.host, m.snapshot, &frames));
  const vs_frame_kind kind = vs_frames_kind(&frames, frame);
  vs_frames_deinit(m.host, &frames);
  made_end(&m);
  return "ncblu"[kind];
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
      {"call", "/scratch/cache/v3/cv33u4yhdl65fdwuqdnj6ar76dzl4fx3i2en3vg5ufj32qwlasnr.py", 'l'},
      {"call", "/scratch/cache/v4/cv33u4yhdl65fdwuqdnj6ar76dzl4fx3i2en3vg5ufj32qwlasnr.py",
       'u'}, /* not the folder of that name */
      {"at::native::add(at::Tensor const&)", "??", 'c'},
      {"operator()", "Exceptions.h", 'c'},
      {"cublasCreate_v2", "/usr/lib/libcublas.so.12", 'c'},
      {"clone", "/lib/libc.so.6", 'n'}, /* the start of a thread */
      {"clone", "/home/user/model.py", 'u'},
      {"clone3", "../sysdeps/unix/sysv/linux/x86_64/clone3.S", 'n'},
      {"start_thread", "./nptl/pthread_create.c", 'n'},
      {"vs_live_malloc", "/src/vramscope/src/live/device.c", 'n'},
      {"std::vector<at::Tensor, std::allocator<at::Tensor> >::~vector()", "??", 'n'},
      {"c10::intrusive_ptr<c10::StorageImpl, c10::detail::D<c10::StorageImpl> >::reset_()", "", 'n'},
      {"slot_nb_add", "/src/Objects/typeobject.c", 'c'},
      {"kernel", "op.cu", 'c'},
      {"execute_native_thread_routine", "thread48.o", 'n'},
      {"torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)", "??", 'b'},
      {"torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)",
       "/pytorch/torch/csrc/autograd/generated/Functions.cpp", 'b'},
      {"void torch::autograd::accumulate<torch::autograd::AccumulateGrad::apply(int)::{lambda()#1}>(int)",
       "a.cpp", 'c'},
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
    if (kind_of(cases[i].name, cases[i].file, true) != cases[i].kind)
      fail_msg("%s in %s is %c, not %c", cases[i].name, cases[i].file,
               kind_of(cases[i].name, cases[i].file, true), cases[i].kind);
}

/* Without any Python, functions with a line are the program's own, unless a library has them. */
static void test_kinds_of_c_programs(void **state) {
  (void)state;
  static const struct {
    const char *name, *file;
    char kind;
  } cases[] = {
      {"load_weights", "/home/user/model.c", 'u'},
      {"Model::load(int)", "model.cpp", 'u'},
      {"main", "../../src/model.c", 'u'},
      {"load_weights", "/home/user/model", 'u'}, /* no C file: as good as a script */
      {"vs_live_malloc", "/src/vramscope/src/live/device.c", 'n'},
      {"__libc_start_call_main", "../sysdeps/nptl/libc_start_call_main.h", 'n'},
      {"qsort_r", "./stdlib/qsort.c", 'c'},
      {"void std::__invoke_impl<void>(int)", "/usr/include/c++/12/bits/invoke.h", 'c'},
      {"at::native::empty_cuda(long)", "/pytorch/aten/src/ATen/native/cuda/TensorFactories.cu", 'c'},
      {"load_weights+0x14", "/home/user/libmodel.so", 'c'},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (kind_of(cases[i].name, cases[i].file, false) != cases[i].kind)
      fail_msg("%s in %s is %c, not %c", cases[i].name, cases[i].file,
               kind_of(cases[i].name, cases[i].file, false), cases[i].kind);
}

/* The stacks of a program built with -g, as they are recorded. */
static void test_a_c_program(void **state) {
  (void)state;
  made m = made_begin();
  const uint32_t ids[] = {
      made_frame(&m, "vs_live_malloc", "../../src/live/device.c", 170),
      made_frame(&m, "need", "/home/user/model.c", 8),
      made_frame(&m, "main", "/home/user/model.c", 29),
      made_frame(&m, "__libc_start_call_main", "../sysdeps/nptl/libc_start_call_main.h", 58),
      made_frame(&m, "_start", "/home/user/model", 0),
      made_frame(&m, "helper", "/home/user/model", 0),
  };
  static const char kinds[] = "nuunnc";
  const uint32_t stack = made_stack_of(&m, ids, 5);
  vs_frames frames;
  expect_ok(vs_frames_init(m.host, m.snapshot, &frames));
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    assert_int_equal("ncblu"[vs_frames_kind(&frames, ids[i])], kinds[i]);
  assert_int_equal(vs_frames_user(&frames, stack), ids[1]);
  vs_frames_deinit(m.host, &frames);
  made_end(&m);
}

static void test_short_names(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"at::native::empty_cuda(c10::ArrayRef<long>, long)", "at::native::empty_cuda"},
      {"at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>)", "at::detail::_empty_generic"},
      {"std::vector<at::Tensor, std::allocator<at::Tensor> > f::g()", "f::g"},
      {"torch::cuda::(anonymous namespace)::gather()", "torch::cuda::gather"},
      {"torch::autograd::Node::operator()(std::vector<at::Tensor>&&)", "torch::autograd::Node::operator()"},
      {"std::ostream& a::operator<< <char>(std::ostream&, char)", "a::operator<<"},
      {"bool a::operator<(a::B const&)", "a::operator<"},
      {"a::B::operator bool() const", "a::B::operator bool"},
      {"my_operator_x(int)", "my_operator_x"},
      {"(unnamed)", "(unnamed)"},
      {"<", "<"},
      {"??", "??"},
      {"main", "main"},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    vs_text text;
    vs_text_init(&text, vs_host_default(), NULL);
    vs_put_function(&text, vs_str_from(cases[i][0]));
    expect_words(vs_text_view(&text), cases[i][1]);
    vs_text_deinit(&text);
  }
}

static void test_autograd_nodes(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"torch::autograd::generated::AddmmBackward0::apply(std::vector<at::Tensor>&&)", "AddmmBackward0"},
      {"std::vector<at::Tensor> torch::autograd::AccumulateGrad::apply(std::vector<at::Tensor>&&)",
       "AccumulateGrad"},
      {"torch::autograd::CppNode<my::Function>::apply(std::vector<at::Tensor>&&)", "CppNode"},
      {"torch::autograd::PyNode::apply", "PyNode"},
      {"torch::autograd::Engine::evaluate_function(int)", "Engine::evaluate_function"},
      {"f<torch::autograd::PyNode::apply(int)>(int)", ""},
      {"torch::autograd::apply(int)", ""},
      {"apply", ""},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_words(vs_autograd_node(vs_str_from(cases[i][0])), cases[i][1]);
}

static bool has_line(const char *name, const char *file, int64_t line) {
  made m = made_begin();
  const uint32_t frame = made_frame(&m, name, file, line);
  vs_frames frames;
  expect_ok(vs_frames_init(m.host, m.snapshot, &frames));
  const bool has = vs_frames_has_line(&frames, frame);
  vs_frames_deinit(m.host, &frames);
  made_end(&m);
  return has;
}

static void test_lines(void **state) {
  (void)state;
  assert_false(has_line("c10::f()", "/lib/libc10.so", 108146796));
  assert_false(has_line("f", "none", 0));
  assert_false(has_line("f", "a.py", -1));
  assert_true(has_line("f", "a.py", 1));
  /* where the debug information was read, by whichever tool and in whichever format */
  assert_true(has_line("load", "model.c", 12));
  assert_true(has_line("c10::f()", "/pytorch/c10/core/a.cpp", 12));
  assert_false(has_line("c10::f()", "a.cpp", 0));
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

/* ---- words */

static void expect_label(vs_frames *frames, uint32_t frame, const char *label) {
  vs_text text;
  vs_text_init(&text, vs_host_default(), NULL);
  vs_frames_put_label(frames, &text, frame);
  expect_words(vs_text_view(&text), label);
  vs_text_deinit(&text);
}

static void test_labels(void **state) {
  (void)state;
  made m = made_begin();
  const char *const node = "torch::autograd::generated::MmBackward0::apply(std::vector<at::Tensor>&&)";
  const uint32_t python = made_frame(&m, "forward", "/home/user/model.py", 7),
                 nameless = made_frame(&m, "", "/home/user/model.py", 8),
                 lineless = made_frame(&m, "forward", "none", 0),
                 native = made_frame(&m, "at::native::empty(long)", "/lib/libtorch.so", 123),
                 no_function = made_frame(&m, "", "/lib/libtorch.so", 123),
                 with_line = made_frame(&m, "at::native::empty(long)", "/pytorch/empty.cpp", 12),
                 backward = made_frame(&m, node, "/pytorch/Functions.cpp", 500);
  vs_frames frames;
  expect_ok(vs_frames_init(m.host, m.snapshot, &frames));
  expect_label(&frames, python, "model.py:7 forward");
  expect_label(&frames, nameless, "model.py:8");
  expect_label(&frames, lineless, "forward");
  expect_label(&frames, native, "at::native::empty");
  expect_label(&frames, no_function, "libtorch.so");
  expect_label(&frames, with_line, "empty.cpp:12 at::native::empty");
  expect_label(&frames, backward, "backward pass, MmBackward0");
  vs_frames_deinit(m.host, &frames);
  made_end(&m);
}

/* A line of the forward pass: as a frame it is its place, as an owner it is said to be of the backward pass. */
static void test_forward_lines(void **state) {
  (void)state;
  vs_snapshot *s = snapshot_of_json(
      "{\"segments\": [], \"device_traces\": [[{\"action\": \"alloc\", \"addr\": 4096, \"size\": 512, "
      "\"stream\": 0,"
      " \"frames\": [], \"forward_frames\": [\"  File \\\"/u/model.py\\\", line 7, in forward\"]}]]}");
  const uint32_t stack = vs_events_stack(&s->events, 0), border = vs_stacks_at(&s->stacks, stack).items[0];
  vs_frames frames;
  vs_text text;
  expect_ok(vs_frames_init(vs_host_default(), s, &frames));
  vs_text_init(&text, vs_host_default(), NULL);
  expect_label(&frames, border, "backward pass");
  expect_label(&frames, vs_frames_user(&frames, stack), "model.py:7 forward");
  assert_true(vs_frames_is_border(&frames, border));
  assert_false(vs_frames_is_border(&frames, vs_frames_user(&frames, stack)));
  vs_frames_put_owner(&frames, &text, stack, false, VS_PATH_SHORT);
  vs_text_byte(&text, '|');
  vs_frames_put_owner(&frames, &text, stack, false, VS_PATH_WHOLE);
  expect_words(vs_text_view(&text),
               "backward pass of model.py:7 forward|backward pass of /u/model.py:7 forward");
  vs_text_deinit(&text);
  vs_frames_deinit(vs_host_default(), &frames);
  vs_snapshot_destroy(s);
}

static void test_files_of_one_name(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"/home/u/a/model.py", "a/model.py:5 f"},
      {"/home/u/b/model.py", "b/model.py:5 f"},
      {"/x/one/b/utils.py", "one/b/utils.py:5 f"},
      {"/x/two/b/utils.py", "two/b/utils.py:5 f"},
      {"data.py", "data.py:5 f"},
      {"/x/data.py", "x/data.py:5 f"},
      {"/x/mydata.py", "mydata.py:5 f"},
      {"C:\\a\\run.py", "a\\run.py:5 f"},
      {"C:\\b\\run.py", "b\\run.py:5 f"},
      {"/x/alone.py", "alone.py:5 f"},
  };
  enum { CASES = sizeof cases / sizeof *cases };
  made m = made_begin();
  uint32_t ids[CASES];
  for (size_t i = 0; i < CASES; i++) ids[i] = made_frame(&m, "f", cases[i][0], 5);
  (void)made_frame(&m, "g", "/other/alone.py", 0); /* never shown with a line: nothing to tell apart */
  vs_frames frames;
  expect_ok(vs_frames_init(m.host, m.snapshot, &frames));
  expect_label(&frames, ids[0], "model.py:5 f");
  expect_ok(vs_frames_tell_apart(m.host, &frames));
  for (size_t i = 0; i < CASES; i++) expect_label(&frames, ids[i], cases[i][1]);
  vs_frames_deinit(m.host, &frames);
  made_end(&m);
}

static vs_owner_kind owner_in(bool python, uint32_t stack, bool is_older) {
  made m = made_begin();
  const uint32_t frame =
      python ? made_frame(&m, "main", "/home/user/train.py", 1) : made_frame(&m, "f()", "??", 0);
  (void)made_stack_of(&m, &frame, 1);
  vs_frames frames;
  expect_ok(vs_frames_init(m.host, m.snapshot, &frames));
  const vs_owner_kind kind = vs_frames_owner(&frames, stack, is_older);
  vs_frames_deinit(m.host, &frames);
  made_end(&m);
  return kind;
}

static void test_owners(void **state) {
  (void)state;
  enum { STACK = VS_LIST_EMPTY + 1 };
  assert_int_equal(owner_in(true, STACK, false), VS_OWNER_frame);
  assert_int_equal(owner_in(true, STACK, true), VS_OWNER_frame);
  assert_int_equal(owner_in(true, VS_LIST_NONE, true), VS_OWNER_before);
  assert_int_equal(owner_in(true, VS_LIST_EMPTY, true), VS_OWNER_before);
  assert_int_equal(owner_in(true, VS_LIST_NONE, false), VS_OWNER_unrecorded);
  assert_int_equal(owner_in(true, VS_LIST_EMPTY, false), VS_OWNER_backward);
  assert_int_equal(owner_in(false, VS_LIST_EMPTY, false), VS_OWNER_unrecorded);
  made m = made_begin(); /* nothing was recorded at all */
  vs_frames frames;
  expect_ok(vs_frames_init(m.host, m.snapshot, &frames));
  assert_int_equal(vs_frames_owner(&frames, VS_LIST_NONE, true), VS_OWNER_unrecorded);
  vs_frames_deinit(m.host, &frames);
  made_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kinds),          cmocka_unit_test(test_kinds_of_c_programs),
      cmocka_unit_test(test_a_c_program),    cmocka_unit_test(test_short_names),
      cmocka_unit_test(test_autograd_nodes), cmocka_unit_test(test_labels),
      cmocka_unit_test(test_forward_lines),  cmocka_unit_test(test_files_of_one_name),
      cmocka_unit_test(test_owners),         cmocka_unit_test(test_lines),
      cmocka_unit_test(test_user_frame),     cmocka_unit_test(test_path_base),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
