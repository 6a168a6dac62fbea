/* Rows of PyTorch's allocator, from replies of the method "reserved". */
#include "codec/json_reply.h"
#include "ledger/ledger.h"

static const char estimated[] = "PyTorch, estimated", exact[] = "PyTorch", told[] = "recording";

/* The terms of reserved memory. */
static const struct term {
  vs_ledger_kind kind;
  const char *key, *name;
} terms[] = {
    {VS_LEDGER_REQUESTED, "requested_bytes", "tensors, as requested"},
    {VS_LEDGER_ROUNDING, "rounding_bytes", "rounding"},
    {VS_LEDGER_PENDING, "pending_bytes", "pending free"},
    {VS_LEDGER_FRAGMENTED, "fragmented_bytes", "fragmented"},
    {VS_LEDGER_RELEASABLE, "releasable_bytes", "releasable"},
};
enum { TERMS = sizeof terms / sizeof *terms };

/* ---- checking ------------------------------------------------------------------------------------------ */

static bool is_bytes(vs_json value) { return vs_json_u64(value, 0) == vs_json_u64(value, 1); }

static vs_status check_sums(vs_json sums, vs_error *error) {
  uint64_t sum = 0;
  for (size_t i = 0; i < TERMS; i++) {
    const vs_json value = vs_reply_at(sums, terms[i].key);
    if (!is_bytes(value))
      return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "\"%s\" is not a number of bytes", terms[i].key);
    sum = vs_sat_add_u64(sum, vs_json_u64(value, 0));
  }
  const vs_json reserved = vs_reply_at(sums, "reserved_bytes");
  if (is_bytes(reserved) && vs_json_u64(reserved, 0) == sum && sum != UINT64_MAX) return VS_OK;
  return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET,
                 "\"reserved_bytes\" is not the sum of what the reserved memory consists of");
}

static bool is_private(vs_json pool) { return vs_reply_bool(pool, "is_private"); }

