/* What a scene looks like: figures that add up, text that is safe, every size of screen. */
#include "made.h"
#include "faces/tui/json.h"
#include "faces/tui/words.h"
#include "support/random.h"

typedef struct fixture {
  vs_top_sample sample;
  vs_top_history history;
  vs_top_state state;
  vs_top_view view;
  vs_canvas canvas;
  vs_text text;
  uint64_t silent_us;
  uint32_t page;
} fixture;

static void begin(fixture *f) {
  memset(f, 0, sizeof *f);
  made_loaded(&f->sample);
  vs_top_state_init(&f->state, 1000000);
  vs_top_history_add(vs_host_default(), &f->history, &f->sample);
  f->canvas.has_unicode = true;
  vs_text_init(&f->text, vs_host_default(), NULL);
}

static void end(fixture *f) {
  const vs_host *host = vs_host_default();
  vs_top_sample_deinit(host, &f->sample);
  vs_top_history_deinit(host, &f->history);
  vs_top_view_deinit(host, &f->view);
  vs_canvas_deinit(host, &f->canvas);
  vs_text_deinit(&f->text);
}

static void put_scene(fixture *f, const vs_top_scene *scene, uint32_t columns, uint32_t rows, vs_text *text) {
  expect_ok(vs_top_draw(vs_host_default(), &f->canvas, scene, columns, rows, &f->page));
  assert_null(vs_canvas_check(&f->canvas));
  text->bytes.count = 0;
  vs_canvas_write(&f->canvas, text, false);
  vs_text_byte(text, 0);
  expect_ok(text->status);
}

/* What --json prints says all that is drawn of it once: it is written, read, and drawn again. */
static void expect_same_from_json(fixture *f, uint32_t columns, uint32_t indent) {
  const vs_host *host = vs_host_default();
  vs_text text, drawn;
  vs_json_doc document;
  vs_error error;
  vs_top_sample again;
  vs_top_view view = {0};
  size_t left_out;
  const vs_top_scene scene = {.sample = &f->sample, .state = &f->state, .view = &f->view};
  const vs_top_scene scene_again = {.sample = &again, .state = &f->state, .view = &view};
  vs_text_init(&text, host, NULL);
  vs_text_init(&drawn, host, NULL);
  vs_top_put_json(&text, &f->sample, &f->view, indent);
  expect_ok(vs_json_doc_init(&document, host, vs_text_view(&text), &error));
  expect_ok(vs_top_take_json(host, vs_json_root(&document), &again, &left_out));
  assert_int_equal(left_out, f->view.left_out);
  memcpy(again.clock, f->sample.clock, sizeof again.clock); /* the made machine's is of no time zone */
  expect_ok(vs_top_view_build(host, &view, &again, &f->state));
  view.left_out = left_out;
  put_scene(f, &scene, columns, VS_LAYOUT_UNBOUNDED, &drawn);
  put_scene(f, &scene_again, columns, VS_LAYOUT_UNBOUNDED, &text);
  assert_string_equal(text.bytes.data, drawn.bytes.data);
  vs_top_view_deinit(host, &view);
  vs_top_sample_deinit(host, &again);
  vs_json_doc_deinit(&document);
  vs_text_deinit(&text);
  vs_text_deinit(&drawn);
}

/* The screen as text, zero terminated; rows 0: once. */
static const char *draw(fixture *f, uint32_t columns, uint32_t rows) {
  expect_ok(vs_top_view_build(vs_host_default(), &f->view, &f->sample, &f->state));
  const vs_top_scene scene = {.sample = &f->sample,
                              .history = rows == 0 ? NULL : &f->history,
                              .state = &f->state,
                              .view = &f->view,
                              .now_us = f->sample.at_us,
                              .silent_us = f->silent_us};
  if (columns == 80 || columns == 160) expect_same_from_json(f, columns, columns == 80 ? 0 : 2);
  put_scene(f, &scene, columns, rows, &f->text);
  return f->text.bytes.data;
}

static void expect_has(const char *screen, const char *part) {
  if (strstr(screen, part) == NULL) fail_msg("\"%s\" is not on the screen:\n%s", part, screen);
}
static void expect_lacks(const char *screen, const char *part) {
  if (strstr(screen, part) != NULL) fail_msg("\"%s\" is on the screen:\n%s", part, screen);
}

/* ---- rows that add up */

static uint64_t figure_behind(const char *screen, const char *label) {
  const char *at = strstr(screen, label);
  assert_non_null(at);
  uint64_t value = 0;
  for (at += strlen(label); *at == ' '; at++) {
  }
  for (; (*at >= '0' && *at <= '9') || *at == '.'; at++)
    if (*at != '.') value = value * 10 + (uint64_t)(*at - '0');
  return value;
}

