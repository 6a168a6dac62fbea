#include "alloc/settings.h"

static const vs_alloc_rules rows[] = {
#define VS_ALLOC_RULES(...) {__VA_ARGS__},
#include "alloc/torch_versions.def"
#undef VS_ALLOC_RULES
};

const vs_alloc_rules *vs_alloc_rules_list(uint32_t *count) {
  *count = sizeof rows / sizeof *rows;
  return rows;
}

const vs_alloc_rules *vs_alloc_rules_default(void) { return rows; }

const vs_alloc_rules *vs_alloc_rules_newer(const vs_alloc_rules *rules) {
  VS_ASSERT(rules >= rows && rules < rows + sizeof rows / sizeof *rows);
  return rules == rows ? NULL : rules - 1;
}

const vs_alloc_rules *vs_alloc_rules_find(vs_str name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (vs_str_equal(name, vs_str_from(rows[i].name))) return &rows[i];
  return NULL;
}