vs_status vs_ledger_check_division(vs_json division, vs_error *error) {
  const vs_json pools = vs_reply_at(division, "pools");
  uint64_t sums[TERMS] = {0};
  VS_TRY(check_sums(division, error));
  for (size_t i = 0; i < vs_json_count(pools); i++) {
    const vs_json pool = vs_json_at(pools, i);
    VS_TRY(check_sums(pool, error));
    for (size_t k = 0; k < TERMS; k++) sums[k] = vs_sat_add_u64(sums[k], vs_reply_u64(pool, terms[k].key));
  }
  for (size_t k = 0; k < TERMS; k++)
    if (vs_json_kind(pools) != VS_JSON_ARRAY || sums[k] != vs_reply_u64(division, terms[k].key))
      return vs_fail(error, VS_BAD_ARGUMENT, VS_NO_OFFSET, "\"pools\" do not sum up to \"%s\"", terms[k].key);
  return VS_OK;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

const char *vs_ledger_band_name(vs_ledger_kind kind) {
  for (size_t k = 0; k < TERMS; k++)
    if (terms[k].kind == kind) return terms[k].name;
  return kind == VS_LEDGER_PRIVATE_POOL ? "private pools" : NULL;
}

static uint32_t add_row(vs_ledger *ledger, uint32_t parent, vs_ledger_kind kind, vs_str name,
                        const vs_ledger_figure *figure) {
  const vs_ledger_entry entry = {.kind = kind, .name = name, .figure = *figure};
  return vs_ledger_add(ledger, parent, &entry);
}

static uint32_t add_known(vs_ledger *ledger, uint32_t parent, vs_ledger_kind kind, vs_str name,
                          uint64_t bytes, const char *source) {
  const vs_ledger_figure figure = vs_ledger_known(bytes, source);
  return add_row(ledger, parent, kind, name, &figure);
}

static void add_unknown(vs_ledger *ledger, uint32_t parent, vs_ledger_kind kind, const char *name,
                        vs_str why) {
  const vs_ledger_figure figure = vs_ledger_unknown(why);
  (void)add_row(ledger, parent, kind, vs_str_from(name), &figure);
}

static void add_terms(vs_ledger *ledger, uint32_t parent, const uint64_t bytes[TERMS], const char *source) {
  for (size_t k = 0; k < TERMS; k++)
    (void)add_known(ledger, parent, terms[k].kind, vs_str_from(terms[k].name), bytes[k], source);
}

static void add_private_pool(vs_ledger *ledger, uint32_t parent, vs_json pool, const char *source) {
  const vs_json numbers = vs_reply_at(pool, "pool");
  uint64_t bytes[TERMS];
  char name[64];
  vs_format(name, sizeof name, "private pool %U,%U", vs_json_u64(vs_json_at(numbers, 0), 0),
            vs_json_u64(vs_json_at(numbers, 1), 0));
  const uint32_t row = add_known(ledger, parent, VS_LEDGER_PRIVATE_POOL, vs_str_from(name),
                                 vs_reply_u64(pool, "reserved_bytes"), source);
  for (size_t k = 0; k < TERMS; k++) bytes[k] = vs_reply_u64(pool, terms[k].key);
  add_terms(ledger, row, bytes, source);
}

static void add_division(vs_ledger *ledger, uint32_t row, vs_json division) {
  const vs_json pools = vs_reply_at(division, "pools");
  const char *source = vs_reply_bool(division, "is_exact") ? exact : estimated;
  uint64_t bytes[TERMS] = {0};
  for (size_t i = 0; i < vs_json_count(pools); i++)
    for (size_t k = 0; k < TERMS && !is_private(vs_json_at(pools, i)); k++)
      bytes[k] += vs_reply_u64(vs_json_at(pools, i), terms[k].key);
  add_terms(ledger, row, bytes, source);
  for (size_t i = 0; i < vs_json_count(pools); i++)
    if (is_private(vs_json_at(pools, i))) add_private_pool(ledger, row, vs_json_at(pools, i), source);
}

void vs_ledger_add_pytorch(vs_ledger *ledger, uint32_t parent, const vs_ledger_figure *reserved,
                           vs_json division, vs_str why) {
  const uint32_t row = add_row(ledger, parent, VS_LEDGER_PYTORCH, VS_STR("PyTorch reserved"), reserved);
  if (row == VS_LEDGER_NONE) return;
  if (!vs_reply_is_unknown(division)) add_division(ledger, row, division);
  else if (why.size != 0) add_unknown(ledger, row, VS_LEDGER_REQUESTED, terms[0].name, why);
}

/* `key`: the member of each library that has its bytes. A library that had none then has no row. */
static void add_libraries(vs_ledger *ledger, uint32_t parent, vs_json reply, const char *key, vs_str why) {
  const vs_json libraries = vs_reply_at(reply, "libraries");
  for (size_t i = 0; i < vs_json_count(libraries); i++) {
    const vs_json library = vs_json_at(libraries, i);
    const uint64_t bytes = vs_reply_u64(library, key);
    if (bytes != 0)
      (void)add_known(ledger, parent, VS_LEDGER_LIBRARY, vs_reply_str(library, "library"), bytes, told);
  }
  if (vs_json_kind(libraries) != VS_JSON_ARRAY)
    add_unknown(ledger, parent, VS_LEDGER_LIBRARY, "other libraries", why);
}

void vs_ledger_add_libraries(vs_ledger *ledger, uint32_t parent, vs_json division, vs_str why) {
  add_libraries(ledger, parent, division, "bytes", why);
}

void vs_ledger_add_without_pytorch(vs_ledger *ledger, uint32_t parent, vs_json libraries,
                                   vs_library_moment moment) {
  const vs_ledger_figure pytorch =
      vs_ledger_unknown(VS_STR("PyTorch's allocator was not seen in this process"));
  const vs_json none = {.value.kind = VS_JSON_ABSENT};
  vs_ledger_add_pytorch(ledger, parent, &pytorch, none, VS_STR(""));
  add_libraries(ledger, parent, libraries, moment == VS_LIBRARIES_AT_PEAK ? "at_peak_bytes" : "end_bytes",
                VS_STR("a call of the driver was missed"));
}

/* ---- a snapshot or a recording -------------------------------------------------------------------------- */

static const char context[] = "CUDA context, streams, local memory", others[] = "other processes";
static const char only_pytorch[] = "a snapshot or recording has PyTorch's memory alone",
                  only_libraries[] = "a recording has the memory of PyTorch and of other libraries alone",
                  only_requested[] = "a recording without PyTorch has what libraries requested alone";

/* A member of the reply that may be null. */
static vs_ledger_figure figure_of(vs_json reply, const char *key, const char *source, const char *why) {
  return vs_reply_knows(reply, key) ? vs_ledger_known(vs_reply_u64(reply, key), source)
                                    : vs_ledger_unknown(vs_str_from(why));
}

static uint32_t add_card(vs_ledger *ledger, vs_json reply, vs_str moment) {
  const vs_ledger_entry card = {
      .kind = VS_LEDGER_CARD,
      .name = vs_reply_str(reply, "card_name"),
      .figure = figure_of(reply, "card_bytes", "recording", "the file does not have the GPU's size"),
      .has_number = true,
      .number = vs_reply_u64(reply, "device"),
      .moment = moment};
  return vs_ledger_add(ledger, VS_LEDGER_NONE, &card);
}

/* PyTorch's row directly, so that what is left is exactly what is not PyTorch's. */
static void add_used(vs_ledger *ledger, uint32_t card, const vs_ledger_figure *used, vs_json reply,
                     vs_str why) {
  const vs_ledger_figure reserved = vs_ledger_known(vs_reply_u64(reply, "reserved_bytes"), exact);
  const uint32_t row = add_row(ledger, card, VS_LEDGER_USED, VS_STR("used"), used);
  vs_ledger_add_pytorch(ledger, row, &reserved, reply, VS_STR(""));
  vs_ledger_add_libraries(ledger, row, reply, why);
  add_unknown(ledger, row, VS_LEDGER_CONTEXT, context, why);
  add_unknown(ledger, row, VS_LEDGER_OTHER_PROCESSES, others, why);
}

vs_status vs_ledger_add_recorded_libraries(vs_ledger *ledger, vs_json libraries, vs_library_moment at,
                                           vs_str moment) {
  const uint32_t card = add_card(ledger, libraries, moment);
  const vs_str why = vs_str_from(only_requested);
  const vs_ledger_figure used = vs_ledger_unknown(why);
  const uint32_t row = add_row(ledger, card, VS_LEDGER_USED, VS_STR("used"), &used);
  if (row == VS_LEDGER_NONE) return ledger->status;
  vs_ledger_add_without_pytorch(ledger, row, libraries, at);
  add_unknown(ledger, row, VS_LEDGER_CONTEXT, context, why);
  add_unknown(ledger, row, VS_LEDGER_OTHER_PROCESSES, others, why);
  add_unknown(ledger, card, VS_LEDGER_FREE, "free", why);
  return ledger->status;
}

vs_status vs_ledger_add_recorded(vs_ledger *ledger, vs_json reply, vs_str moment) {
  const vs_ledger_figure free_bytes = figure_of(reply, "card_free_bytes", "driver, at the error",
                                                "a file has it only of an out-of-memory error (--at oom)");
  const vs_str why = vs_str_from(vs_reply_knows(reply, "libraries") ? only_libraries : only_pytorch);
  const uint64_t total = vs_reply_u64(reply, "card_bytes");
  vs_ledger_figure used = vs_ledger_unknown(why);
  if (vs_reply_knows(reply, "card_bytes") && free_bytes.is_known && free_bytes.bytes <= total)
    used = vs_ledger_known(total - free_bytes.bytes, "total - free");
  const uint32_t card = add_card(ledger, reply, moment);
  add_used(ledger, card, &used, reply, why);
  (void)add_row(ledger, card, VS_LEDGER_FREE, VS_STR("free"), &free_bytes);
  return ledger->status;
}