static void test_sums(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  const char *screen = draw(&f, 80, 24);
  expect_has(screen, "used               84.52  60%");
  expect_has(screen, "  3 processes      84.50  60%");
  expect_has(screen, "  unattributed      0.02  <1%");
  expect_has(screen, "free               55.28  39%");
  expect_has(screen, "reserved            0.60  <1%");
  expect_has(screen, "total             140.40 100%");
  end(&f);
}

/* Also as printed, for any figures: used = processes + unattributed, total = used + free + reserved. */
static void test_sums_as_printed(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  test_random random = {.state = 7};
  for (int i = 0; i < 300; i++) {
    vs_devices_memory *m = &f.sample.devices.data[0].memory;
    const uint64_t reserved = random_below(&random, MADE_GIB), used = random_below(&random, 100 * MADE_GIB),
                   free = random_below(&random, 100 * MADE_GIB), attributed = random_below(&random, used + 1);
    *m = (vs_devices_memory){.total = made_known(reserved + used + free),
                             .reserved = made_known(reserved),
                             .used = made_known(used),
                             .free = made_known(free),
                             .attributed = made_known(attributed),
                             .unattributed = made_known(used - attributed),
                             .api = 2};
    const char *screen = strstr(draw(&f, 80, 24), "GPU 0 holds");
    assert_non_null(screen);
    const uint64_t printed = figure_behind(screen, "used ");
    assert_in_range(figure_behind(screen, "reserved "),
                    (reserved * 100 / MADE_GIB) < 1 ? 0 : reserved * 100 / MADE_GIB - 1,
                    reserved * 100 / MADE_GIB + 2);
    assert_int_equal(printed, figure_behind(screen, "3 processes ") + figure_behind(screen, "unattributed "));
    assert_int_equal(figure_behind(screen, "total "),
                     printed + figure_behind(screen, "free ") + figure_behind(screen, "reserved "));
  }
  end(&f);
}

/* ---- unknown values have a reason */

static void test_reasons(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  vs_top_device *device = &f.sample.devices.data[0];
  device->temperature = made_unknown(VS_REASON_NO_PERMISSION);
  device->power = device->utilization = made_unknown(VS_REASON_NOT_SUPPORTED);
  const char *screen = draw(&f, 80, 24);
  expect_has(screen, "denied");
  expect_has(screen, "n/a");
  expect_has(screen, "GPU 0: utilisation, power: not supported by this GPU, driver or system;");
  expect_has(screen, "temperature: not permitted to this user");
  device->memory.used = device->memory.free = device->memory.reserved = device->memory.attributed =
      device->memory.unattributed = made_unknown(VS_REASON_LOST);
  screen = draw(&f, 80, 24);
  expect_has(screen, "the GPU is"); /* in place of the bar */
  expect_has(screen, "used                lost");
  device->memory.total = device->memory.used;
  (void)draw(&f, 80, 24);
  end(&f);
}

static void test_notes(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  char note[VS_TOP_NOTE];
  vs_top_device *device = &f.sample.devices.data[0];
  vs_top_note(note, device);
  assert_string_equal(note, "");
  device->clock_reasons = made_known(1 | 4);
  vs_top_note(note, device);
  assert_string_equal(note, ""); /* idle, at its power limit: as usual */
  device->clock_reasons = made_known(64 | 8);
  device->recovery_action = made_known(1);
  vs_top_note(note, device);
  assert_string_equal(note, "GPU 0: the driver wants this GPU to be reset; slowed down by heat");
  device->recovery_action = made_known(0);
  device->clock_reasons = made_known(128 | 8);
  device->memory.api = 1;
  vs_top_note(note, device);
  assert_string_equal(note,
                      "GPU 0: slowed down by the power supply; this driver counts its own reserve as used");
  expect_has(draw(&f, 80, 24), "reserved         in used");
  end(&f);
}

static void test_troubles(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  f.silent_us = 12345678;
  expect_has(draw(&f, 80, 24), "The driver has not answered for 12 s: the figures are old");
  vs_format(f.sample.trouble, sizeof f.sample.trouble, "the driver is not loaded");
  expect_has(draw(&f, 80, 24), "The driver is gone, trying again: the driver is not loaded");
  expect_has(draw(&f, 160, 50), "GPU 0 used");
  end(&f);
}

