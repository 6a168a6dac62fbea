/* The report of a dry run on one screen: for someone whose job has just died, or is about to be started.
 * First the answer, then what it rests on, then what the simulation could not know. */
#include "faces/cli/dryrun.h"
#include "faces/cli/words.h"
#include "os/child.h"

enum { LABEL = 15, DOUBTS = 3 };

typedef struct page {
  vs_cli *cli;
  vs_screen *screen;
  vs_json reply;
  vs_str verdict;
  vs_json cards;  /* the simulated ones */
  vs_json card;   /* the busiest of these, or the one that was out of memory: the report is about it */
  vs_json device; /* of the engine's report: the one to look into; absent where there is none */
  vs_text line;
} page;

static bool is_verdict(const page *p, const char *word) {
  return vs_str_equal(p->verdict, vs_str_from(word));
}

/* ---- sentences: begin, add to p->line, end */

static vs_text *begin(page *p) {
  p->line.bytes.count = 0;
  return &p->line;
}

static void end(page *p, const char *label, vs_style style) {
  if (p->line.status != VS_OK && p->screen->text.status == VS_OK) p->screen->text.status = p->line.status;
  vs_screen_labelled(p->screen, label, LABEL, style, vs_text_view(&p->line));
}

static void put_bytes(page *p, uint64_t bytes) { vs_text_bytes(&p->line, bytes, p->screen->unit); }

/* "NVIDIA H100 80GB HBM3 (simulated)": the name without the maker, which takes room and says nothing. */
static vs_str short_name(vs_json named) {
  const vs_str whole = vs_reply_str(named, "name"), maker = VS_STR("NVIDIA ");
  return vs_str_starts(whole, maker) ? (vs_str){whole.data + maker.size, whole.size - maker.size} : whole;
}

static void put_name(page *p, vs_json named) { vs_screen_safe(&p->line, short_name(named)); }

/* The machine: "2 x H100 80GB HBM3 (simulated)". */
static void put_machine(page *p) {
  const size_t count = vs_json_count(p->cards);
  const vs_json first = vs_json_at(p->cards, 0);
  size_t alike = 0;
  for (size_t i = 0; i < count; i++)
    alike += vs_str_equal(vs_reply_str(vs_json_at(p->cards, i), "name"), vs_reply_str(first, "name"));
  if (count > 1 && alike == count) vs_text_format(&p->line, "%U x ", (uint64_t)count);
  else if (count > 1) vs_text_format(&p->line, "%U GPUs, the first of them ", (uint64_t)count);
  put_name(p, first);
}

/* The card that the report is about. */
static vs_json busiest(vs_json reply) {
  const vs_json cards = vs_reply_at(reply, "devices"), oom = vs_reply_at(reply, "oom");
  size_t best = 0;
  if (!vs_reply_is_unknown(oom)) return vs_json_at(cards, (size_t)vs_reply_u64(oom, "device"));
  for (size_t i = 1; i < vs_json_count(cards); i++)
    if (vs_reply_u64(vs_json_at(cards, i), "driver_peak_bytes") >
        vs_reply_u64(vs_json_at(cards, best), "driver_peak_bytes"))
      best = i;
  return vs_json_at(cards, best);
}

static void put_shares(page *p, vs_json card) {
  put_bytes(p, vs_reply_u64(card, "driver_peak_bytes"));
  vs_text_cstr(&p->line, " of ");
  put_bytes(p, vs_reply_u64(card, "total_bytes"));
}

/* The sum of a figure of PyTorch's over the cards. */
static uint64_t torch_sum(const page *p, const char *name) {
  uint64_t sum = 0;
  for (size_t i = 0; i < vs_json_count(p->cards); i++)
    sum += vs_reply_u64(vs_reply_at(vs_json_at(p->cards, i), "torch"), name);
  return sum;
}

/* ---- the answer */

static void put_headline(page *p, vs_style style) {
  vs_screen_style(p->screen, style);
  vs_screen_paragraphs(p->screen, 0, vs_text_view(&p->line));
  vs_screen_style(p->screen, VS_STYLE_PLAIN);
}

