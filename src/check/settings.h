/* What is required of a run: the limits of all of it, and named budgets of programs and owners (docs/guide/check.md). */
#ifndef VS_CHECK_SETTINGS_H
#define VS_CHECK_SETTINGS_H

#include "check/facts.h"

/* "8GiB": a size; "+5%", "+64MiB": that much more than the baseline. */
typedef struct vs_bound {
  bool is_given;
  bool is_more; /* than the baseline */
  bool is_percent;
  uint64_t bytes; /* without is_percent */
  double percent; /* with is_percent */
  vs_str text;    /* as given; borrowed */
} vs_bound;

typedef struct vs_check_budget {
  vs_str name;    /* empty: the limits of every run */
  vs_str program; /* a pattern: of the runs that it is about; empty: all */
  vs_str owner;   /* a pattern: whose memory `max` limits; empty: `max` is not given */
  vs_str
      steps; /* a range (vs_parse_range): it is about the peak within these steps; empty: about the whole run */
  vs_bound max;
  bool has_most[VS_FACT_COUNT];
  uint64_t most[VS_FACT_COUNT];
} vs_check_budget;

typedef struct vs_check_settings {
  const vs_host *host;
  VS_VEC(vs_check_budget) budgets; /* the first one is the one without a name */
  vs_bound tolerance;              /* of the baseline; is_more */
} vs_check_settings;

/* Reads the settings: an object with the keys of a vramscope.toml. Those that the caller reads itself (gpu, baseline ...) are passed over.
 * `what`: the file, for errors. Fails: VS_BAD_ARGUMENT  with the key that is wrong, and why; VS_NO_MEMORY. To be released after a
 * failure, too. */
VS_MUST_CHECK vs_status vs_check_settings_init(vs_check_settings *settings, const vs_host *host, vs_json json,
                                               vs_error *error);
void vs_check_settings_deinit(vs_check_settings *settings);

/* Whether the whole text matches the pattern, in which * stands for any characters and ? for one. */
bool vs_pattern_matches(vs_str pattern, vs_str text);

/* The most bytes that a bound allows above `baseline`; without is_more `baseline` does not matter. Saturating. */
uint64_t vs_bound_most(const vs_bound *bound, uint64_t baseline);

#endif