/* Everything that is drawn of a device, at once: the document has it all. */
static void test_every_note(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  vs_top_device *mig = made_device(&f.sample, "NVIDIA H200 MIG 1g.18gb", 16384, 15, 0);
  f.sample.devices.data[0].info.is_divided = true;
  f.sample.devices.data[0].recovery_action = made_known(1);
  f.sample.devices.data[0].memory.is_shared = true;
  f.sample.devices.data[0].may_miss = true;
  f.sample.devices.data[1].temperature = made_known((uint64_t)-5);
  mig->info.is_mig = mig->is_sharing = true;
  mig->info.index = mig->info.parent = 0;
  mig->info.mig_index = 2;
  vs_format(mig->label, sizeof mig->label, "0:2");
  made_process(&f.sample, 2, 777, "cy", 10, "python mig.py");
  const char *screen = draw(&f, 160, 50);
  expect_has(screen, "the driver wants this GPU to be reset");
  expect_has(screen, "its memory is the machine's");
  expect_has(screen, "-5");
  f.state.is_one_device = true;
  expect_has(draw(&f, 160, 50), "mig.py"); /* a divided card stands for its MIG devices */
  vs_format(f.state.device_uuid, sizeof f.state.device_uuid, "%s", f.sample.devices.data[2].info.uuid);
  expect_has(draw(&f, 160, 50), "its memory is that of its GPU instance");
  end(&f);
}

/* ---- processes */

static void test_hidden_process(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  const char *screen = draw(&f, 160, 50);
  expect_has(screen, "991234  -");
  expect_has(screen, "(pid not visible here)");
  expect_has(screen, "3f2a9c1b77de  /usr/bin/python3 -m ipykernel_launcher");
  f.state.wanted.users = "nobody";
  screen = draw(&f, 80, 24);
  expect_has(screen, "4 hidden");
  expect_has(screen, "no process is left by the filter");
  end(&f);
}

static void test_paging(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  for (uint64_t i = 0; i < 60; i++) made_process(&f.sample, 1, 40000 + i, "many", 1, "worker");
  f.state.sort = VS_TOP_SORT_PID;
  const char *screen = draw(&f, 80, 24);
  expect_has(screen, "1-11 of 64");
  expect_lacks(screen, "40059");
  vs_top_press(&f.state, &f.sample, &f.view, VS_KEY_END, f.page);
  expect_has(draw(&f, 80, 24), "991234");
  vs_top_press(&f.state, &f.sample, &f.view, VS_KEY_UP, f.page);
  screen = draw(&f, 80, 24);
  expect_has(screen, "40059");
  expect_has(screen, "56-64 of 64");
  end(&f);
}

/* A command line may hold anything: no byte of it reaches the terminal as more than a picture of itself. */
static void test_hostile_text(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  vs_format(f.sample.processes.data[0].command, VS_TOP_COMMAND, "%s",
            "\x1b[2Jpwned\a\r\n\xe2\x80\xae"
            "evil \xff\xfe \xe4\xb8\xad\xe6\x96\x87 e\xcc\x81");
  vs_format(f.sample.processes.data[0].user, VS_TOP_USER, "%s",
            "\x9b"
            "31m");
  const char *screen = draw(&f, 160, 50);
  for (const char *c = screen; *c != 0; c++) assert_true(*c == '\n' || (uint8_t)*c >= 0x20);
  expect_has(screen, "\\x1b[2Jpwned\\x07\\x0d\\x0a\\xe2\\x80\\xaeevil \\xff\\xfe \xe4\xb8\xad\xe6\x96\x87 e");
  expect_has(screen, "\\x9b31m");
  end(&f);
}

/* ---- every size: nothing outside, nothing unsafe; without Unicode, ASCII alone */

static void check_screen(fixture *f, uint32_t columns, uint32_t rows) {
  const char *screen = draw(f, columns, rows);
  uint32_t lines = 0;
  for (const char *c = screen; *c != 0; c++) {
    lines += *c == '\n';
    if (!f->canvas.has_unicode) assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
  }
  if (rows != 0) assert_int_equal(lines, rows);
}

static void test_every_size(void **state) {
  (void)state;
  const uint32_t more_columns = (uint32_t)test_repetitions(7, 31);
  for (int choice = 0; choice < 16; choice++) {
    fixture f;
    begin(&f);
    for (int i = 0; i < 9 && (choice & 8) != 0; i++)
      made_device(&f.sample, "NVIDIA GeForce RTX 4080 SUPER", 16384, 4000, 0);
    f.canvas.has_unicode = (choice & 1) != 0;
    f.state.has_help = (choice & 2) != 0;
    f.state.has_details = (choice & 4) != 0;
    f.state.chosen_pid = 2001;
    vs_format(f.state.chosen_uuid, sizeof f.state.chosen_uuid, "%s", f.sample.devices.data[0].info.uuid);
    for (uint32_t columns = 1; columns <= 180; columns += columns < 90 ? more_columns : 31)
      for (uint32_t rows = 0; rows <= 60; rows += rows < 26 ? 1 : 9) check_screen(&f, columns, rows);
    end(&f);
  }
}