static void put_end(page *p) {
  const uint64_t number = vs_reply_u64(p->reply, "signal");
  if (number != 0) vs_text_format(&p->line, "signal %U (%s) ended it", number, vs_signal_text((int)number));
  else vs_text_format(&p->line, "it ended with exit status %D", vs_reply_i64(p->reply, "exit_code"));
}

static vs_style put_stopped(page *p) {
  vs_text_cstr(&p->line, vs_reply_bool(p->reply, "interrupted") ? "Interrupted: "
                                                                : "Stopped, but not for lack of memory: ");
  put_end(p);
  vs_text_cstr(&p->line, ". It had taken ");
  put_shares(p, p->card);
  vs_text_cstr(&p->line, " on ");
  put_machine(p);
  return VS_STYLE_BAD;
}

static vs_style put_no_cuda(page *p) {
  vs_text_cstr(&p->line, "The program did not use the GPU (");
  put_machine(p);
  vs_text_cstr(&p->line, "): there is nothing to report");
  if (vs_reply_i64(p->reply, "exit_code") != 0) {
    vs_text_cstr(&p->line, "; ");
    put_end(p);
  }
  return VS_STYLE_TITLE;
}

static vs_style put_answer(page *p) {
  vs_text *line = &p->line;
  if (is_verdict(p, "stopped")) return put_stopped(p);
  if (is_verdict(p, "no_cuda")) return put_no_cuda(p);
  if (is_verdict(p, "fits")) {
    vs_text_cstr(line, "Fits in ");
    put_machine(p);
    vs_text_cstr(line, ": ");
    put_shares(p, p->card);
    return VS_STYLE_GOOD;
  }
  if (is_verdict(p, "handled")) {
    vs_text_cstr(line, "Ran through on ");
    put_machine(p);
    vs_text_cstr(line, ", but met ");
    vs_words_count(line, torch_sum(p, "ooms"), "out-of-memory error");
    vs_text_cstr(line, ", which the program handled");
    return VS_STYLE_TITLE;
  }
  vs_text_cstr(line, "Does not fit: out of memory on ");
  put_machine(p);
  vs_text_cstr(line, " with ");
  put_bytes(p, vs_reply_u64(p->card, "total_bytes"));
  return VS_STYLE_BAD;
}

static void put_verdict(page *p) {
  (void)begin(p);
  put_headline(p, put_answer(p));
}

/* "20 steps in 8.3 s; 4 processes used the GPU". */
static void put_course(page *p) {
  const uint64_t steps = vs_reply_u64(p->reply, "steps");
  const size_t processes = vs_json_count(vs_reply_at(p->reply, "processes"));
  const vs_json job = vs_reply_at(p->reply, "job");
  vs_text *line = begin(p);
  if (steps != 0) {
    vs_words_count(line, steps, "step");
    vs_text_cstr(line, " in ");
  }
  vs_text_duration(line, vs_reply_u64(p->reply, "time_us"));
  if (is_verdict(p, "does_not_fit")) {
    vs_text_cstr(line, "; ");
    put_end(p);
  }
  if (processes > 1) vs_text_format(line, "; %U processes used the GPU", (uint64_t)processes);
  if (vs_reply_u64(job, "processes") == 1)
    vs_text_format(line, "; rank %U of %U, the others made up", vs_reply_u64(job, "rank"),
                   vs_reply_u64(job, "world_size"));
  end(p, "Ran", VS_STYLE_TITLE);
}

/* ---- out of memory */

static vs_json last_oom(const page *p) {
  const vs_json ooms = vs_reply_at(p->device, "ooms");
  const size_t count = vs_json_count(ooms);
  return vs_json_at(ooms, count == 0 ? 0 : count - 1);
}

static void put_sentence(page *p, vs_json sentence, const char *label) {
  if (vs_reply_is_unknown(sentence)) return;
  vs_screen_safe(begin(p), vs_json_str(sentence, VS_STR("")));
  end(p, label, VS_STYLE_TITLE);
}

/* No setting of the allocator helps where weights, gradients and optimizer state alone are more than the card has. */
static bool is_too_much_to_train(const page *p) {
  const uint64_t bytes = vs_reply_u64(p->reply, "training_bytes");
  return bytes != 0 &&
         vs_sat_add_u64(bytes, vs_reply_u64(p->card, "context_bytes")) > vs_reply_u64(p->card, "total_bytes");
}

