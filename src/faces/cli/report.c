/* The answer on one screen: for someone whose program has just died. Plain words, the worst first, sizes in the units
 * asked for; what is not known is said, with what would have to be recorded. */
#include "faces/cli/words.h"

enum { LABEL = 15, OWNERS = 5, GROWTHS = 3, OTHERS = 8 };

typedef struct vs_page {
  vs_cli *cli;
  vs_screen *screen;
  vs_text line; /* the sentence that is being made */
  vs_json device;
  vs_json settings;
  uint64_t owners; /* rows of owners */
} vs_page;

/* ---- sentences: begin, add to page->line, end */

static vs_text *begin(vs_page *page) {
  page->line.bytes.count = 0;
  return &page->line;
}

static void end(vs_page *page, const char *label, vs_style style) {
  if (page->line.status != VS_OK && page->screen->text.status == VS_OK)
    page->screen->text.status = page->line.status;
  vs_screen_labelled(page->screen, label, LABEL, style, vs_text_view(&page->line));
}

static void put_bytes(vs_page *page, vs_json object, const char *key) {
  vs_words_bytes(page->screen, &page->line, vs_reply_at(object, key));
}

/* " after 0.52 s (event 8,812)", or what of it is known. */
static void put_moment(vs_page *page, vs_json moment) {
  const vs_json trace = vs_reply_at(page->device, "trace");
  const int64_t event = vs_reply_i64(moment, "event");
  if (event < 0) {
    vs_text_cstr(&page->line, " before the first event");
    return;
  }
  vs_text since;
  vs_scratch_init(&since, page->screen);
  vs_words_time_since(&since, vs_reply_at(moment, "time_us"), vs_reply_at(trace, "first_time_us"));
  const vs_str time = vs_text_view(&since);
  vs_text_cstr(&page->line, time.size != 0 ? " after " : " at event ");
  vs_text_str(&page->line, time);
  if (time.size != 0) vs_text_cstr(&page->line, " (event ");
  vs_text_count(&page->line, (uint64_t)event);
  if (time.size != 0) vs_text_byte(&page->line, ')');
  vs_text_deinit(&since);
}

/* ---- what there is to say about a device */

static bool has_trace(vs_json device) {
  const vs_json trace = vs_reply_at(device, "trace");
  return vs_reply_u64(trace, "allocs") + vs_reply_u64(trace, "frees") + vs_reply_u64(trace, "ooms") != 0;
}

static bool has_stacks(vs_json owners) {
  for (size_t i = 0; i < vs_json_count(owners); i++)
    if (!vs_reply_is_unknown(vs_reply_at(vs_json_at(owners, i), "key"))) return true;
  return false;
}

static vs_json last_oom(vs_json device) {
  const vs_json ooms = vs_reply_at(device, "ooms");
  const size_t count = vs_json_count(ooms);
  return vs_json_at(ooms, count == 0 ? 0 : count - 1);
}

/* The engine's sentences begin small and have no end. */
static void put_sentence(vs_page *page, vs_json sentence, const char *label) {
  if (vs_reply_is_unknown(sentence)) return;
  const vs_str words = vs_json_str(sentence, VS_STR(""));
  vs_screen_safe(begin(page), words);
  end(page, label, VS_STYLE_TITLE);
}

static void put_oom(vs_page *page) {
  const vs_json oom = last_oom(page->device), hole = vs_reply_at(oom, "largest_hole_for_it_bytes");
  const size_t count = vs_json_count(vs_reply_at(page->device, "ooms"));
  if (count == 0) return;
  (void)begin(page);
  put_bytes(page, oom, "requested_bytes");
  vs_text_cstr(&page->line, " could not be had,");
  put_moment(page, oom);
  if (vs_json_count(vs_reply_at(oom, "stack")) != 0) {
    vs_text_cstr(&page->line, ", by ");
    vs_words_label(&page->line, oom);
  }
  if (count > 1) {
    vs_text_cstr(&page->line, "; the last of ");
    vs_words_count(&page->line, count, "such error");
  }
  end(page, "Out of memory", VS_STYLE_BAD);
  (void)begin(page);
  put_bytes(page, oom, "live_requested_bytes");
  vs_text_cstr(&page->line, " in use of ");
  put_bytes(page, oom, "reserved_bytes");
  vs_text_cstr(&page->line, " reserved");
  if (!vs_reply_is_unknown(hole)) {
    vs_text_cstr(&page->line, "; largest unused piece that would do for it: ");
    vs_words_bytes(page->screen, &page->line, hole);
  }
  if (!vs_reply_is_unknown(vs_reply_at(oom, "device_free_bytes"))) {
    vs_text_cstr(&page->line, "; free on the GPU: ");
    put_bytes(page, oom, "device_free_bytes");
  }
  end(page, "  then", VS_STYLE_TITLE);
  put_sentence(page, vs_reply_at(oom, "sentence"), "  why");
  put_sentence(page, vs_reply_at(oom, "advice"), "  try");
}

