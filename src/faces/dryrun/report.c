/* The report of a dry run on one screen: first whether it fits, then the figures behind that, then what the simulation could
 * not know. */
#include "faces/dryrun/report.h"
#include "base/check.h"
#include "faces/dryrun/ledger.h"
#include "faces/dryrun/limits.h"
#include "faces/dryrun/processes.h"
#include "faces/dryrun/ranks.h"

/* ---- the answer */

static vs_style put_stopped(vs_sheet *p) {
  vs_text_cstr(&p->line, vs_reply_bool(p->reply, "interrupted")
                             ? "Interrupted: "
                             : "The program failed, not because of memory: ");
  vs_sheet_failure(p, p->reply);
  vs_text_cstr(&p->line, ". Until then it took ");
  vs_sheet_shares(p, p->card);
  vs_text_cstr(&p->line, " on ");
  vs_sheet_machine(p);
  return VS_STYLE_BAD;
}

/* Of a program that was ended as --until asks: when, so that the run is not taken for a whole one. */
static void put_until(vs_sheet *p) {
  const vs_json ended = vs_reply_at(p->reply, "ended_us");
  if (vs_reply_is_unknown(ended)) return;
  vs_text_cstr(&p->line, ", ended after ");
  vs_text_duration(&p->line, vs_json_u64(ended, 0));
  vs_text_cstr(&p->line, " (--until ");
  vs_screen_safe(&p->line, vs_reply_str(p->reply, "until"));
  vs_text_byte(&p->line, ')');
}

static vs_style put_no_cuda(vs_sheet *p) {
  vs_text_cstr(&p->line, "The program did not use the GPU (");
  vs_sheet_machine(p);
  vs_text_cstr(&p->line, "): nothing to report");
  if (vs_reply_i64(p->reply, "exit_code") != 0) {
    vs_text_cstr(&p->line, "; ");
    vs_sheet_failure(p, p->reply);
  }
  put_until(p);
  return VS_STYLE_TITLE;
}

static vs_style put_answer(vs_sheet *p) {
  vs_text *line = &p->line;
  if (vs_sheet_is(p, "stopped")) return put_stopped(p);
  if (vs_sheet_is(p, "no_cuda")) return put_no_cuda(p);
  if (vs_sheet_is(p, "fits")) {
    vs_text_cstr(line, "Fits in ");
    vs_sheet_machine(p);
    vs_text_cstr(line, ": ");
    if (vs_reply_is_unknown(vs_reply_at(p->reply, "ranks"))) vs_sheet_shares(p, p->card);
    else vs_dryrun_put_most(p);
    return VS_STYLE_GOOD;
  }
  if (vs_sheet_is(p, "handled")) {
    vs_text_cstr(line, "Completed on ");
    vs_sheet_machine(p);
    vs_text_cstr(line, ", with ");
    vs_words_count(line, vs_sheet_torch_sum(p, "ooms"), "out-of-memory error");
    vs_text_cstr(line, ", which the program handled");
    return VS_STYLE_TITLE;
  }
  VS_ASSERT(vs_sheet_is(p, "does_not_fit"));
  vs_text_cstr(line, "Does not fit: out of memory on ");
  vs_sheet_machine(p);
  if (vs_reply_bool(p->card, "is_only_size")) return VS_STYLE_BAD; /* the size is said */
  vs_text_cstr(line, " with ");
  vs_sheet_bytes(p, vs_reply_u64(p->card, "total_bytes"));
  return VS_STYLE_BAD;
}

static void put_verdict(vs_sheet *p) {
  (void)vs_sheet_begin(p);
  vs_sheet_headline(p, put_answer(p));
}