static void put_larger(page *p) {
  vs_text_cstr(begin(p), "a larger card, or less to hold: weights, gradients and Adam's moments alone are ");
  put_bytes(p, vs_reply_u64(p->reply, "training_bytes"));
  vs_text_cstr(&p->line, ". Several GPUs can share them (FSDP); 8-bit moments or LoRA make them smaller");
  end(p, "  try", VS_STYLE_TITLE);
}

static void put_oom(page *p) {
  const vs_json oom = vs_reply_at(p->reply, "oom"), seen = last_oom(p);
  const uint64_t count = torch_sum(p, "ooms");
  if (vs_reply_is_unknown(oom)) return;
  vs_text *line = begin(p);
  put_bytes(p, vs_reply_u64(oom, "asked_bytes"));
  vs_text_cstr(line, " could not be had");
  if (vs_json_count(vs_reply_at(seen, "stack")) != 0) {
    vs_text_cstr(line, ", by ");
    vs_words_label(line, seen);
  }
  if (vs_json_count(p->cards) > 1) vs_text_format(line, ", on GPU %U", vs_reply_u64(oom, "device"));
  if (count > 1) vs_text_format(line, "; the last of %U such errors", count);
  end(p, "Out of memory", VS_STYLE_BAD);
  (void)begin(p);
  put_bytes(p, vs_reply_u64(oom, "free_bytes"));
  vs_text_cstr(line, " free on the GPU");
  if (!vs_reply_is_unknown(vs_reply_at(oom, "reserved_bytes"))) {
    vs_text_cstr(line, "; PyTorch held ");
    put_bytes(p, vs_reply_u64(oom, "reserved_bytes"));
    vs_text_cstr(line, ", ");
    put_bytes(p, vs_reply_u64(oom, "allocated_bytes"));
    vs_text_cstr(line, " of it in use");
  }
  end(p, "  then", VS_STYLE_TITLE);
  put_sentence(p, vs_reply_at(seen, "sentence"), "  why");
  if (is_too_much_to_train(p)) put_larger(p);
  else put_sentence(p, vs_reply_at(seen, "advice"), "  try");
}

/* ---- the peak */

/* What the driver counts beside PyTorch's memory. */
static void put_outside(page *p, vs_json card) {
  const uint64_t reserved = vs_reply_u64(vs_reply_at(card, "torch"), "peak_reserved_bytes"),
                 used = vs_reply_u64(card, "driver_peak_bytes");
  if (used <= reserved) return;
  vs_text_cstr(&p->line, ", ");
  put_bytes(p, used - reserved);
  vs_text_cstr(&p->line, vs_reply_u64(card, "contexts") > 1 ? " contexts and other" : " context and other");
}

static void put_card_peak(page *p, vs_json card, const char *label) {
  const vs_json torch = vs_reply_at(card, "torch");
  const uint64_t taken = vs_reply_u64(card, "taken_bytes"), retries = vs_reply_u64(torch, "retries");
  vs_text *line = begin(p);
  put_shares(p, card);
  vs_text_cstr(line, " in use on the GPU");
  if (!vs_reply_is_unknown(torch)) {
    vs_text_cstr(line, ": ");
    put_bytes(p, vs_reply_u64(torch, "peak_reserved_bytes"));
    vs_text_cstr(line, " reserved by PyTorch (");
    put_bytes(p, vs_reply_u64(torch, "peak_allocated_bytes"));
    vs_text_cstr(line, " allocated, ");
    put_bytes(p, vs_reply_u64(torch, "peak_requested_bytes"));
    vs_text_cstr(line, " asked for)");
    put_outside(p, card);
  }
  if (taken != 0) {
    vs_text_cstr(line, "; another process held ");
    put_bytes(p, taken);
  }
  if (retries != 0) {
    vs_text_cstr(line, "; ");
    vs_text_count(line, retries);
    vs_text_cstr(line, retries == 1 ? " time" : " times");
    vs_text_cstr(line, " PyTorch had to give cached memory back to go on");
  }
  end(p, label, VS_STYLE_TITLE);
}

