/* The report of a dry run on one screen: for someone whose job has just died, or is about to be started.
 * First the answer, then what it rests on, then what the simulation could not know. */
#include "faces/cli/dryrun.h"
#include "faces/cli/frames.h"
#include "faces/cli/words.h"

enum { LABEL = 15, HOLDERS = 5, CARDS = 6, DOUBTS = 3 };

typedef struct page {
  vs_cli *cli;
  vs_screen *screen;
  const vs_outcome *outcome;
  const vs_result *result;
  vs_json device; /* of the engine's report: the one to look into; absent where there is none */
  vs_text line;
} page;

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
static vs_str short_name(const char *name) {
  const vs_str whole = vs_str_from(name), maker = VS_STR("NVIDIA ");
  return vs_str_starts(whole, maker) ? (vs_str){whole.data + maker.size, whole.size - maker.size} : whole;
}

/* The machine: "2 x H100 80GB HBM3 (simulated)". */
static void put_machine(page *p) {
  const vs_result *result = p->result;
  const vs_sim_card *first = result->cards[0].card;
  uint32_t alike = 0;
  for (uint32_t c = 0; c < result->card_count; c++)
    alike += vs_str_equal(vs_str_from(result->cards[c].card->name), vs_str_from(first->name));
  if (result->card_count > 1 && alike == result->card_count)
    vs_text_format(&p->line, "%u x ", result->card_count);
  else if (result->card_count > 1)
    vs_text_format(&p->line, "%u GPUs, the first of them ", result->card_count);
  vs_text_str(&p->line, short_name(first->name));
}

/* The card that used most: what there is to say is said of it. */
static uint32_t busiest(const vs_result *result) {
  uint32_t best = 0;
  if (result->oom.is_there && result->ooms + result->refused != 0) return result->oom.card;
  for (uint32_t c = 1; c < result->card_count; c++)
    if (result->cards[c].driver_peak_bytes > result->cards[best].driver_peak_bytes) best = c;
  return best;
}

static void put_shares(page *p, uint32_t c) {
  const vs_result_card *card = &p->result->cards[c];
  put_bytes(p, card->driver_peak_bytes);
  vs_text_cstr(&p->line, " of ");
  put_bytes(p, card->card->figures.total_bytes);
}

/* ---- the answer */

static void put_headline(page *p, vs_style style) {
  vs_screen_style(p->screen, style);
  vs_screen_paragraphs(p->screen, 0, vs_text_view(&p->line));
  vs_screen_style(p->screen, VS_STYLE_PLAIN);
}

static void put_end(page *p) {
  const int code = vs_launch_exit(p->outcome->launch), number = vs_launch_signal(p->outcome->launch);
  if (number != 0) vs_text_format(&p->line, "signal %d (%s) ended it", number, vs_signal_text(number));
  else vs_text_format(&p->line, "it ended with exit status %d", code);
}

static void put_verdict(page *p) {
  const vs_result *result = p->result;
  const uint32_t c = busiest(result);
  vs_text *line = begin(p);
  switch (p->outcome->verdict) {
    case VS_VERDICT_FITS:
      vs_text_cstr(line, "Fits in ");
      put_machine(p);
      vs_text_cstr(line, ": ");
      put_shares(p, c);
      put_headline(p, VS_STYLE_GOOD);
      break;
    case VS_VERDICT_HANDLED:
      vs_text_cstr(line, "Ran through on ");
      put_machine(p);
      vs_text_cstr(line, ", but met ");
      vs_words_count(line, result->ooms, "out-of-memory error");
      vs_text_cstr(line, ", which the program handled");
      put_headline(p, VS_STYLE_TITLE);
      break;
    case VS_VERDICT_DOES_NOT_FIT:
      vs_text_cstr(line, "Does not fit: out of memory on ");
      put_machine(p);
      vs_text_cstr(line, " with ");
      put_bytes(p, result->cards[c].card->figures.total_bytes);
      put_headline(p, VS_STYLE_BAD);
      break;
    case VS_VERDICT_STOPPED:
      vs_text_cstr(line, p->outcome->launch->was_interrupted ? "Interrupted: "
                                                             : "Stopped, but not for lack of memory: ");
      put_end(p);
      vs_text_cstr(line, ". It had taken ");
      put_shares(p, c);
      vs_text_cstr(line, " on ");
      put_machine(p);
      put_headline(p, VS_STYLE_BAD);
      break;
    case VS_VERDICT_NO_CUDA:
      vs_text_cstr(line, "The program did not use the GPU (");
      put_machine(p);
      vs_text_cstr(line, "): there is nothing to report");
      if (vs_launch_exit(p->outcome->launch) != 0) vs_text_cstr(line, "; ");
      if (vs_launch_exit(p->outcome->launch) != 0) put_end(p);
      put_headline(p, VS_STYLE_TITLE);
      break;
  }
}

