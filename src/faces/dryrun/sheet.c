#include "faces/dryrun/sheet.h"
#include "base/check.h"
#include "os/child.h"

void vs_sheet_end(vs_sheet *p, const char *label, vs_style style) {
  enum { LABEL = 15 };
  if (p->line.status != VS_OK && p->screen->text.status == VS_OK) p->screen->text.status = p->line.status;
  vs_screen_labelled(p->screen, label, LABEL, style, vs_text_view(&p->line));
}

void vs_sheet_headline(vs_sheet *p, vs_style style) {
  vs_screen_style(p->screen, style);
  vs_screen_paragraphs(p->screen, 0, vs_text_view(&p->line));
  vs_screen_style(p->screen, VS_STYLE_PLAIN);
}

vs_str vs_sheet_short_name(vs_json named) {
  const vs_str whole = vs_reply_str(named, "name"), maker = VS_STR("NVIDIA ");
  return vs_str_starts(whole, maker) ? (vs_str){whole.data + maker.size, whole.size - maker.size} : whole;
}

/* Cards of which only the size was given: the name of the one that was chosen for it would look like the user's choice. */
static void put_size_of(vs_sheet *p, vs_json card, size_t count) {
  if (count == 1) vs_text_cstr(&p->line, "a GPU with ");
  else vs_text_format(&p->line, "%U GPUs with ", (uint64_t)count);
  vs_sheet_bytes(p, vs_reply_u64(card, "total_bytes"));
  vs_text_cstr(&p->line, count > 1 ? " each (simulated)" : " (simulated)");
}

static bool is_alike(vs_json a, vs_json b) {
  return vs_str_equal(vs_reply_str(a, "name"), vs_reply_str(b, "name")) &&
         vs_reply_u64(a, "total_bytes") == vs_reply_u64(b, "total_bytes") &&
         vs_reply_bool(a, "is_only_size") == vs_reply_bool(b, "is_only_size");
}

void vs_sheet_failure(vs_sheet *p, vs_json reply) {
  const uint64_t number = vs_reply_u64(reply, "signal");
  if (number != 0) vs_text_format(&p->line, "ended by signal %U (%s)", number, vs_signal_text((int)number));
  else vs_text_format(&p->line, "exit status %D", vs_reply_i64(reply, "exit_code"));
}

void vs_sheet_machine(vs_sheet *p) {
  const size_t count = vs_json_count(p->cards);
  const vs_json first = vs_json_at(p->cards, 0);
  size_t alike = 0;
  for (size_t i = 0; i < count; i++) alike += is_alike(vs_json_at(p->cards, i), first);
  if (vs_reply_bool(first, "is_only_size") && alike == count) {
    put_size_of(p, first, count);
    return;
  }
  if (count > 1 && alike == count) vs_text_format(&p->line, "%U x ", (uint64_t)count);
  else if (count > 1) vs_text_format(&p->line, "%U GPUs, the first of them ", (uint64_t)count);
  if (vs_reply_bool(first, "is_only_size")) put_size_of(p, first, 1);
  else vs_sheet_name(p, first);
}

void vs_sheet_shares(vs_sheet *p, vs_json card) {
  vs_sheet_bytes(p, vs_reply_u64(card, "needed_bytes"));
  vs_text_cstr(&p->line, " of ");
  vs_sheet_bytes(p, vs_reply_u64(card, "total_bytes"));
}

uint64_t vs_sheet_torch_sum(const vs_sheet *p, const char *name) {
  uint64_t sum = 0;
  for (size_t i = 0; i < vs_json_count(p->cards); i++)
    sum += vs_reply_u64(vs_reply_at(vs_json_at(p->cards, i), "torch"), name);
  return sum;
}

/* The card that the report is about. */
static vs_json busiest(vs_json reply) {
  const vs_json cards = vs_reply_at(reply, "devices"), oom = vs_reply_at(reply, "oom");
  size_t best = 0;
  VS_ASSERT(vs_reply_is_unknown(oom) || vs_reply_u64(oom, "device") < vs_json_count(cards));
  if (!vs_reply_is_unknown(oom)) return vs_json_at(cards, (size_t)vs_reply_u64(oom, "device"));
  for (size_t i = 1; i < vs_json_count(cards); i++)
    if (vs_reply_u64(vs_json_at(cards, i), "needed_bytes") >
        vs_reply_u64(vs_json_at(cards, best), "needed_bytes"))
      best = i;
  return vs_json_at(cards, best);
}

/* The device of the main process with an out-of-memory error, else the one with the highest peak. */
static vs_json device_of(vs_json devices) {
  size_t best = 0;
  for (size_t i = 1; i < vs_json_count(devices); i++) {
    const vs_json a = vs_json_at(devices, best), b = vs_json_at(devices, i);
    const bool a_failed = vs_json_count(vs_reply_at(a, "ooms")) != 0,
               b_failed = vs_json_count(vs_reply_at(b, "ooms")) != 0;
    const uint64_t a_peak = vs_reply_u64(vs_reply_at(a, "peak"), "requested_bytes");
    const uint64_t b_peak = vs_reply_u64(vs_reply_at(b, "peak"), "requested_bytes");
    if (b_failed != a_failed ? b_failed : b_peak > a_peak) best = i;
  }
  return vs_json_at(devices, best);
}

void vs_sheet_init(vs_sheet *p, vs_screen *screen, vs_json reply) {
  *p = (vs_sheet){.screen = screen,
                  .reply = reply,
                  .verdict = vs_reply_str(reply, "verdict"),
                  .cards = vs_reply_at(reply, "devices"),
                  .card = busiest(reply),
                  .device = device_of(vs_reply_at(reply, "report"))};
  vs_scratch_init(&p->line, screen);
}

vs_json vs_sheet_pool(vs_json card, const char **owner) {
  static const char *const owners[][2] = {{"jax", "JAX"}, {"tensorflow", "TensorFlow"}};
  for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++) {
    const vs_json pool = vs_reply_at(card, owners[i][0]);
    *owner = owners[i][1];
    if (!vs_reply_is_unknown(pool)) return pool;
  }
  *owner = NULL;
  return (vs_json){0};
}

void vs_sheet_put_ended(vs_text *cell, vs_json row) {
  const vs_str verdict = vs_reply_str(row, "verdict");
  const int64_t code = vs_reply_i64(row, "exit_code");
  if (vs_str_equal(verdict, VS_STR("fits"))) vs_text_cstr(cell, "fits");
  else if (vs_str_equal(verdict, VS_STR("handled"))) vs_text_cstr(cell, "handled");
  else if (vs_str_equal(verdict, VS_STR("does_not_fit"))) vs_text_cstr(cell, "out of memory");
  else if (vs_str_equal(verdict, VS_STR("no_cuda")) && code == 0) vs_text_cstr(cell, "no GPU used");
  else vs_text_format(cell, "exit status %D", code);
}

void vs_sheet_put_figure(const vs_sheet *p, vs_text *cell, vs_json figure) {
  if (vs_reply_is_unknown(figure)) vs_text_byte(cell, '-');
  else vs_text_bytes(cell, vs_json_u64(figure, 0), p->screen->unit);
}

void vs_sheet_put_requests(vs_text *text, vs_json cache) {
  const double requests = vs_reply_f64(cache, "requests");
  const uint64_t hundredths = requests < 1e15 ? (uint64_t)(requests * 100) : 0;
  vs_text_count(text, hundredths / 100);
  vs_text_format(text, ".%U%U", hundredths / 10 % 10, hundredths % 10);
}