/* Each card that was used; of many only the busiest ones. */
static void put_peaks(page *p) {
  enum { CARDS_MOST = 4 };
  const uint64_t busy = vs_reply_u64(p->card, "device");
  uint32_t used = 0, shown = 0;
  for (size_t i = 0; i < vs_json_count(p->cards); i++) used += vs_reply_bool(vs_json_at(p->cards, i), "used");
  if (used == 1) {
    put_card_peak(p, p->card, "Peak");
    return;
  }
  for (size_t i = 0; i < vs_json_count(p->cards); i++) {
    const vs_json card = vs_json_at(p->cards, i);
    char label[24];
    vs_format(label, sizeof label, "Peak, GPU %U", (uint64_t)i);
    if (!vs_reply_bool(card, "used") || shown == CARDS_MOST) continue;
    if (used > CARDS_MOST && i != busy && shown + 1 == CARDS_MOST) continue;
    put_card_peak(p, card, label);
    shown++;
  }
  if (used <= shown) return;
  vs_text_format(begin(p), "%u more GPUs: see them with --json", used - shown);
  end(p, "", VS_STYLE_PLAIN);
}

static void put_holders(page *p) {
  static const vs_column columns[] = {
      {NULL, VS_COLUMN_RIGHT}, {NULL, VS_COLUMN_RIGHT}, {NULL, VS_COLUMN_BAR}, {NULL, VS_COLUMN_NAME}};
  const vs_json peak = vs_reply_at(p->device, "peak"), owners = vs_reply_at(peak, "owners");
  const uint64_t all = vs_reply_u64(peak, "requested_bytes");
  const size_t shown = vs_json_count(owners);
  if (shown == 0 || all == 0) return;
  vs_table table;
  vs_table_begin(&table, p->screen, 4, columns, 4);
  uint64_t rest = all;
  for (size_t i = 0; i < shown; i++) {
    const vs_json owner = vs_json_at(owners, i);
    const uint64_t bytes = vs_reply_u64(owner, "bytes");
    vs_text_bytes(vs_table_cell(&table), bytes, p->screen->unit);
    vs_text_percent(vs_table_cell(&table), bytes, all);
    vs_table_bar(&table, vs_reply_f64(owner, "share"));
    vs_words_label(vs_table_cell(&table), owner);
    rest -= vs_min_u64(bytes, rest);
  }
  const uint64_t others = vs_reply_u64(peak, "owner_count") - shown;
  if (vs_reply_u64(peak, "owner_count") > shown) {
    vs_text_bytes(vs_table_cell(&table), rest, p->screen->unit);
    vs_text_percent(vs_table_cell(&table), rest, all);
    vs_table_bar(&table, (double)rest / (double)all);
    vs_words_count(vs_table_cell(&table), others, "other line");
  }
  vs_table_put(&table);
}

/* What of the reserved memory was in no block when it peaked. */
static void put_unused(page *p) {
  enum { LITTLE = 20, HIGH = 4 };
  const vs_json peak = vs_reply_at(p->device, "peak");
  const uint64_t reserved = vs_reply_u64(peak, "reserved_bytes"),
                 used = vs_reply_u64(peak, "requested_bytes");
  if (reserved == 0 || used > reserved) return;
  const uint64_t unused = reserved - used;
  vs_text *line = begin(p);
  put_bytes(p, unused);
  vs_text_cstr(line, " of what was reserved at the peak lay unused (");
  vs_text_percent(line, unused, reserved);
  vs_text_cstr(line, "): fragmentation ");
  vs_text_cstr(line, unused < reserved / LITTLE ? "is low"
                     : unused < reserved / HIGH ? "is noticeable"
                                                : "is high");
  if (unused >= reserved / HIGH) vs_text_cstr(line, "; try --conf expandable_segments:True");
  end(p, "Unused", VS_STYLE_TITLE);
}

/* ---- the model */