static void put_owners(vs_page *page, vs_json owners, uint64_t all_bytes, uint64_t owner_count) {
  static const vs_column columns[] = {
      {NULL, VS_COLUMN_RIGHT}, {NULL, VS_COLUMN_RIGHT}, {NULL, VS_COLUMN_BAR}, {NULL, VS_COLUMN_NAME}};
  vs_table table;
  vs_table_begin(&table, page->screen, 4, columns, 4);
  uint64_t rest = all_bytes;
  const size_t shown = vs_json_count(owners) < page->owners ? vs_json_count(owners) : (size_t)page->owners;
  for (size_t i = 0; i < shown; i++) {
    const vs_json owner = vs_json_at(owners, i);
    const uint64_t bytes = vs_reply_u64(owner, "bytes");
    vs_text_bytes(vs_table_cell(&table), bytes, page->screen->unit);
    vs_text_percent(vs_table_cell(&table), bytes, all_bytes);
    vs_table_bar(&table, vs_reply_f64(owner, "share"));
    vs_words_label(vs_table_cell(&table), owner);
    rest -= bytes < rest ? bytes : rest;
  }
  if (owner_count > shown) {
    vs_text_bytes(vs_table_cell(&table), rest, page->screen->unit);
    vs_text_percent(vs_table_cell(&table), rest, all_bytes);
    vs_table_bar(&table, all_bytes == 0 ? 0 : (double)rest / (double)all_bytes);
    vs_words_count(vs_table_cell(&table), owner_count - shown, "other line");
  }
  vs_table_put(&table);
}

static void put_peak(vs_page *page) {
  const vs_json peak = vs_reply_at(page->device, "peak"), owners = vs_reply_at(peak, "owners");
  const uint64_t bytes = vs_reply_u64(peak, "requested_bytes");
  const bool traced = has_trace(page->device), named = has_stacks(owners);
  (void)begin(page);
  put_bytes(page, peak, "requested_bytes");
  if (traced) {
    vs_text_cstr(&page->line, " in use");
    put_moment(page, peak);
    vs_text_cstr(&page->line, "; ");
    put_bytes(page, peak, "reserved_bytes");
    vs_text_cstr(&page->line, " reserved");
  } else {
    vs_text_cstr(&page->line, named ? " at the end, held by these lines" : " at the end");
  }
  if (bytes != 0 && !named)
    vs_text_cstr(&page->line, ". Which lines hold it is not known: no call stacks were recorded");
  end(page, traced ? "Peak" : "In use", VS_STYLE_TITLE);
  if (bytes != 0 && named) put_owners(page, owners, bytes, vs_reply_u64(peak, "owner_count"));
}

static void put_end(vs_page *page) {
  const vs_json state = vs_reply_at(page->device, "end"), most = vs_reply_at(page->device, "peak_reserved");
  (void)begin(page);
  put_bytes(page, state, "reserved_bytes");
  vs_text_cstr(&page->line, " reserved: ");
  put_bytes(page, state, "active_bytes");
  vs_text_cstr(&page->line, " in use");
  if (vs_reply_u64(state, "pending_bytes") != 0) {
    vs_text_cstr(&page->line, " (");
    put_bytes(page, state, "pending_bytes");
    vs_text_cstr(&page->line, " of it freed, but another stream may still use it)");
  }
  vs_text_cstr(&page->line, ", ");
  put_bytes(page, state, "inactive_bytes");
  vs_text_cstr(&page->line, " unused");
  if (vs_reply_u64(most, "reserved_bytes") > vs_reply_u64(state, "reserved_bytes")) {
    vs_text_cstr(&page->line, "; at most ");
    put_bytes(page, most, "reserved_bytes");
    vs_text_cstr(&page->line, " were reserved before");
  }
  end(page, "End", VS_STYLE_TITLE);
}

