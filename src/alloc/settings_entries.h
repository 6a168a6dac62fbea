/* The settings as the entries of allocator_settings in PyTorch's snapshots. */
#ifndef VS_ALLOC_SETTINGS_ENTRIES_H
#define VS_ALLOC_SETTINGS_ENTRIES_H

#include "alloc/settings.h"

/* The values are those of vs_setting_kind (snapshot/model.h), which their users assert. */
typedef enum vs_alloc_entry_kind {
  VS_ALLOC_ENTRY_BOOL = 1,
  VS_ALLOC_ENTRY_INT,
  VS_ALLOC_ENTRY_REAL,
  VS_ALLOC_ENTRY_STRING,
  VS_ALLOC_ENTRY_DICT, /* its entries follow, with depth one more */
} vs_alloc_entry_kind;

typedef struct vs_alloc_entry {
  vs_str key;
  vs_alloc_entry_kind kind;
  uint8_t depth;
  uint64_t bits; /* bool, int64_t, the bits of a double, or the number of entries inside */
  vs_str text;   /* of a string; borrowed for the call */
} vs_alloc_entry;

/* All of them, in PyTorch's order; `text` is the settings string. Returns a failure of `visit`. */
VS_MUST_CHECK vs_status vs_alloc_entries_visit(const vs_alloc_settings *settings, vs_str text,
                                               vs_status (*visit)(void *ctx, const vs_alloc_entry *entry),
                                               void *ctx);

#endif
