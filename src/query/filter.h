/* The parameter "filter": terms, all of which a row must satisfy.
 *
 * Grammar: terms with spaces between them. A term is key OP value without spaces (keys: filter_keys.def; OP one of = !=
 * < <= > >=), or text, which must occur in the function or the file of a frame. Double quotes make any characters text,
 * or enclose a value with spaces. A word that does not begin with a key and an operator is text too, so C++ names need
 * no quotes unless they have spaces.
 *
 * Frames are searched once for each string and each stack, not for each row. */
#ifndef VS_QUERY_FILTER_H
#define VS_QUERY_FILTER_H

#include "analyze/frames.h"

typedef enum vs_filter_key {
#define VS_FILTER_KEY(name, TYPE, sentence) VS_FILTER_##name,
#include "query/filter_keys.def"
#undef VS_FILTER_KEY
  VS_FILTER_TEXT,
} vs_filter_key;

typedef enum vs_comparison {
  VS_EQUAL,
  VS_NOT_EQUAL,
  VS_BELOW,
  VS_AT_MOST,
  VS_ABOVE,
  VS_AT_LEAST
} vs_comparison;

typedef struct vs_term {
  uint8_t key;        /* vs_filter_key */
  uint8_t comparison; /* vs_comparison */
  bool is_none;       /* pool=none */
  bool is_segment;    /* name=s... */
  uint64_t number;    /* the value to compare with; pool: its first half; name: the address */
  uint64_t number2;   /* pool: its second half; name: the version */
  size_t start, size; /* of the value in vs_filter.text */
} vs_term;

typedef struct vs_filter {
  const vs_host *host;
  VS_VEC(char) text; /* the filter as it was given */
  VS_VEC(vs_term) terms;
  vs_frames *frames; /* after vs_filter_prepare; borrowed */
  /* After vs_filter_prepare: for each term about stacks, a result for each string, then for each stack; 0: not
   * determined yet, 1: no, 2: yes. */
  VS_VEC(uint8_t) seen;
} vs_filter;

/* The properties of a row that terms compare; ids are those of the snapshot. `has`: bits 1 << vs_filter_key of those
 * set. */
typedef struct vs_filter_row {
  uint64_t size, address, event, lifetime_us, number; /* number: compared with "row" */
  vs_str action, state, category, metadata, annotation;
  uint32_t stream, pool, stack, version;
  bool is_segment; /* compared with "name", as are `version` and `item_address` */
  uint64_t item_address;
  uint32_t has;
} vs_filter_row;

/* Fails: VS_BAD_ARGUMENT with the reason in `error`. After a failure there is nothing to deinit. */
VS_MUST_CHECK vs_status vs_filter_init(vs_filter *filter, const vs_host *host, vs_str text, vs_error *error);
void vs_filter_deinit(vs_filter *filter);

/* Refuses terms whose key the rows of a table never have (`keys` are the bits of those that they have), and names of
 * actions and states that neither PyTorch nor the file has. */
VS_MUST_CHECK vs_status vs_filter_allow(const vs_filter *filter, const vs_snapshot *snapshot, uint32_t keys,
                                        const char *rows, vs_error *error);

/* Allocates the table of remembered results. Call it before the first vs_filter_keeps. */
VS_MUST_CHECK vs_status vs_filter_prepare(vs_filter *filter, const vs_snapshot *snapshot, vs_frames *frames);
bool vs_filter_keeps(const vs_filter *filter, const vs_snapshot *snapshot, const vs_filter_row *row);

/* Whether a term has this key. */
bool vs_filter_asks(const vs_filter *filter, vs_filter_key key);

/* Reads a number with a unit of time (us, ms, s, min) as microseconds. */
bool vs_read_duration(vs_str text, int64_t *us);

static inline bool vs_filter_is_empty(const vs_filter *filter) { return filter->terms.count == 0; }

#endif