/* `loose` could go back to the GPU, `stuck` could not. */
static void put_unused_parts(vs_page *page, uint64_t loose, uint64_t stuck) {
  const vs_unit unit = page->screen->unit;
  vs_text_bytes(&page->line, loose != 0 ? loose : stuck, unit);
  if (loose == 0) {
    vs_text_cstr(&page->line, ", none of which can go back to the GPU: it lies between blocks in use");
    return;
  }
  vs_text_cstr(&page->line, " could go back to the GPU (torch.cuda.empty_cache())");
  if (stuck == 0) return;
  vs_text_cstr(&page->line, ", ");
  vs_text_bytes(&page->line, stuck, unit);
  vs_text_cstr(&page->line, " could not: it lies between blocks in use");
}

/* Of what is reserved and in no block: how much of it could go back to the GPU, and how much blocks in use keep from it,
 * which is what fragmentation is. */
static void put_unused(vs_page *page) {
  enum { LITTLE = 20, LOW = 10, HIGH = 4 }; /* parts of what is reserved: 5 %, 10 %, 25 % */
  const vs_json holes = vs_reply_at(page->device, "fragmentation"),
                rounding = vs_reply_at(page->device, "rounding");
  const uint64_t reserved = vs_reply_u64(vs_reply_at(page->device, "end"), "reserved_bytes");
  const uint64_t unused = vs_reply_u64(holes, "free_bytes");
  const uint64_t pages = vs_reply_u64(holes, "pinned_pages_bytes");
  const uint64_t stuck = vs_reply_u64(holes, "pinned_bytes") - pages;
  if (reserved == 0) return;
  (void)begin(page);
  if (unused < reserved / LITTLE) {
    vs_text_cstr(&page->line, unused == 0 ? "nothing" : "too little to matter");
  } else {
    put_unused_parts(page, vs_reply_u64(holes, "releasable_bytes") + pages, stuck);
    vs_text_cstr(&page->line, "; largest piece ");
    put_bytes(page, holes, "largest_hole_bytes");
    vs_text_cstr(&page->line, "; fragmentation: ");
    vs_text_cstr(&page->line, stuck < reserved / LOW    ? "low"
                              : stuck < reserved / HIGH ? "noticeable"
                                                        : "high");
  }
  if (vs_reply_f64(rounding, "share") >= 0.02) {
    vs_text_cstr(&page->line,
                 unused < reserved / LITTLE ? "; rounding sizes up costs " : " Rounding sizes up costs ");
    put_bytes(page, rounding, "lost_bytes");
  }
  end(page, "Unused", VS_STYLE_TITLE);
}

/* What is worth a line: a thousandth of the peak, or more. */
static bool is_growth_shown(vs_page *page, vs_json line) {
  return vs_reply_u64(line, "live_bytes") >=
         vs_reply_u64(vs_reply_at(page->device, "peak"), "requested_bytes") / 1000;
}

static size_t count_growth(vs_page *page) {
  const vs_json growth = vs_reply_at(page->device, "growth");
  size_t count = 0;
  for (size_t i = 0; i < vs_json_count(growth); i++) count += is_growth_shown(page, vs_json_at(growth, i));
  return count;
}

static void put_grower(vs_page *page, vs_json line, bool is_first) {
  vs_words_label(begin(page), line);
  vs_text_cstr(&page->line, " holds ");
  put_bytes(page, line, "bytes_per_step");
  vs_text_cstr(&page->line, " more after each of ");
  vs_words_count(&page->line, vs_reply_u64(line, "steps"), "step");
  vs_text_cstr(&page->line, ", by now ");
  put_bytes(page, line, "live_bytes");
  vs_text_cstr(&page->line, vs_reply_u64(line, "blocks") == 0 ? " (its blocks get bigger, not more)"
                                                              : ": a leak, or a cache without a limit");
  end(page, is_first ? "Growing" : "", VS_STYLE_BAD);
}