/* "20 steps in 8.3 s; 4 processes used the GPU". */
static void put_course(vs_sheet *p) {
  const uint64_t steps = vs_reply_u64(p->reply, "steps");
  const size_t processes = vs_dryrun_count_users(p);
  const vs_json job = vs_reply_at(p->reply, "job");
  vs_text *line = vs_sheet_begin(p);
  if (steps != 0) {
    vs_words_count(line, steps, "step");
    vs_text_cstr(line, " in ");
  }
  vs_text_duration(line, vs_reply_u64(p->reply, "time_us"));
  if (vs_sheet_is(p, "does_not_fit")) {
    vs_text_cstr(line, "; ");
    vs_sheet_failure(p, p->reply);
  }
  if (processes > 1) vs_text_format(line, "; %U processes used the GPU", (uint64_t)processes);
  if (vs_reply_u64(job, "processes") == 1)
    vs_text_format(line, "; rank %U of %U, the others simulated", vs_reply_u64(job, "rank"),
                   vs_reply_u64(job, "world_size"));
  put_until(p);
  vs_sheet_end(p, "Ran", VS_STYLE_TITLE);
}

/* ---- out of memory */

static vs_json last_oom(const vs_sheet *p) {
  const vs_json ooms = vs_reply_at(p->device, "ooms");
  const size_t count = vs_json_count(ooms);
  return vs_json_at(ooms, count == 0 ? 0 : count - 1);
}

static void put_sentence(vs_sheet *p, vs_json sentence, const char *label) {
  if (vs_reply_is_unknown(sentence)) return;
  vs_screen_safe(vs_sheet_begin(p), vs_json_str(sentence, VS_STR("")));
  vs_sheet_end(p, label, VS_STYLE_TITLE);
}

/* No setting of the allocator helps where weights, gradients and optimizer state alone are more than the card has. */
static bool is_too_much_to_train(const vs_sheet *p) {
  const uint64_t bytes = vs_reply_u64(p->reply, "training_bytes");
  return bytes != 0 &&
         vs_sat_add_u64(bytes, vs_reply_u64(p->card, "context_bytes")) > vs_reply_u64(p->card, "total_bytes");
}

static void put_larger(vs_sheet *p) {
  vs_text_cstr(vs_sheet_begin(p),
               "a larger GPU, or less state: weights, gradients and Adam's moments alone need ");
  vs_sheet_bytes(p, vs_reply_u64(p->reply, "training_bytes"));
  vs_text_cstr(&p->line, ". FSDP shares them between GPUs; 8-bit moments or LoRA make them smaller");
  vs_sheet_end(p, "  try", VS_STYLE_TITLE);
}

static void put_oom(vs_sheet *p) {
  const vs_json oom = vs_reply_at(p->reply, "oom"), seen = last_oom(p);
  const uint64_t count = vs_sheet_torch_sum(p, "ooms");
  if (vs_reply_is_unknown(oom)) return;
  vs_text *line = vs_sheet_begin(p);
  vs_text_cstr(line, "failed to allocate ");
  vs_sheet_bytes(p, vs_reply_u64(oom, "asked_bytes"));
  if (vs_json_count(vs_reply_at(seen, "stack")) != 0) {
    vs_text_cstr(line, " at ");
    vs_words_label(line, seen);
  }
  if (vs_json_count(p->cards) > 1) vs_text_format(line, ", on GPU %U", vs_reply_u64(oom, "device"));
  if (count > 1) vs_text_format(line, "; the last of %U such errors", count);
  vs_sheet_end(p, "Out of memory", VS_STYLE_BAD);
  (void)vs_sheet_begin(p);
  vs_sheet_bytes(p, vs_reply_u64(oom, "free_bytes"));
  const char *owner;
  const vs_json pool = vs_sheet_pool(p->card, &owner);
  const bool is_jax = vs_reply_bool(oom, "in_jax_limit");
  if (owner != NULL && (is_jax || vs_reply_bool(oom, "in_tensorflow_limit"))) {
    vs_text_format(line, " free in %s's pool, whose limit is ", owner);
    vs_sheet_bytes(p, vs_reply_u64(pool, "bytes_limit"));
    if (is_jax) vs_text_cstr(line, " (XLA_PYTHON_CLIENT_MEM_FRACTION)");
  } else {
    vs_text_cstr(line, " free on the GPU");
  }
  if (!vs_reply_is_unknown(vs_reply_at(oom, "reserved_bytes"))) {
    vs_text_cstr(line, "; PyTorch reserved ");
    vs_sheet_bytes(p, vs_reply_u64(oom, "reserved_bytes"));
    vs_text_cstr(line, ", ");
    vs_sheet_bytes(p, vs_reply_u64(oom, "allocated_bytes"));
    vs_text_cstr(line, " of it allocated");
  }
  vs_sheet_end(p, "  then", VS_STYLE_TITLE);
  put_sentence(p, vs_reply_at(seen, "sentence"), "  why");
  if (is_too_much_to_train(p)) put_larger(p);
  else put_sentence(p, vs_reply_at(seen, "advice"), "  try");
}

