/* The figures of a run that a check is about, from replies about it: each known, or unknown for a reason. */
#ifndef VS_CHECK_FACTS_H
#define VS_CHECK_FACTS_H

#include "base/text.h"
#include "codec/json_reply.h"

typedef enum vs_fact_id {
#define VS_FACT(id, key, what, is_bytes) VS_FACT_##id,
#include "check/facts.def"
#undef VS_FACT
  VS_FACT_COUNT
} vs_fact_id;

typedef struct vs_fact_kind {
  const char *key, *what;
  bool is_bytes;
} vs_fact_kind;

extern const vs_fact_kind vs_fact_kinds[VS_FACT_COUNT];

typedef struct vs_fact {
  bool is_known;
  uint64_t value;  /* of a run that is incomplete: at least so much */
  const char *why; /* of an unknown one: the reason, as a clause. Static */
} vs_fact;

/* What is checked. Absent where there is none; the documents are borrowed. */
typedef struct vs_check_run {
  vs_str name;       /* the file, or the program with its arguments */
  vs_json dryrun;    /* the reply of a dry run; then the others are taken from it */
  vs_json inventory; /* the replies of these methods about a file */
  vs_json report;
  /* For each steps that a budget names, and each GPU: {"steps", "inventory", "why"}: the reply of the method "inventory" about the
   * moment "steps ...", or null, and then the reason */
  vs_json ranges;
} vs_check_run;

typedef struct vs_facts {
  vs_fact list[VS_FACT_COUNT];
  vs_json inventory;        /* what was live at the peak; absent: unknown */
  vs_text incomplete;       /* why the figures are lower bounds, as a clause; empty: they are exact */
  const char *no_inventory; /* the reason why it is absent. Static */
} vs_facts;

/* Fails: VS_NO_MEMORY. To be released after a failure, too. */
VS_MUST_CHECK vs_status vs_facts_init(vs_facts *facts, const vs_host *host, const vs_check_run *run);
void vs_facts_deinit(vs_facts *facts);

#endif