static void put_growth(vs_page *page) {
  enum { FEW = 3 }; /* steps in which nothing can be told */
  const vs_json steps = vs_reply_at(page->device, "steps"), growth = vs_reply_at(page->device, "growth");
  if (!has_trace(page->device)) return;
  const uint64_t step_count = vs_reply_is_unknown(steps) ? 0 : vs_reply_u64(steps, "count");
  if (count_growth(page) == 0) {
    (void)begin(page);
    if (step_count == 0) vs_text_cstr(&page->line, "not known: the recording shows no steps that repeat");
    else if (step_count < FEW) vs_text_cstr(&page->line, "not known: the recording shows too few steps");
    else vs_text_cstr(&page->line, "nothing, over ");
    if (step_count >= FEW) vs_words_count(&page->line, step_count, "step");
    end(page, "Growing", VS_STYLE_TITLE);
    return;
  }
  size_t shown = 0;
  for (size_t i = 0; i < vs_json_count(growth) && shown < GROWTHS; i++) {
    if (!is_growth_shown(page, vs_json_at(growth, i))) continue;
    put_grower(page, vs_json_at(growth, i), shown == 0);
    shown++;
  }
}

/* ---- how far to trust it */

static bool is_severity(vs_json finding, const char *severity) {
  return vs_str_equal(vs_reply_str(finding, "severity"), vs_str_from(severity));
}

static bool is_kind(vs_json finding, const char *kind) {
  return vs_str_equal(vs_reply_str(finding, "kind"), vs_str_from(kind));
}

/* What "began late" says already. */
static bool is_implied(vs_json findings, vs_json finding) {
  bool began_late = false;
  for (size_t i = 0; i < vs_json_count(findings); i++)
    began_late = began_late || is_kind(vs_json_at(findings, i), "began_late");
  return began_late && (is_kind(finding, "free_without_alloc") || is_kind(finding, "live_without_alloc"));
}

/* The finding that matters most: contradictions before gaps, in the order of the reply. Notes do not count. */
static vs_json worst_finding(vs_json findings, size_t *count) {
  vs_json worst = vs_json_at(findings, vs_json_count(findings)); /* absent */
  *count = 0;
  for (size_t i = 0; i < vs_json_count(findings); i++) {
    const vs_json finding = vs_json_at(findings, i);
    if (is_severity(finding, "note") || is_implied(findings, finding)) continue;
    ++*count;
    if (vs_json_is_absent(worst) ||
        (is_severity(finding, "contradiction") && !is_severity(worst, "contradiction")))
      worst = finding;
  }
  return worst;
}

static void put_extent(vs_page *page, vs_json trace) {
  vs_words_count(&page->line, vs_reply_u64(trace, "events"), "event");
  vs_text since;
  vs_scratch_init(&since, page->screen);
  vs_words_time_since(&since, vs_reply_at(trace, "last_time_us"), vs_reply_at(trace, "first_time_us"));
  if (vs_text_view(&since).size != 0) vs_text_cstr(&page->line, " over ");
  vs_text_str(&page->line, vs_text_view(&since));
  vs_text_deinit(&since);
}

static void put_trust(vs_page *page) {
  const vs_json trace = vs_reply_at(page->device, "trace"), trust = vs_reply_at(page->device, "trust");
  size_t count;
  const vs_json worst = worst_finding(vs_reply_at(trust, "findings"), &count);
  (void)begin(page);
  if (!has_trace(page->device)) {
    vs_text_format(&page->line, "only the end state was recorded. To see the peak, steps and errors too, %s",
                   vs_words_record);
  } else if (vs_json_is_absent(worst)) {
    vs_text_cstr(&page->line, "complete: ");
    put_extent(page, trace);
  } else {
    put_extent(page, trace);
    vs_text_cstr(&page->line, ", but ");
    if (is_kind(worst, "began_late")) {
      vs_text_cstr(&page->line, "it began late: ");
      put_bytes(page, trace, "baseline_requested_bytes");
      vs_text_cstr(&page->line, " were already in use before the first event");
    } else {
      vs_screen_safe(&page->line, vs_reply_str(worst, "sentence"));
      vs_text_cstr(&page->line, " (");
      vs_text_count(&page->line, vs_reply_u64(worst, "count"));
      vs_text_cstr(&page->line, " times)");
    }
    if (count > 1) {
      vs_text_cstr(&page->line, "; ");
      vs_words_count(&page->line, count - 1, "more doubt");
      vs_text_cstr(&page->line, " in --json");
    }
  }
  end(page, "Recording", VS_STYLE_TITLE);
}