/* ---- the peak */

/* Memory that the driver counts in addition to PyTorch's. */
static void put_outside(vs_sheet *p, vs_json card) {
  const uint64_t reserved = vs_reply_u64(vs_reply_at(card, "torch"), "peak_reserved_bytes"),
                 used = vs_reply_u64(card, "driver_peak_bytes");
  if (used <= reserved) return;
  vs_text_cstr(&p->line, ", ");
  vs_sheet_bytes(p, used - reserved);
  vs_text_cstr(&p->line, vs_reply_u64(card, "contexts") > 1 ? " contexts and other" : " context and other");
}

/* "4.54 GiB of 79.18 GiB needed: 4.03 GiB allocated in JAX's pool, 514 MiB context and other; JAX preallocated ...". */
static void put_pool_peak(vs_sheet *p, vs_json card, vs_json pool, const char *owner, const char *label) {
  const uint64_t taken = vs_reply_u64(pool, "peak_pool_bytes"),
                 used = vs_reply_u64(card, "driver_peak_bytes");
  vs_text *line = vs_sheet_begin(p);
  vs_sheet_shares(p, card);
  vs_text_cstr(line, " needed: ");
  vs_sheet_bytes(p, vs_reply_u64(pool, "peak_bytes_in_use"));
  vs_text_format(line, " allocated in %s's pool, ", owner);
  vs_sheet_bytes(p, used - vs_min_u64(taken, used));
  vs_text_cstr(line, vs_reply_u64(card, "contexts") > 1 ? " contexts and other. " : " context and other. ");
  if (taken > vs_reply_u64(pool, "peak_bytes_in_use")) {
    if (vs_reply_bool(pool, "preallocated")) vs_text_format(line, "%s preallocated a pool of ", owner);
    else vs_text_cstr(line, "The pool grew to ");
    vs_sheet_bytes(p, taken);
    vs_text_cstr(line, ", so the driver's peak is ");
  } else {
    vs_text_cstr(line, "The driver's peak is ");
  }
  vs_sheet_bytes(p, used);
  vs_sheet_end(p, label, VS_STYLE_TITLE);
}

/* A pending free is not allocated any more, but still requested: without it, as much as is requested is allocated. */
static void put_requested(vs_sheet *p, vs_json torch) {
  const vs_json requested = vs_reply_at(torch, "peak_requested_bytes");
  if (vs_reply_is_unknown(requested)) return;
  const uint64_t bytes = vs_json_u64(requested, 0);
  vs_text_cstr(&p->line, ", ");
  vs_sheet_bytes(p, bytes);
  vs_text_cstr(&p->line, " requested");
  if (bytes > vs_reply_u64(torch, "peak_allocated_bytes")) vs_text_cstr(&p->line, " with pending frees");
}

