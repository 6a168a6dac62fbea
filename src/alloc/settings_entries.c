#include "alloc/settings_entries.h"
#include "base/double_text.h"

static vs_alloc_entry flag(const char *key, bool value) {
  return (vs_alloc_entry){.key = vs_str_from(key), .kind = VS_ALLOC_ENTRY_BOOL, .bits = value};
}

static vs_alloc_entry number(const char *key, int64_t value) {
  return (vs_alloc_entry){.key = vs_str_from(key), .kind = VS_ALLOC_ENTRY_INT, .bits = (uint64_t)value};
}

static int64_t limit(uint64_t bytes) { return bytes == UINT64_MAX ? -1 : (int64_t)bytes; }

static vs_alloc_entry fraction(const char *key, double value) {
  return (vs_alloc_entry){
      .key = vs_str_from(key), .kind = VS_ALLOC_ENTRY_REAL, .bits = vs_f64_to_bits(value)};
}

vs_status vs_alloc_entries_visit(const vs_alloc_settings *settings, vs_str text,
                                 vs_status (*visit)(void *ctx, const vs_alloc_entry *entry), void *ctx) {
  const vs_alloc_entry rows[] = {
      {.key = VS_STR("PYTORCH_CUDA_ALLOC_CONF"), .kind = VS_ALLOC_ENTRY_STRING, .text = text},
      number("max_split_size", limit(settings->max_split_size)),
      fraction("garbage_collection_threshold", settings->garbage_collection_threshold),
      flag("expandable_segments", settings->expandable_segments),
      number("pinned_num_register_threads", (int64_t)settings->pinned_register_threads),
      flag("release_lock_on_cudamalloc", settings->release_lock),
      flag("pinned_use_cuda_host_register", settings->pinned_use_register),
      flag("graph_capture_record_stream_reuse", settings->capture_reuse),
      number("max_round_threshold", limit(settings->pinned_max_round_threshold)),
      number("max_cached_size", limit(settings->pinned_max_cached_size)),
      {.key = VS_STR("roundup_power2_divisions"), .kind = VS_ALLOC_ENTRY_DICT, .bits = VS_ALLOC_DIVISIONS},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) VS_TRY(visit(ctx, &rows[i]));
  for (size_t i = 0; i < VS_ALLOC_DIVISIONS; i++) {
    char key[24];
    vs_format(key, sizeof key, "%U", UINT64_C(1) << i);
    vs_alloc_entry division = number(key, (int64_t)settings->roundup_divisions[i]);
    division.depth = 1;
    VS_TRY(visit(ctx, &division));
  }
  return VS_OK;
}