static void test_no_devices(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  f.sample.devices.count = f.sample.processes.count = 0;
  for (uint32_t columns = 1; columns < 170; columns += 12)
    for (uint32_t rows = 0; rows < 50; rows += 3) check_screen(&f, columns, rows);
  end(&f);
}

/* ---- words */

static void test_words(void **state) {
  (void)state;
  char word[VS_TOP_WORD];
  static const struct {
    uint64_t part, whole;
    const char *text;
  } shares[] = {{0, 5, "0%"},   {1, 1000, "<1%"}, {5, 1000, "1%"}, {999, 1000, "99%"},
                {1, 1, "100%"}, {1, 2, "50%"},    {2, 1, "100%"}};
  for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
    vs_top_put_share(word, made_known(shares[i].part), made_known(shares[i].whole));
    assert_string_equal(word, shares[i].text);
  }
  vs_top_put_share(word, made_known(1), made_known(0));
  assert_string_equal(word, "-");
  static const struct {
    uint64_t s;
    const char *text;
  } ages[] = {{0, "0s"},       {99, "99s"},        {100, "1m"},       {5999, "99m"},
              {6000, "1h40m"}, {359999, "99h59m"}, {360000, "4d04h"}, {8640000, "100d00h"}};
  for (size_t i = 0; i < sizeof ages / sizeof ages[0]; i++) {
    vs_top_put_age(word, ages[i].s * 1000000);
    assert_string_equal(word, ages[i].text);
  }
  vs_top_put_celsius(word, (vs_metric){.reason = VS_REASON_KNOWN, .value = (uint64_t)-7}, false);
  assert_string_equal(word, "-7C");
  vs_top_put_gib(word, made_known(MADE_GIB + MADE_GIB / 2));
  assert_string_equal(word, "1.50");
  vs_top_put_gib(word, made_known(1023 * MADE_MIB + 1023 * 1024));
  assert_string_equal(word, "1.00");
  assert_int_equal(vs_top_ink_of_memory(9, 100), VS_INK_LIGHT);
  assert_int_equal(vs_top_ink_of_memory(10, 100), VS_INK_MODERATE);
  assert_int_equal(vs_top_ink_of_memory(79, 100), VS_INK_MODERATE);
  assert_int_equal(vs_top_ink_of_memory(80, 100), VS_INK_HEAVY);
  assert_int_equal(vs_top_ink_of_utilization(made_known(74)), VS_INK_MODERATE);
  assert_int_equal(vs_top_ink_of_utilization(made_known(75)), VS_INK_HEAVY);
}

static void test_wrapping(void **state) {
  (void)state;
  const vs_area narrow = {0, 0, 10, 0};
  assert_int_equal(vs_canvas_wrap(NULL, narrow, VS_INK_PLAIN, VS_STR("")), 0);
  assert_int_equal(vs_canvas_wrap(NULL, narrow, VS_INK_PLAIN, VS_STR("ten digits")), 1);
  assert_int_equal(vs_canvas_wrap(NULL, narrow, VS_INK_PLAIN, VS_STR("eleven digs")), 2);
  assert_int_equal(vs_canvas_wrap(NULL, narrow, VS_INK_PLAIN, VS_STR("abcdefghijklmnopqrstu")), 3);
  assert_int_equal(
      vs_canvas_wrap(NULL, (vs_area){0, 0, 1, 0}, VS_INK_PLAIN, VS_STR("\xe4\xb8\xad\xe6\x96\x87")), 2);
}

static vs_status draw_once(const vs_host *host, void *ctx) {
  fixture *f = ctx;
  vs_canvas canvas = {.has_unicode = true};
  const vs_top_scene scene = {
      .sample = &f->sample, .history = &f->history, .state = &f->state, .view = &f->view};
  const vs_status status = vs_top_draw(host, &canvas, &scene, 80, 24, &f->page);
  vs_canvas_deinit(host, &canvas);
  return status;
}

static void test_without_memory(void **state) {
  (void)state;
  fixture f;
  begin(&f);
  (void)draw(&f, 80, 24);
  (void)fault_prove(draw_once, &f);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sums),           cmocka_unit_test(test_sums_as_printed),
      cmocka_unit_test(test_reasons),        cmocka_unit_test(test_notes),
      cmocka_unit_test(test_troubles),       cmocka_unit_test(test_every_note),
      cmocka_unit_test(test_hidden_process), cmocka_unit_test(test_paging),
      cmocka_unit_test(test_hostile_text),   cmocka_unit_test(test_every_size),
      cmocka_unit_test(test_no_devices),     cmocka_unit_test(test_words),
      cmocka_unit_test(test_wrapping),       cmocka_unit_test(test_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