static void put_card_peak(vs_sheet *p, vs_json card, const char *label) {
  const char *owner;
  const vs_json pool = vs_sheet_pool(card, &owner);
  if (owner != NULL) {
    put_pool_peak(p, card, pool, owner, label);
    return;
  }
  const vs_json torch = vs_reply_at(card, "torch");
  const uint64_t taken = vs_reply_u64(card, "taken_bytes"), retries = vs_reply_u64(torch, "retries");
  vs_text *line = vs_sheet_begin(p);
  vs_sheet_shares(p, card);
  vs_text_cstr(line, " used on the GPU");
  if (!vs_reply_is_unknown(torch)) {
    vs_text_cstr(line, ": ");
    vs_sheet_bytes(p, vs_reply_u64(torch, "peak_reserved_bytes"));
    vs_text_cstr(line, " reserved by PyTorch (");
    vs_sheet_bytes(p, vs_reply_u64(torch, "peak_allocated_bytes"));
    vs_text_cstr(line, " allocated");
    put_requested(p, torch);
    vs_text_cstr(line, ")");
    put_outside(p, card);
  }
  if (taken != 0) {
    vs_text_cstr(line, "; another process held ");
    vs_sheet_bytes(p, taken);
  }
  if (retries != 0) {
    vs_text_cstr(line, "; ");
    vs_text_cstr(line, "PyTorch flushed its cache ");
    if (retries == 1) vs_text_cstr(line, "once");
    else vs_words_count(line, retries, "time");
    vs_text_cstr(line, " (cudaMalloc retry)");
  }
  vs_sheet_end(p, label, VS_STYLE_TITLE);
}

/* Each card that was used; of many only the busiest ones. */
static void put_peaks(vs_sheet *p) {
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
  VS_ASSERT(shown <= CARDS_MOST && shown <= used);
  if (used == shown) return;
  vs_text_format(vs_sheet_begin(p), "%u more GPUs: see them with --json", used - shown);
  vs_sheet_end(p, "", VS_STYLE_PLAIN);
}

/* A row for each group of a list, and one for the `count` - shown others, which are called `noun`. */
static void put_groups(vs_sheet *p, vs_json groups, uint64_t all, uint64_t count, const char *noun) {
  static const vs_column columns[] = {
      {NULL, VS_COLUMN_RIGHT}, {NULL, VS_COLUMN_RIGHT}, {NULL, VS_COLUMN_BAR}, {NULL, VS_COLUMN_NAME}};
  const size_t shown = vs_json_count(groups);
  if (shown == 0 || all == 0) return;
  vs_table table;
  vs_table_begin(&table, p->screen, 4, columns, 4);
  uint64_t rest = all;
  for (size_t i = 0; i < shown; i++) {
    const vs_json group = vs_json_at(groups, i);
    const uint64_t bytes = vs_reply_u64(group, "bytes");
    vs_text_bytes(vs_table_cell(&table), bytes, p->screen->unit);
    vs_text_percent(vs_table_cell(&table), bytes, all);
    vs_table_bar(&table, vs_reply_f64(group, "share"));
    vs_words_label(vs_table_cell(&table), group);
    rest -= vs_min_u64(bytes, rest);
  }
  VS_ASSERT(count >= shown);
  if (count != shown) {
    vs_text_bytes(vs_table_cell(&table), rest, p->screen->unit);
    vs_text_percent(vs_table_cell(&table), rest, all);
    vs_table_bar(&table, (double)rest / (double)all);
    vs_words_count(vs_table_cell(&table), count - shown, noun);
  }
  vs_table_put(&table);
}

/* By the metadata that the program or the hook in it set, and by line, which says nothing more where one line called all of it. */
static void put_holders(vs_sheet *p) {
  const vs_json peak = vs_reply_at(p->device, "peak"), owners = vs_reply_at(peak, "owners");
  const uint64_t all = vs_reply_u64(peak, "requested_bytes"), count = vs_reply_u64(peak, "owner_count");
  const uint64_t parts = vs_reply_u64(peak, "metadata_count");
  if (vs_json_count(owners) != 0) vs_dryrun_put_whose(p);
  put_groups(p, vs_reply_at(peak, "metadata"), all, parts, "other part");
  if (parts == 0 || count > 1) put_groups(p, owners, all, count, "other line");
}