/* Where it ran out before the optimizer had its state: what training takes before the first activation. */
static void put_training(page *p, vs_json model) {
  const uint64_t bytes = vs_reply_u64(p->reply, "training_bytes");
  const uint64_t trained = vs_reply_u64(model, "trainable_bytes"),
                 states = vs_reply_u64(model, "optimizer_bytes");
  if (!is_verdict(p, "does_not_fit") || bytes == 0 || states >= 2 * trained) return;
  vs_text_cstr(&p->line, ". To train it all takes ");
  put_bytes(p, bytes);
  vs_text_cstr(&p->line, " before the first activation");
  const uint64_t count = vs_reply_u64(model, "parameters");
  if (count == 0 || vs_reply_u64(model, "parameter_bytes") != trained || trained % count != 0) return;
  const uint64_t each = trained / count;
  vs_text_format(&p->line, ": %U + %U + %U bytes a parameter for weights, gradients and Adam's moments", each,
                 each, 2 * each);
}

static void put_model(page *p) {
  const vs_json model = vs_reply_at(p->reply, "model");
  const uint64_t count = vs_reply_u64(model, "parameters"), weights = vs_reply_u64(model, "parameter_bytes");
  const uint64_t gradients = vs_reply_u64(model, "gradient_bytes"),
                 states = vs_reply_u64(model, "optimizer_bytes");
  if (count == 0) return;
  vs_text *line = begin(p);
  vs_words_count(line, count, "parameter");
  vs_text_cstr(line, ": ");
  put_bytes(p, weights);
  vs_text_cstr(line, ", gradients ");
  put_bytes(p, gradients);
  vs_text_cstr(line, ", optimizer ");
  put_bytes(p, states);
  const uint64_t each = (weights + gradients + states) / count;
  vs_text_format(line, " (%U bytes a parameter)", each);
  put_training(p, model);
  end(p, "Model", VS_STYLE_TITLE);
}

/* ---- the cards */

static void put_room(page *p, vs_text *cell, vs_json row) {
  const vs_str fits = vs_reply_str(row, "fits");
  const int64_t room = vs_reply_i64(row, "headroom_bytes");
  if (vs_str_equal(fits, VS_STR("tight"))) {
    vs_text_cstr(cell, "only by giving cached memory back");
  } else if (vs_str_equal(fits, VS_STR("unknown"))) {
    vs_text_cstr(cell, "it may need more than was seen");
  } else {
    vs_text_bytes(cell, room < 0 ? 0 - (uint64_t)room : (uint64_t)room, p->screen->unit);
    vs_text_cstr(cell, room < 0 ? " short" : " to spare");
  }
}

/* The run met the end of the memory: what it needs in all is not known, only what would have got it past that
 * point. */
static void put_least(page *p, vs_json needs) {
  const vs_json fits = vs_reply_at(p->reply, "fit"), largest = vs_json_at(fits, vs_json_count(fits) - 1);
  const uint64_t own = vs_reply_u64(p->card, "total_bytes");
  uint64_t least = 0;
  for (size_t i = 0; i < vs_json_count(needs); i++)
    least = vs_max_u64(least, vs_reply_u64(vs_json_at(needs, i), "least_bytes"));
  vs_text *line = begin(p);
  vs_text_cstr(line, "at least ");
  put_bytes(p, least);
  vs_text_cstr(line, " to get past this point; what it needs after it is not known");
  uint32_t named = 0;
  for (size_t i = 0; i < vs_json_count(fits) && named < 3; i++) {
    const vs_json row = vs_json_at(fits, i);
    if (vs_str_equal(vs_reply_str(row, "fits"), VS_STR("no")) || vs_reply_u64(row, "total_bytes") <= own)
      continue;
    vs_text_cstr(line, named++ == 0 ? ". Cards to try next: " : ", ");
    put_name(p, row);
  }
  if (vs_reply_u64(largest, "total_bytes") > own)
    vs_text_format(line, "; --gpu %S shows it all", vs_reply_str(largest, "gpu"));
  end(p, "Needs", VS_STYLE_TITLE);
}

