/* The ledger of a GPU's memory: rows that divide the driver's figure of the card down to what PyTorch's tensors take, each with its
 * source or the reason why it is unknown.
 *
 *   vs_ledger_init(&ledger, host);
 *   card = vs_ledger_add(&ledger, VS_LEDGER_NONE, &(vs_ledger_entry){.kind = VS_LEDGER_CARD, ...});
 *   used = vs_ledger_add(&ledger, card, ...);
 *   status = vs_ledger_complete(&ledger, true, &error);     adds what is left, once all rows are there
 *   vs_ledger_put(&writer, &ledger);
 *   vs_ledger_deinit(&ledger);
 *
 * Invariant after vs_ledger_complete (vs_ledger_check): the known rows below a row that is known sum up to its bytes. For that each known
 * row with rows below it gets a last one: UNEXPLAINED, with exactly what is left, if those are all known; else UNKNOWN_TOGETHER, with what
 * the unknown ones are together. Rows below an unknown row have no such sum. Unknown is never 0. */
#ifndef VS_LEDGER_LEDGER_H
#define VS_LEDGER_LEDGER_H

#include "base/interned_strings.h"
#include "codec/json_doc.h"
#include "codec/json_writer.h"

typedef enum vs_ledger_kind {
#define VS_LEDGER_KIND(kind, name) VS_LEDGER_##kind,
#include "ledger/kinds.def"
  VS_LEDGER_KINDS
} vs_ledger_kind;

/* "pytorch". */
const char *vs_ledger_kind_name(vs_ledger_kind kind);

/* Bytes, or the reason why they are unknown: a clause, "the process does not record". */
typedef struct vs_ledger_figure {
  bool is_known;
  uint64_t bytes; /* 0 unless known */
  vs_str why;     /* empty if known */
  vs_str source;  /* who measured it, "NVML"; empty if unknown */
} vs_ledger_figure;

static inline vs_ledger_figure vs_ledger_known(uint64_t bytes, const char *source) {
  return (vs_ledger_figure){.is_known = true, .bytes = bytes, .source = vs_str_from(source)};
}
static inline vs_ledger_figure vs_ledger_unknown(vs_str why) { return (vs_ledger_figure){.why = why}; }

#define VS_LEDGER_NONE UINT32_MAX

/* What a row is added from. Texts are copied. */
typedef struct vs_ledger_entry {
  vs_ledger_kind kind;
  vs_str name;
  vs_ledger_figure figure;
  bool has_number;
  uint64_t number; /* of a card: its device; of a process: its pid */
  vs_str moment;   /* of a card: when, "at the end of the recording"; else empty */
} vs_ledger_entry;

typedef struct vs_ledger_row {
  vs_ledger_kind kind;
  uint32_t parent, first, last, next; /* rows; VS_LEDGER_NONE: there is none */
  bool is_known, has_number;
  uint64_t bytes, number;
  uint32_t name, why, source, moment; /* texts */
} vs_ledger_row;

typedef struct vs_ledger {
  const vs_host *host;
  vs_status status; /* the first failure; later calls do nothing */
  vs_strings texts;
  VS_VEC(vs_ledger_row) rows; /* a row stands behind its parent */
} vs_ledger;

void vs_ledger_init(vs_ledger *ledger, const vs_host *host);
void vs_ledger_deinit(vs_ledger *ledger);

/* Adds a row as the last one of its parent; VS_LEDGER_NONE: a card. Returns its number, VS_LEDGER_NONE after a failure. */
uint32_t vs_ledger_add(vs_ledger *ledger, uint32_t parent, const vs_ledger_entry *entry);

/* Adds what is left to each row. `is_one_moment`: all figures are of one moment, so that rows with more bytes than the row above them are
 * an error; else what is left is unknown there, because the figures contradict each other.
 *
 * Fails: VS_BAD_ARGUMENT  such an error; `error` names the row; and with the status of the ledger */
VS_MUST_CHECK vs_status vs_ledger_complete(vs_ledger *ledger, bool is_one_moment, vs_error *error);

static inline vs_str vs_ledger_text(const vs_ledger *ledger, uint32_t text) {
  return vs_strings_at(&ledger->texts, text);
}

/* Executes the invariant; NULL if it holds, else what does not. */
const char *vs_ledger_check(const vs_ledger *ledger);

/* Writes the member "devices": a row for each card (docs/formats/where.md). */
void vs_ledger_put(vs_jsonw *w, const vs_ledger *ledger);

/* ---- rows from documents (rows.c, from_dryrun.c) */

/* Adds the row of PyTorch's allocator, which has `reserved` of the card, and below it what it consists of: the reply of the method
 * "reserved", or nothing but `why` if `division` is none. */
void vs_ledger_add_pytorch(vs_ledger *ledger, uint32_t parent, const vs_ledger_figure *reserved,
                           vs_json division, vs_str why);

/* Adds a row for each library that the process has memory by, from the same reply; where it does not tell them, one that is unknown for
 * `why`. */
void vs_ledger_add_libraries(vs_ledger *ledger, uint32_t parent, vs_json division, vs_str why);

/* A process in which PyTorch's allocator has no memory of the card: what libraries have, from a device of the reply of "libraries". */
typedef enum vs_library_moment { VS_LIBRARIES_AT_PEAK, VS_LIBRARIES_AT_END } vs_library_moment;
void vs_ledger_add_without_pytorch(vs_ledger *ledger, uint32_t parent, vs_json libraries,
                                   vs_library_moment moment);

/* Whether that document is a reply of "reserved" whose figures are numbers of bytes. Fails: VS_BAD_ARGUMENT, `error` says which is not */
VS_MUST_CHECK vs_status vs_ledger_check_division(vs_json division, vs_error *error);

#define VS_LEDGER_ALL UINT64_MAX

/* Adds the cards that the run used, each at its peak, from the reply of a dry run (docs/formats/dryrun.md), which may come from
 * anywhere: the one of number `device`, or all of them. Fails: VS_NOT_FOUND  the run did not use that card; VS_BAD_ARGUMENT  something in it is missing, is no number of bytes or contradicts the rest; `error` says what */
VS_MUST_CHECK vs_status vs_ledger_add_dryrun(vs_ledger *ledger, vs_json reply, uint64_t device,
                                             vs_error *error);

/* What a snapshot or recording knows, from the reply of "reserved", in which vs_ledger_check_division finds no mistake. */
VS_MUST_CHECK vs_status vs_ledger_add_recorded(vs_ledger *ledger, vs_json reply, vs_str moment);

/* The name of a row of PyTorch's memory, which has that name in every ledger, "rounding"; of all private pools together "private pools". NULL:
 * another kind. */
const char *vs_ledger_band_name(vs_ledger_kind kind);

/* The same of a card of which PyTorch's allocator has no memory, from a device of the reply of "libraries". */
VS_MUST_CHECK vs_status vs_ledger_add_recorded_libraries(vs_ledger *ledger, vs_json libraries,
                                                         vs_library_moment at, vs_str moment);

#endif