/* "20 steps in 8.3 s; 4 processes used the GPU". */
static void put_course(page *p) {
  const vs_result *result = p->result;
  const size_t processes = result->processes.count;
  vs_text *line = begin(p);
  if (result->steps != 0) {
    vs_words_count(line, result->steps, "step");
    vs_text_cstr(line, " in ");
  }
  vs_text_duration(line, p->outcome->launch->took_us);
  if (p->outcome->verdict == VS_VERDICT_DOES_NOT_FIT) {
    vs_text_cstr(line, "; ");
    put_end(p);
  }
  if (processes > 1) vs_text_format(line, "; %U processes used the GPU", (uint64_t)processes);
  if (p->outcome->plan->has_job && p->outcome->plan->job.processes == 1)
    vs_text_format(line, "; rank %u of %u, the others made up", p->outcome->plan->job.rank,
                   p->outcome->plan->job.world_size);
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
  const vs_sim_card *card = p->result->cards[p->result->oom.card].card;
  const uint64_t bytes = vs_result_training_bytes(p->result);
  return bytes != 0 && vs_sat_add_u64(bytes, card->context_bytes) > card->figures.total_bytes;
}

static void put_larger(page *p) {
  vs_text_cstr(begin(p), "a larger card, or less to hold: weights, gradients and Adam's moments alone are ");
  put_bytes(p, vs_result_training_bytes(p->result));
  vs_text_cstr(&p->line, ". Several GPUs can share them (FSDP); 8-bit moments or LoRA make them smaller");
  end(p, "  try", VS_STYLE_TITLE);
}

static void put_oom(page *p) {
  const vs_result_oom *oom = &p->result->oom;
  const vs_json seen = last_oom(p);
  if (!oom->is_there || p->result->ooms + p->result->refused == 0) return;
  vs_text *line = begin(p);
  put_bytes(p, oom->asked_bytes);
  vs_text_cstr(line, " could not be had");
  if (!vs_json_is_absent(vs_frame_of_stack(vs_reply_at(seen, "stack")))) {
    vs_text_cstr(line, ", by ");
    vs_frame_put_stack(line, vs_reply_at(seen, "stack"));
  }
  if (p->result->card_count > 1) vs_text_format(line, ", on GPU %u", oom->card);
  if (p->result->ooms > 1) vs_text_format(line, "; the last of %U such errors", p->result->ooms);
  end(p, "Out of memory", VS_STYLE_BAD);
  (void)begin(p);
  put_bytes(p, oom->free_bytes);
  vs_text_cstr(line, " free on the GPU");
  if (oom->has_torch) {
    vs_text_cstr(line, "; PyTorch held ");
    put_bytes(p, oom->reserved_bytes);
    vs_text_cstr(line, ", ");
    put_bytes(p, oom->allocated_bytes);
    vs_text_cstr(line, " of it in use");
  }
  end(p, "  then", VS_STYLE_TITLE);
  put_sentence(p, vs_reply_at(seen, "sentence"), "  why");
  if (is_too_much_to_train(p)) put_larger(p);
  else put_sentence(p, vs_reply_at(seen, "advice"), "  try");
}

/* ---- the peak */

/* What the driver counts beside PyTorch's memory. */
static void put_outside(page *p, const vs_result_card *card) {
  const uint64_t reserved = card->torch.peak_reserved_bytes;
  if (card->driver_peak_bytes <= reserved) return;
  vs_text_cstr(&p->line, ", ");
  put_bytes(p, card->driver_peak_bytes - reserved);
  vs_text_cstr(&p->line, card->contexts > 1 ? " contexts and other" : " context and other");
}

