/* The values of settings: defaults, report, warnings. settings_parse.c reads them. */
#include "alloc/settings.h"
#include "base/double_text.h"

/* ---- the table ----------------------------------------------------------------------------------------- */

enum { ANY = false, NATIVE = true };

static const vs_alloc_setting rows[] = {
#define VS_ALLOC_SETTING(key_, KIND, field, default_, bounds_, since_, until_, WHERE, sentence_) \
  {.key = key_,                                                                                  \
   .fallback = default_,                                                                         \
   .bounds = bounds_,                                                                            \
   .sentence = sentence_,                                                                        \
   .kind = VS_ALLOC_##KIND,                                                                      \
   .since = since_,                                                                              \
   .until = until_,                                                                              \
   .is_native = WHERE,                                                                           \
   .offset = offsetof(vs_alloc_settings, field)},
#define VS_ALLOC_ALIAS(alias, key)
#define VS_ALLOC_FUNCTION(key, function)
#include "alloc/settings.def"
#undef VS_ALLOC_FUNCTION
#undef VS_ALLOC_ALIAS
#undef VS_ALLOC_SETTING
};
enum { ROWS = sizeof rows / sizeof *rows };

const vs_alloc_setting *vs_alloc_setting_list(uint32_t *count) {
  *count = ROWS;
  return rows;
}

/* ---- rounding ------------------------------------------------------------------------------------------ */

static uint64_t divisions_of(const vs_alloc_settings *settings, uint64_t size) {
  const int log = 63 - __builtin_clzll(size);
  const int index = log < 20 ? 0 : log > 35 ? VS_ALLOC_DIVISIONS - 1 : log - 20;
  return settings->roundup_divisions[index];
}

/* Rounds up to the next of `divisions` equal steps between two powers of two. */
static uint64_t round_to_division(uint64_t size, uint64_t divisions) {
  VS_ASSERT(divisions > 1 && (divisions & (divisions - 1)) == 0);
  if ((size & (size - 1)) == 0) return size;
  const uint64_t floor = UINT64_C(1) << (63 - __builtin_clzll(size));
  const uint64_t step = floor >> __builtin_ctzll(divisions);
  return step == 0 ? floor << 1 : (size + step - 1) & ~(step - 1);
}

uint64_t vs_alloc_settings_round(const vs_alloc_settings *settings, uint64_t size) {
  VS_ASSERT(size <= UINT64_C(1) << 62);
  if (size < VS_ALLOC_MIN_BLOCK) return VS_ALLOC_MIN_BLOCK;
  if (size <= settings->roundup_bypass) {
    const uint64_t divisions = divisions_of(settings, size);
    if (divisions > 1 && size > VS_ALLOC_MIN_BLOCK * divisions) return round_to_division(size, divisions);
  }
  return (size + VS_ALLOC_MIN_BLOCK - 1) & ~(VS_ALLOC_MIN_BLOCK - 1);
}

/* ---- defaults ------------------------------------------------------------------------------------------ */

void vs_alloc_settings_init(vs_alloc_settings *settings) {
  *settings = (vs_alloc_settings){
      .rules = vs_alloc_rules_default(),
      .large_segment_size = 20 * VS_MIB,
      .max_split_size = UINT64_MAX,
      .max_non_split_rounding = 20 * VS_MIB,
      .roundup_bypass = UINT64_MAX,
      .memory_fraction = 1.0,
      .pinned_register_threads = 1,
      .pinned_max_round_threshold = UINT64_MAX,
      .pinned_max_cached_size = UINT64_MAX,
  };
}