/* "454,640 tokens: 3.46 requests of 131,072 tokens (the longest) at the same time". */
static void put_kv_cache(vs_sheet *p) {
  const vs_json cache = vs_reply_at(p->reply, "kv_cache");
  if (vs_reply_is_unknown(cache)) return;
  vs_text *line = vs_sheet_begin(p);
  const uint64_t engines = vs_reply_u64(cache, "engines");
  vs_words_count(line, vs_reply_u64(cache, "tokens"), "token");
  if (engines > 1) vs_text_format(line, " in each of %U engines", engines);
  vs_text_cstr(line, ": ");
  vs_sheet_put_requests(line, cache);
  vs_text_cstr(line, " requests of ");
  vs_text_count(line, vs_reply_u64(cache, "max_model_len"));
  vs_text_cstr(line, " tokens (the longest) at the same time. ");
  vs_screen_safe(line, vs_reply_str(cache, "engine"));
  vs_text_cstr(line, " makes it as large as the GPU allows, so try another GPU with --gpu");
  vs_sheet_end(p, "KV cache", VS_STYLE_TITLE);
}

static uint64_t free_in_private(vs_json pools) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < vs_json_count(pools); i++) {
    const vs_json pool = vs_json_at(pools, i);
    if (vs_reply_bool(pool, "is_private"))
      bytes += vs_reply_u64(pool, "fragmented_bytes") + vs_reply_u64(pool, "releasable_bytes");
  }
  return bytes;
}

/* Free memory of the private pools (CUDA graphs, torch.cuda.use_mem_pool) of the process that the report is about, at the
 * GPU's peak; 0 where it is unknown. */
static uint64_t free_in_private_pools(const vs_sheet *p) {
  const vs_json processes = vs_reply_at(p->reply, "processes");
  const uint64_t pid = vs_reply_u64(p->reply, "report_pid"), device = vs_reply_u64(p->device, "device");
  uint64_t bytes = 0;
  for (size_t i = 0; i < vs_json_count(processes); i++) {
    const vs_json process = vs_json_at(processes, i), devices = vs_reply_at(process, "devices");
    if (vs_reply_u64(process, "pid") != pid) continue;
    for (size_t k = 0; k < vs_json_count(devices); k++) {
      const vs_json reserved = vs_reply_at(vs_json_at(devices, k), "reserved");
      if (!vs_reply_is_unknown(reserved) && vs_reply_u64(reserved, "device") == device)
        bytes += free_in_private(vs_reply_at(reserved, "pools"));
    }
  }
  return bytes;
}

/* The peak of reserved memory beyond that of requested memory: cached memory and rounding. It is always the difference of
 * the two in "Peak". They may be of two moments, such as where the cache grew after a step that requested most, or was
 * flushed before it: then the line says so. Where it is mostly in private pools, that is said instead of fragmentation. */
static void put_overhead(vs_sheet *p) {
  enum { LITTLE = 20, HIGH = 4 };
  const vs_json peak = vs_reply_at(p->device, "peak");
  const uint64_t reserved = vs_reply_u64(vs_reply_at(p->device, "peak_reserved"), "reserved_bytes"),
                 requested = vs_reply_u64(peak, "requested_bytes");
  if (reserved == 0 || requested > reserved) return;
  const uint64_t overhead = reserved - requested, apart = free_in_private_pools(p);
  vs_text *line = vs_sheet_begin(p);
  vs_sheet_bytes(p, overhead);
  vs_text_cstr(line, reserved == vs_reply_u64(peak, "reserved_bytes")
                         ? " more reserved than requested at the peak ("
                         : " more reserved than requested, each at its own peak (");
  vs_text_percent(line, overhead, reserved);
  vs_text_cstr(line, "): ");
  if (overhead >= reserved / LITTLE && apart >= overhead - overhead / 2) {
    vs_sheet_bytes(p, apart);
    vs_text_cstr(line, " free in private pools (CUDA graphs), which no other pool can use");
  } else {
    vs_text_cstr(line, overhead < reserved / LITTLE ? "fragmentation is low"
                       : overhead < reserved / HIGH ? "fragmentation is noticeable"
                                                    : "fragmentation is high");
    if (overhead >= reserved / HIGH) vs_text_cstr(line, "; try --conf expandable_segments:True");
  }
  vs_sheet_end(p, "Overhead", VS_STYLE_TITLE);
}

/* ---- the model */