static void put_card_peak(page *p, uint32_t c, const char *label) {
  const vs_result_card *card = &p->result->cards[c];
  vs_text *line = begin(p);
  put_shares(p, c);
  vs_text_cstr(line, " in use on the GPU");
  if (card->torch.is_known) {
    vs_text_cstr(line, ": ");
    put_bytes(p, card->torch.peak_reserved_bytes);
    vs_text_cstr(line, " reserved by PyTorch (");
    put_bytes(p, card->torch.peak_allocated_bytes);
    vs_text_cstr(line, " allocated, ");
    put_bytes(p, card->torch.peak_requested_bytes);
    vs_text_cstr(line, " asked for)");
    put_outside(p, card);
  }
  if (card->card->taken_bytes != 0) {
    vs_text_cstr(line, "; another process held ");
    put_bytes(p, card->card->taken_bytes);
  }
  if (card->torch.retries != 0) {
    vs_text_cstr(line, "; ");
    vs_text_count(line, card->torch.retries);
    vs_text_cstr(line, card->torch.retries == 1 ? " time" : " times");
    vs_text_cstr(line, " PyTorch had to give cached memory back to go on");
  }
  end(p, label, VS_STYLE_TITLE);
}

/* Each card that was used; of many only the busiest ones. */
static void put_peaks(page *p) {
  enum { CARDS_MOST = 4 };
  uint32_t used = 0, shown = 0;
  for (uint32_t c = 0; c < p->result->card_count; c++) used += p->result->cards[c].is_used;
  if (used == 1) {
    put_card_peak(p, busiest(p->result), "Peak");
    return;
  }
  for (uint32_t c = 0; c < p->result->card_count; c++) {
    char label[24];
    vs_format(label, sizeof label, "Peak, GPU %u", c);
    if (!p->result->cards[c].is_used || shown == CARDS_MOST) continue;
    if (used > CARDS_MOST && c != busiest(p->result) && shown + 1 == CARDS_MOST) continue;
    put_card_peak(p, c, label);
    shown++;
  }
  if (used <= shown) return;
  vs_text_format(begin(p), "%u more GPUs: see them with --json", used - shown);
  end(p, "", VS_STYLE_PLAIN);
}

/* Threads of PyTorch's own have no line of Python: those of the backward pass, above all. */
static void put_owner(vs_text *cell, vs_json owner) {
  if (vs_reply_is_unknown(vs_reply_at(owner, "key")))
    vs_text_cstr(cell, "the backward pass (no line of Python)");
  else vs_frame_put_group(cell, owner);
}