static void put_cards(page *p) {
  /* What a program that stopped would have needed later is not known. */
  const vs_column columns[] = {{"Card", VS_COLUMN_LEFT},
                               {"memory", VS_COLUMN_RIGHT},
                               {is_verdict(p, "stopped") ? "fits so far" : "fits", VS_COLUMN_LEFT},
                               {"", VS_COLUMN_NAME}};
  const vs_json fits = vs_reply_at(p->reply, "fit"), needs = vs_reply_at(p->reply, "needs");
  const size_t need_count = vs_json_count(needs);
  if (vs_json_count(fits) == 0) return;
  if (vs_reply_is_unknown(vs_reply_at(vs_json_at(needs, 0), "bytes"))) {
    put_least(p, needs);
    return;
  }
  vs_text_byte(&p->screen->text, '\n');
  vs_table table;
  vs_table_begin(&table, p->screen, 0, columns, 4);
  for (size_t i = 0; i < vs_json_count(fits); i++) {
    const vs_json row = vs_json_at(fits, i);
    if (!vs_reply_bool(row, "shown")) continue;
    vs_text *cell = vs_table_cell(&table);
    if (need_count > 1) vs_text_format(cell, "%U x ", (uint64_t)need_count);
    vs_screen_safe(cell, short_name(row));
    vs_text_bytes(vs_table_cell(&table), vs_reply_u64(row, "total_bytes"), p->screen->unit);
    const vs_str word = vs_reply_str(row, "fits");
    vs_screen_safe(vs_table_cell(&table), vs_str_equal(word, VS_STR("unknown")) ? VS_STR("?") : word);
    put_room(p, vs_table_cell(&table), row);
  }
  vs_table_put(&table);
}

/* ---- the smallest */

static void put_search(page *p) {
  const vs_json search = vs_reply_at(p->reply, "search"), fits = vs_reply_at(p->reply, "fit");
  const vs_json smallest = vs_reply_at(p->reply, "smallest_bytes");
  const uint64_t bytes = vs_json_u64(smallest, 0);
  if (vs_reply_is_unknown(search)) return;
  vs_text *line = begin(p);
  if (vs_reply_is_unknown(smallest)) {
    vs_text_format(line, "not found: %S", vs_reply_str(search, "why"));
    end(p, "Smallest", VS_STYLE_BAD);
    return;
  }
  vs_text_bytes_up(line, bytes, p->screen->unit);
  vs_text_format(line, " will do (--gpu %S), known to 1 %% after ", vs_reply_str(search, "gpu"));
  vs_words_count(line, vs_reply_u64(search, "runs"), "more run");
  unsigned named = 0;
  for (size_t i = 0; i < vs_json_count(fits) && named < 3; i++) {
    const vs_json row = vs_json_at(fits, i);
    if (vs_reply_u64(row, "total_bytes") < bytes) continue;
    vs_text_cstr(line, named == 0 ? "; the first cards that have as much: " : ", ");
    put_name(p, row);
    named++;
  }
  end(p, "Smallest", VS_STYLE_GOOD);
}

/* ---- what the simulation could not know */

/* "train.py:40 log (12 times)", "cudnn_workspace 2.00 MiB": one doubt among its kind. */
static void put_doubt(page *p, vs_json doubt) {
  static const char *const names[] = {"place", "what", "name"};
  const vs_str kind = vs_reply_str(doubt, "kind");
  const uint64_t count = vs_reply_u64(doubt, "count"), bytes = vs_reply_u64(doubt, "bytes");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    vs_screen_safe(&p->line, vs_reply_str(doubt, names[i]));
  if (vs_str_equal(kind, VS_STR("value_read")) && count > 1) vs_text_format(&p->line, " (%U times)", count);
  if (vs_str_equal(kind, VS_STR("refused"))) {
    vs_text_cstr(&p->line, " of ");
    vs_screen_safe(&p->line, vs_reply_str(doubt, "library"));
  }
  if (vs_str_equal(kind, VS_STR("guess")) && bytes != 0) {
    vs_text_byte(&p->line, ' ');
    put_bytes(p, bytes);
  }
  if (vs_str_equal(kind, VS_STR("not_recorded"))) {
    vs_text_cstr(&p->line, " (");
    vs_screen_safe(&p->line, vs_reply_str(doubt, "why"));
    vs_text_byte(&p->line, ')');
  }
}