/* ---- the page */

static void put_device(vs_page *page) {
  put_oom(page);
  put_peak(page);
  put_end(page);
  put_unused(page);
  put_growth(page);
  put_trust(page);
}

/* One line: "GPU 1   peak 12.3 GiB, at the end 10.1 GiB in use of 14.0 GiB reserved". */
static void put_other(vs_page *page, vs_json device, const char *label) {
  const vs_json state = vs_reply_at(device, "end");
  (void)begin(page);
  if (has_trace(device)) {
    vs_text_cstr(&page->line, "peak ");
    put_bytes(page, vs_reply_at(device, "peak"), "requested_bytes");
    vs_text_cstr(&page->line, "; ");
  }
  vs_text_cstr(&page->line, "at the end ");
  put_bytes(page, state, "allocated_bytes");
  vs_text_cstr(&page->line, " in use of ");
  put_bytes(page, state, "reserved_bytes");
  vs_text_cstr(&page->line, " reserved");
  const size_t ooms = vs_json_count(vs_reply_at(device, "ooms"));
  if (ooms != 0) {
    vs_text_cstr(&page->line, "; ");
    vs_words_count(&page->line, ooms, "out-of-memory error");
  }
  end(page, label, VS_STYLE_TITLE);
}

static void put_header(vs_page *page, vs_json report, uint64_t device_count) {
  const vs_json file = vs_reply_at(report, "file");
  const bool is_recording = vs_str_equal(vs_reply_str(file, "format"), VS_STR("vram"));
  vs_text_cstr(begin(page), is_recording ? ": recording" : ": PyTorch memory snapshot");
  if (!vs_reply_is_unknown(vs_reply_at(file, "bytes"))) {
    vs_text_cstr(&page->line, ", ");
    put_bytes(page, file, "bytes");
  }
  if (vs_reply_bool(file, "compressed")) vs_text_cstr(&page->line, " compressed");
  const char *device = page->cli->line->values[VS_OPTION_DEVICE];
  if (device == NULL) {
    vs_text_cstr(&page->line, ", ");
    vs_words_count(&page->line, device_count, "GPU");
  } else {
    vs_text_cstr(&page->line, device_count == 0 ? ", pinned host memory" : ", GPU ");
    if (device_count != 0) vs_text_cstr(&page->line, device);
  }
  vs_words_file(page->screen, vs_reply_str(file, "name"), vs_text_view(&page->line));
  vs_text_byte(&page->screen->text, '\n');
}

/* The device to show in full: one with an out-of-memory error, else the one with the most bytes at its peak. */
static size_t busiest(vs_json devices) {
  size_t best = 0;
  for (size_t i = 1; i < vs_json_count(devices); i++) {
    const vs_json a = vs_json_at(devices, best), b = vs_json_at(devices, i);
    const bool a_failed = vs_json_count(vs_reply_at(a, "ooms")) != 0,
               b_failed = vs_json_count(vs_reply_at(b, "ooms")) != 0;
    const uint64_t a_peak = vs_reply_u64(vs_reply_at(a, "peak"), "requested_bytes");
    const uint64_t b_peak = vs_reply_u64(vs_reply_at(b, "peak"), "requested_bytes");
    if (b_failed != a_failed ? b_failed : b_peak > a_peak) best = i;
  }
  return best;
}