/* For a run that failed before the optimizer had its state: what training needs before the first activation. */
static void put_training(vs_sheet *p, vs_json model) {
  const uint64_t bytes = vs_reply_u64(p->reply, "training_bytes");
  const uint64_t trained = vs_reply_u64(model, "trainable_bytes"),
                 states = vs_reply_u64(model, "optimizer_bytes");
  if (!vs_sheet_is(p, "does_not_fit") || bytes == 0 || states >= 2 * trained) return;
  vs_text_cstr(&p->line, ". To train it all takes ");
  vs_sheet_bytes(p, bytes);
  vs_text_cstr(&p->line, " before the first activation");
  const uint64_t count = vs_reply_u64(model, "parameters");
  if (count == 0 || vs_reply_u64(model, "parameter_bytes") != trained || trained % count != 0) return;
  const uint64_t each = trained / count;
  vs_text_format(&p->line, ": %U + %U + %U bytes a parameter for weights, gradients and Adam's moments", each,
                 each, 2 * each);
}

static void put_model(vs_sheet *p) {
  const vs_json model = vs_reply_at(p->reply, "model");
  const uint64_t count = vs_reply_u64(model, "parameters"), weights = vs_reply_u64(model, "parameter_bytes");
  const uint64_t gradients = vs_reply_u64(model, "gradient_bytes"),
                 states = vs_reply_u64(model, "optimizer_bytes");
  if (count == 0) return;
  vs_text *line = vs_sheet_begin(p);
  vs_words_count(line, count, "parameter");
  vs_text_cstr(line, ": ");
  vs_sheet_bytes(p, weights);
  vs_text_cstr(line, ", gradients ");
  vs_sheet_bytes(p, gradients);
  vs_text_cstr(line, ", optimizer ");
  vs_sheet_bytes(p, states);
  const uint64_t each = (weights + gradients + states) / count;
  vs_text_format(line, " (%U bytes a parameter)", each);
  put_training(p, model);
  vs_sheet_end(p, "Model", VS_STYLE_TITLE);
}

/* ---- the page */

static void put_next(vs_sheet *p, vs_dryrun_next next) {
  const char *kept = next.snapshot;
  if (!next.is_shown || vs_sheet_is(p, "no_cuda")) return;
  if (vs_json_is_absent(p->device)) return;
  vs_text_byte(&p->screen->text, '\n');
  vs_screen_styled(p->screen, VS_STYLE_TITLE, VS_STR("Next: "));
  vs_text *line = vs_sheet_begin(p);
  if (kept != NULL) {
    vs_text_format(line, "vramscope tree --at %s ", vs_json_is_absent(last_oom(p)) ? "peak" : "oom");
    vs_words_shell(line, vs_str_from(kept));
  } else {
    vs_text_cstr(line, "add --snapshot memory.pickle, then vramscope tree --at ");
    vs_text_cstr(line, vs_json_is_absent(last_oom(p)) ? "peak" : "oom");
    vs_text_cstr(line, " memory.pickle");
  }
  vs_text_str(&p->screen->text, vs_text_view(line));
  vs_text_byte(&p->screen->text, '\n');
}

void vs_dryrun_put_report(vs_screen *screen, vs_json reply, vs_dryrun_next next) {
  vs_sheet p;
  vs_sheet_init(&p, screen, reply);
  vs_text_byte(&screen->text, '\n'); /* the program's output stands above */
  put_verdict(&p);
  vs_words_changes(screen, vs_reply_at(reply, "changes"));
  if (!vs_sheet_is(&p, "no_cuda")) {
    put_course(&p);
    vs_dryrun_put_ranks(&p);
    put_oom(&p);
    put_peaks(&p);
    vs_dryrun_put_processes(&p);
    put_holders(&p);
    put_kv_cache(&p);
    put_overhead(&p);
    vs_sheet_put_ledger(&p);
    put_model(&p);
    vs_dryrun_put_search(&p);
  }
  vs_dryrun_put_doubts(&p);
  vs_dryrun_put_cards(&p);
  put_next(&p, next);
  vs_sheet_deinit(&p);
}