/* The first few doubts of a kind behind `before`, which ends what the line has. false: there are none. */
static bool put_doubts_of(page *p, const char *kind, const char *before) {
  const vs_json doubts = vs_reply_at(p->reply, "doubts");
  uint64_t count = 0;
  for (size_t i = 0; i < vs_json_count(doubts); i++) {
    const vs_json doubt = vs_json_at(doubts, i);
    if (!vs_str_equal(vs_reply_str(doubt, "kind"), vs_str_from(kind))) continue;
    if (count == 0) vs_text_cstr(begin(p), before);
    else if (count < DOUBTS) vs_text_cstr(&p->line, ", ");
    if (count++ < DOUBTS) put_doubt(p, doubt);
  }
  if (count > DOUBTS) vs_text_format(&p->line, " and %U more", count - DOUBTS);
  return count != 0;
}

static const char *values_read(const page *p) {
  const vs_str values = vs_reply_str(p->reply, "values");
  if (vs_str_equal(values, VS_STR("zeros"))) return "the program read results of the GPU, which were zeros: ";
  return vs_str_equal(values, VS_STR("true"))
             ? "the program read results of the GPU, which were zeros, and true where it asked for truth: "
             : "the program read results of the GPU, which were what copies had left there: ";
}

static const char *lost(const page *p) {
  const vs_json doubts = vs_reply_at(p->reply, "doubts");
  for (size_t i = 0; i < vs_json_count(doubts); i++)
    if (vs_str_equal(vs_reply_str(vs_json_at(doubts, i), "kind"), VS_STR("history_lost")) &&
        vs_reply_u64(vs_json_at(doubts, i), "processes") == 1)
      return "a process";
  return "several processes";
}

static void put_doubts(page *p) {
  const char *label = "Not known";
  if (put_doubts_of(p, "value_read", values_read(p))) {
    vs_text_cstr(&p->line, ". Did it decide by them?");
    end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  if (put_doubts_of(p, "guess", "guessed: ")) {
    end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  if (put_doubts_of(p, "refused", "not simulated, and refused: ")) {
    end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  if (put_doubts_of(p, "history_lost", lost(p))) {
    vs_text_cstr(&p->line,
                 " ended by a signal or os._exit: what PyTorch knew of its memory is lost, and only the "
                 "driver's figures are left");
    end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  if (put_doubts_of(p, "not_recorded", "not recorded: ")) end(p, label, VS_STYLE_TITLE);
}

/* ---- the page */

static void put_next(page *p) {
  const char *kept = p->cli->line->values[VS_OPTION_SNAPSHOT];
  if (vs_cli_has(p->cli, VS_OPTION_QUIET) || is_verdict(p, "no_cuda")) return;
  if (vs_json_is_absent(p->device)) return;
  vs_text_byte(&p->screen->text, '\n');
  vs_screen_styled(p->screen, VS_STYLE_TITLE, VS_STR("Next: "));
  vs_text *line = begin(p);
  if (kept != NULL) {
    vs_text_format(line, "vramscope tree --at %s ", vs_json_is_absent(last_oom(p)) ? "peak" : "oom");
    vs_words_shell(line, kept);
  } else {
    vs_text_cstr(line, "add --snapshot memory.pickle, then vramscope tree --at ");
    vs_text_cstr(line, vs_json_is_absent(last_oom(p)) ? "peak" : "oom");
    vs_text_cstr(line, " memory.pickle");
  }
  vs_text_str(&p->screen->text, vs_text_view(line));
  vs_text_byte(&p->screen->text, '\n');
}

/* Of the main process the device with an error, else the one with the highest peak. */
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

void vs_dryrun_put_report(vs_cli *cli, vs_json reply) {
  page p = {.cli = cli,
            .screen = &cli->screen,
            .reply = reply,
            .verdict = vs_reply_str(reply, "verdict"),
            .cards = vs_reply_at(reply, "devices"),
            .card = busiest(reply),
            .device = device_of(vs_reply_at(reply, "report"))};
  vs_scratch_init(&p.line, &cli->screen);
  vs_text_byte(&cli->screen.text, '\n'); /* the program's output stands above */
  put_verdict(&p);
  if (!is_verdict(&p, "no_cuda")) {
    put_course(&p);
    put_oom(&p);
    put_peaks(&p);
    put_holders(&p);
    put_unused(&p);
    put_model(&p);
    put_search(&p);
  }
  put_doubts(&p);
  put_cards(&p);
  put_next(&p);
  vs_text_deinit(&p.line);
}