static void put_holders(page *p) {
  static const vs_column columns[] = {
      {NULL, VS_COLUMN_RIGHT}, {NULL, VS_COLUMN_RIGHT}, {NULL, VS_COLUMN_BAR}, {NULL, VS_COLUMN_NAME}};
  const vs_json peak = vs_reply_at(p->device, "peak"), owners = vs_reply_at(peak, "owners");
  const uint64_t all = vs_reply_u64(peak, "requested_bytes"), top = vs_words_top(p->cli, HOLDERS);
  const size_t shown = vs_json_count(owners) < top ? vs_json_count(owners) : (size_t)top;
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
    put_owner(vs_table_cell(&table), owner);
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
  const uint64_t bytes = vs_result_training_bytes(p->result);
  const uint64_t trained = vs_reply_u64(model, "trainable_bytes"),
                 states = vs_reply_u64(model, "optimizer_bytes");
  if (p->outcome->verdict != VS_VERDICT_DOES_NOT_FIT || bytes == 0 || states >= 2 * trained) return;
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
  const vs_json model = vs_result_model(p->result);
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

static void put_room(page *p, vs_text *cell, const vs_fit_row *row) {
  const uint64_t distance =
      row->headroom_bytes < 0 ? 0 - (uint64_t)row->headroom_bytes : (uint64_t)row->headroom_bytes;
  switch (row->fit) {
    case VS_FIT_YES:
      vs_text_bytes(cell, distance, p->screen->unit);
      vs_text_cstr(cell, " to spare");
      break;
    case VS_FIT_TIGHT: vs_text_cstr(cell, "only by giving cached memory back"); break;
    case VS_FIT_NO:
      vs_text_bytes(cell, distance, p->screen->unit);
      vs_text_cstr(cell, " short");
      break;
    case VS_FIT_UNKNOWN: vs_text_cstr(cell, "it may need more than was seen"); break;
  }
}

/* The run met the end of the memory: what it needs in all is not known, only what would have got it past that
 * point. */
static void put_least(page *p) {
  const vs_fit_table *fits = &p->outcome->fits;
  uint64_t least = 0;
  for (uint32_t i = 0; i < p->outcome->need_count; i++)
    least = vs_max_u64(least, p->outcome->needs[i].least_bytes);
  vs_text *line = begin(p);
  vs_text_cstr(line, "at least ");
  put_bytes(p, least);
  vs_text_cstr(line, " to get past this point; what it needs after it is not known");
  const vs_fit_row *largest = &fits->rows.data[fits->rows.count - 1];
  const uint64_t own = p->result->cards[busiest(p->result)].card->figures.total_bytes;
  uint32_t named = 0;
  for (size_t i = 0; i < fits->rows.count && named < 3; i++) {
    const vs_fit_row *row = &fits->rows.data[i];
    if (row->fit == VS_FIT_NO || row->total_bytes <= own) continue;
    vs_text_cstr(line, named++ == 0 ? ". Cards to try next: " : ", ");
    vs_text_str(line, short_name(row->profile->name));
  }
  if (largest->total_bytes > own) vs_text_format(line, "; --gpu %s shows it all", largest->profile->key);
  end(p, "Needs", VS_STYLE_TITLE);
}

static void put_cards(page *p) {
  /* Who knows what a program that stopped would have needed. */
  const bool is_whole = p->outcome->verdict != VS_VERDICT_STOPPED;
  const vs_column columns[] = {{"Card", VS_COLUMN_LEFT},
                               {"memory", VS_COLUMN_RIGHT},
                               {is_whole ? "fits" : "fits so far", VS_COLUMN_LEFT},
                               {"", VS_COLUMN_NAME}};
  const vs_fit_table *fits = &p->outcome->fits;
  bool shown[256];
  if (p->outcome->verdict == VS_VERDICT_NO_CUDA || fits->rows.count == 0 || fits->rows.count > 256) return;
  if (p->outcome->need_count != 0 && p->outcome->needs[0].is_open_ended) {
    put_least(p);
    return;
  }
  const vs_sim_profile *own = p->outcome->plan->gpus[0].profile;
  (void)vs_fit_select(fits, own, CARDS, shown);
  vs_text_byte(&p->screen->text, '\n');
  vs_table table;
  vs_table_begin(&table, p->screen, 0, columns, 4);
  for (size_t i = 0; i < fits->rows.count; i++) {
    const vs_fit_row *row = &fits->rows.data[i];
    if (!shown[i]) continue;
    vs_text *cell = vs_table_cell(&table);
    if (p->outcome->need_count > 1) vs_text_format(cell, "%u x ", p->outcome->need_count);
    vs_text_str(cell, short_name(row->profile->name));
    vs_text_bytes(vs_table_cell(&table), row->total_bytes, p->screen->unit);
    vs_text_cstr(vs_table_cell(&table), row->fit == VS_FIT_UNKNOWN ? "?" : vs_fit_word(row->fit));
    put_room(p, vs_table_cell(&table), row);
  }
  vs_table_put(&table);
}

/* ---- the smallest */

static void put_search(page *p) {
  const vs_search *search = &p->outcome->search;
  if (!search->was_made) return;
  vs_text *line = begin(p);
  if (!search->is_known) {
    vs_text_format(line, "not found: %s", search->why);
    end(p, "Smallest", VS_STYLE_BAD);
    return;
  }
  vs_text_bytes_up(line, search->smallest_bytes, p->screen->unit);
  vs_text_format(line, " will do (--gpu %s), known to 1 %% after ", search->gpu);
  vs_words_count(line, search->runs, "more run");
  unsigned named = 0;
  for (size_t i = 0; i < p->outcome->fits.rows.count && named < 3; i++) {
    const vs_fit_row *row = &p->outcome->fits.rows.data[i];
    if (row->total_bytes < search->smallest_bytes) continue;
    vs_text_cstr(line, named == 0 ? "; the first cards that have as much: " : ", ");
    vs_text_str(line, short_name(row->profile->name));
    named++;
  }
  end(p, "Smallest", VS_STYLE_GOOD);
}

/* ---- what the simulation could not know */

static size_t count_doubts(const vs_result *result, vs_doubt_kind kind, uint64_t *sum) {
  size_t count = 0;
  *sum = 0;
  for (size_t i = 0; i < result->doubts.count; i++) {
    if (result->doubts.data[i].kind != kind) continue;
    count++;
    *sum += kind == VS_DOUBT_GUESS ? result->doubts.data[i].bytes : result->doubts.data[i].count;
  }
  return count;
}

static void put_safe(page *p, uint32_t string) {
  vs_screen_safe(&p->line, vs_result_string(p->result, string));
}

/* "train.py:40 log (12 times), ...". */
static void put_doubts_of(page *p, vs_doubt_kind kind, size_t count) {
  size_t shown = 0;
  for (size_t i = 0; i < p->result->doubts.count && shown < DOUBTS; i++) {
    const vs_doubt *doubt = &p->result->doubts.data[i];
    if (doubt->kind != kind) continue;
    if (shown++ != 0) vs_text_cstr(&p->line, ", ");
    put_safe(p, doubt->what);
    if (kind == VS_DOUBT_READ && doubt->count > 1) vs_text_format(&p->line, " (%U times)", doubt->count);
    if (kind == VS_DOUBT_REFUSED) {
      vs_text_cstr(&p->line, " of ");
      put_safe(p, doubt->detail);
    }
    if (kind == VS_DOUBT_GUESS && doubt->bytes != 0) {
      vs_text_byte(&p->line, ' ');
      put_bytes(p, doubt->bytes);
    }
    if (kind == VS_DOUBT_NOT_RECORDED) {
      vs_text_cstr(&p->line, " (");
      put_safe(p, doubt->detail);
      vs_text_byte(&p->line, ')');
    }
  }
  if (count > shown) vs_text_format(&p->line, " and %U more", (uint64_t)(count - shown));
}

static const char *values_read(const vs_cli *cli) {
  const char *values = cli->line->values[VS_OPTION_VALUES];
  if (values == NULL || vs_str_equal(vs_str_from(values), VS_STR("zeros"))) return "which were zeros";
  return vs_str_equal(vs_str_from(values), VS_STR("true"))
             ? "which were zeros, and true where it asked for truth"
             : "which were what copies had left there";
}

static void put_doubts(page *p) {
  uint64_t sum;
  size_t count = count_doubts(p->result, VS_DOUBT_READ, &sum);
  const char *label = "Not known";
  if (count != 0) {
    vs_text_format(begin(p), "the program read results of the GPU, %s: ", values_read(p->cli));
    put_doubts_of(p, VS_DOUBT_READ, count);
    vs_text_cstr(&p->line, ". Did it decide by them?");
    end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  count = count_doubts(p->result, VS_DOUBT_GUESS, &sum);
  if (count != 0) {
    vs_text_cstr(begin(p), "guessed: ");
    put_doubts_of(p, VS_DOUBT_GUESS, count);
    end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  count = count_doubts(p->result, VS_DOUBT_REFUSED, &sum);
  if (count != 0) {
    vs_text_cstr(begin(p), "not simulated, and refused: ");
    put_doubts_of(p, VS_DOUBT_REFUSED, count);
    end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  count = count_doubts(p->result, VS_DOUBT_HISTORY, &sum);
  if (count != 0) {
    vs_text_cstr(begin(p), sum == 1 ? "a process" : "several processes");
    vs_text_cstr(&p->line,
                 " ended by a signal or os._exit: what PyTorch knew of its memory is lost, and only the "
                 "driver's figures are left");
    end(p, label, VS_STYLE_TITLE);
    label = "";
  }
  count = count_doubts(p->result, VS_DOUBT_NOT_RECORDED, &sum);
  if (count != 0) {
    vs_text_cstr(begin(p), "not recorded: ");
    put_doubts_of(p, VS_DOUBT_NOT_RECORDED, count);
    end(p, label, VS_STYLE_TITLE);
  }
}

/* ---- the page */

static void put_next(page *p) {
  const char *kept = p->cli->line->values[VS_OPTION_SNAPSHOT];
  if (vs_cli_has(p->cli, VS_OPTION_QUIET) || p->outcome->verdict == VS_VERDICT_NO_CUDA) return;
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
static vs_json device_of(vs_json report) {
  const vs_json devices = vs_reply_at(report, "devices");
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

void vs_dryrun_put_report(vs_cli *cli, const vs_outcome *outcome) {
  page p = {.cli = cli,
            .screen = &cli->screen,
            .outcome = outcome,
            .result = outcome->result,
            .device = device_of(outcome->report)};
  vs_scratch_init(&p.line, &cli->screen);
  vs_text_byte(&cli->screen.text, '\n'); /* the program's output stands above */
  put_verdict(&p);
  if (outcome->verdict != VS_VERDICT_NO_CUDA) {
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