const char *const vs_alloc_variables[VS_ALLOC_VARIABLES] = {"VRAMSCOPE_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
                                                            "PYTORCH_HIP_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};

uint32_t vs_alloc_variable_choose(const char *const values[VS_ALLOC_VARIABLES]) {
  uint32_t i = 0;
  while (i < VS_ALLOC_VARIABLES && values[i] == NULL) i++;
  return i;
}

/* ---- values as text ------------------------------------------------------------------------------------ */

static void write_mib(vs_text *out, uint64_t bytes) {
  if (bytes == UINT64_MAX) vs_text_cstr(out, "unlimited");
  else vs_text_u64(out, bytes / VS_MIB);
}

static void write_divisions(vs_text *out, const uint64_t divisions[VS_ALLOC_DIVISIONS]) {
  bool is_one = true;
  for (size_t i = 1; i < VS_ALLOC_DIVISIONS; i++) is_one = is_one && divisions[i] == divisions[0];
  if (is_one && divisions[0] == 0) {
    vs_text_cstr(out, "none");
  } else if (is_one) {
    vs_text_u64(out, divisions[0]);
  } else {
    for (size_t i = 0; i < VS_ALLOC_DIVISIONS; i++)
      vs_text_format(out, "%c%U:%U", i == 0 ? '[' : ',', UINT64_C(1) << i, divisions[i]);
    vs_text_cstr(out, "]");
  }
}

static void write_reserve(vs_text *out, vs_alloc_reserve reserve) {
  vs_text_f64(out, reserve.is_set ? reserve.value : 1.125);
  if (reserve.is_set && !reserve.is_fraction) vs_text_cstr(out, "G");
}

static void write_reserves(vs_text *out, const vs_alloc_settings *settings) {
  for (uint32_t i = 0; i < settings->class_count; i++) {
    vs_text_format(out, "%c%s:", i == 0 ? '[' : ',', settings->classes[i].name);
    write_reserve(out, settings->classes[i].reserve);
  }
  vs_text_cstr(out, settings->class_count == 0 ? "none" : "]");
}

void vs_alloc_setting_write(const vs_alloc_settings *settings, const vs_alloc_setting *setting,
                            vs_text *out) {
  VS_ASSERT(setting->offset < sizeof *settings);
  const void *field = (const char *)settings + setting->offset;
  switch (setting->kind) {
    case VS_ALLOC_PROFILE: vs_text_cstr(out, settings->rules->name); break;
    case VS_ALLOC_BACKEND:
      vs_text_cstr(out, settings->backend == VS_ALLOC_ASYNC ? "cudaMallocAsync" : "native");
      break;
    case VS_ALLOC_FLAG: vs_text_cstr(out, *(const bool *)field ? "True" : "False"); break;
    case VS_ALLOC_SEGMENT_MIB:
    case VS_ALLOC_ABOVE_SEGMENT:
    case VS_ALLOC_MIB:
    case VS_ALLOC_SOME_MIB: write_mib(out, *(const uint64_t *)field); break;
    case VS_ALLOC_THREADS: vs_text_u64(out, *(const uint64_t *)field); break;
    case VS_ALLOC_DIVISION_LIST: write_divisions(out, settings->roundup_divisions); break;
    case VS_ALLOC_OPEN_FRACTION:
      if (!(*(const double *)field > 0)) vs_text_cstr(out, "off");
      else vs_text_f64(out, *(const double *)field);
      break;
    case VS_ALLOC_CLOSED_FRACTION: vs_text_f64(out, *(const double *)field); break;
    case VS_ALLOC_RESERVE: write_reserve(out, settings->reserve); break;
    case VS_ALLOC_RESERVE_LIST: write_reserves(out, settings); break;
  }
}

/* ---- reports ------------------------------------------------------------------------------------------- */

static bool is_known(const vs_alloc_settings *settings, const vs_alloc_setting *setting) {
  return settings->rules->version >= setting->since && settings->rules->version <= setting->until;
}

/* Compares the values as they are written. */
static vs_status differs(const vs_host *host, const vs_alloc_settings *a, const vs_alloc_settings *b,
                         const vs_alloc_setting *setting, bool *answer) {
  vs_text one, other;
  vs_text_init(&one, host, NULL);
  vs_text_init(&other, host, NULL);
  vs_alloc_setting_write(a, setting, &one);
  vs_alloc_setting_write(b, setting, &other);
  *answer = !vs_str_equal(vs_text_view(&one), vs_text_view(&other));
  const vs_status status = one.status != VS_OK ? one.status : other.status;
  vs_text_deinit(&one);
  vs_text_deinit(&other);
  return status;
}

vs_status vs_alloc_settings_write(const vs_alloc_settings *settings, vs_text *out) {
  vs_alloc_settings defaults;
  vs_alloc_settings_init(&defaults);
  for (size_t i = 0; i < ROWS; i++) {
    if (!is_known(settings, &rows[i])) continue;
    bool is_other;
    VS_TRY(differs(out->host, settings, &defaults, &rows[i], &is_other));
    vs_text_cstr(out, rows[i].key);
    for (size_t width = strlen(rows[i].key); width < 38; width++) vs_text_byte(out, ' ');
    vs_alloc_setting_write(settings, &rows[i], out);
    if (is_other) {
      vs_text_cstr(out, "  (default: ");
      vs_alloc_setting_write(&defaults, &rows[i], out);
      vs_text_cstr(out, ")");
    }
    vs_text_byte(out, '\n');
  }
  return out->status;
}

/* ---- warnings ------------------------------------------------------------------------------------------ */

/* What the conditions of settings_warnings.def test. */
typedef struct facts {
  bool collects, limits, splits, expands, is_async;
  bool has_odd_pages; /* large segments are no multiple of 2 MiB */
  bool has_divisions, all_divisions_are_one;
} facts;

static facts facts_of(const vs_alloc_settings *s) {
  facts f = {
      .collects = s->garbage_collection_threshold > 0,
      .limits = s->memory_fraction < 1,
      .splits = s->max_split_size != UINT64_MAX,
      .expands = s->expandable_segments,
      .is_async = s->backend == VS_ALLOC_ASYNC,
      .has_odd_pages = s->large_segment_size % (2 * VS_MIB) != 0,
      .all_divisions_are_one = true,
  };
  for (size_t i = 0; i < VS_ALLOC_DIVISIONS; i++) {
    f.has_divisions = f.has_divisions || s->roundup_divisions[i] != 0;
    f.all_divisions_are_one = f.all_divisions_are_one && s->roundup_divisions[i] <= 1;
  }
  return f;
}

/* With backend:cudaMallocAsync: the native settings that are set, and have no effect. */
static vs_status warn_of_native(const vs_alloc_settings *settings, vs_text *out) {
  vs_alloc_settings defaults;
  vs_alloc_settings_init(&defaults);
  bool is_first = true;
  for (size_t i = 0; i < ROWS; i++) {
    bool is_other;
    if (!rows[i].is_native || !is_known(settings, &rows[i])) continue;
    VS_TRY(differs(out->host, settings, &defaults, &rows[i], &is_other));
    if (!is_other) continue;
    vs_text_cstr(out, is_first ? "backend:cudaMallocAsync ignores " : ", ");
    vs_text_cstr(out, rows[i].key);
    is_first = false;
  }
  if (!is_first) vs_text_cstr(out, ": the driver's pool decides\n");
  return out->status;
}

vs_status vs_alloc_settings_warn(const vs_alloc_settings *settings, vs_text *out) {
  const facts f = facts_of(settings);
  const vs_alloc_settings *s = settings;
  if (s->no_caching) {
    vs_text_cstr(out,
                 "caching is switched off: every allocation asks the driver, and no other setting counts\n");
    return out->status;
  }
  if (f.is_async) return warn_of_native(settings, out);
#define VS_ALLOC_WARNING(condition, sentence) \
  if (condition) vs_text_cstr(out, sentence "\n");
#include "alloc/settings_warnings.def"
#undef VS_ALLOC_WARNING
  return out->status;
}