static void put_others(vs_page *page, vs_json report, size_t shown) {
  const vs_json devices = vs_reply_at(report, "devices"), host = vs_reply_at(report, "host");
  const size_t count = vs_json_count(devices);
  size_t lines = 0;
  if (count > 1 || !vs_reply_is_unknown(host)) vs_text_byte(&page->screen->text, '\n');
  for (size_t i = 0; i < count; i++) {
    if (i == shown) continue;
    if (++lines > OTHERS) continue;
    char label[32];
    vs_format(label, sizeof label, "GPU %D", vs_reply_i64(vs_json_at(devices, i), "device"));
    put_other(page, vs_json_at(devices, i), label);
  }
  if (lines > OTHERS) {
    vs_text_cstr(begin(page), "and ");
    vs_words_count(&page->line, lines - OTHERS, "more GPU");
    vs_text_cstr(&page->line, ": see them with --device N");
    end(page, "", VS_STYLE_PLAIN);
  }
  if (!vs_reply_is_unknown(host)) put_other(page, host, "Pinned host");
}

static void put_next(vs_page *page, size_t device_count) {
  const vs_json oom = last_oom(page->device);
  char event[24], device[24];
  vs_format(event, sizeof event, "%D", vs_reply_i64(oom, "event"));
  vs_format(device, sizeof device, "%D", vs_reply_i64(page->device, "device"));
  vs_next next = {.command = "tree", .purpose = "who called whom, at the peak"};
  if (!vs_json_is_absent(oom)) {
    next = (vs_next){.command = "tree", .option = "at", .value = event, .purpose = "what was in use then"};
  } else if (count_growth(page) != 0 || !has_trace(page->device)) {
    const bool named = has_stacks(vs_reply_at(vs_reply_at(page->device, "peak"), "owners"));
    next = (vs_next){.command = named ? "tree" : "blocks",
                     .option = "at",
                     .value = "end",
                     .purpose = "what was never freed"};
  }
  if (device_count > 1)
    next.device = device; /* the busiest here need not be what the others take by default */
  if (device_count == 0) next.device = "host";
  vs_text_byte(&page->screen->text, '\n');
  vs_words_next(page->cli, &next);
  vs_words_next_view(page->cli);
}

static void put_report(vs_page *page, vs_json report) {
  const vs_json devices = vs_reply_at(report, "devices"), host = vs_reply_at(report, "host");
  const size_t count = vs_json_count(devices);
  put_header(page, report, count);
  if (count == 0 && vs_reply_is_unknown(host)) {
    vs_text_format(begin(page),
                   "It is empty: nothing was reserved when it was taken, and no history was recorded. To "
                   "record one, %s.",
                   vs_words_record);
    vs_screen_paragraphs(page->screen, 0, vs_text_view(&page->line));
    return;
  }
  const size_t shown = busiest(devices);
  page->device = count == 0 ? host : vs_json_at(devices, shown);
  if (count == 0 && !vs_cli_has(page->cli, VS_OPTION_DEVICE))
    vs_screen_styled(page->screen, VS_STYLE_TITLE, VS_STR("Pinned host memory\n"));
  if (count > 1) {
    char title[64];
    vs_format(title, sizeof title, "GPU %D, the busiest\n", vs_reply_i64(page->device, "device"));
    vs_screen_styled(page->screen, VS_STYLE_TITLE, vs_str_from(title));
  }
  put_device(page);
  if (count != 0) put_others(page, report, shown);
  put_next(page, count);
}

static vs_exit ask(vs_cli *cli, vs_client *client) {
  vs_client_begin(client, "report");
  vs_cli_pass_options(cli, client, VS_EVERY_OPTION);
  if (vs_cli_has(cli, VS_OPTION_JSON)) return vs_cli_pass_reply(cli, client);
  if (!vs_cli_has(cli, VS_OPTION_TOP)) vs_client_param_u64(client, "top", OWNERS);
  vs_json_doc reply;
  const vs_exit code = vs_client_ask(client, &reply);
  if (code != VS_EXIT_OK) return code;
  vs_page page = {.cli = cli, .screen = &cli->screen, .owners = vs_words_top(cli, OWNERS)};
  vs_scratch_init(&page.line, &cli->screen);
  put_report(&page, vs_json_root(&reply));
  vs_text_deinit(&page.line);
  vs_json_doc_deinit(&reply);
  return VS_EXIT_OK;
}

vs_exit vs_cli_report(vs_cli *cli) { return vs_cli_answer(cli, ask); }
