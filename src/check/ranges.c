#include "check/ranges.h"

bool vs_check_has_range(vs_fact_id id) { return id == VS_FACT_ALLOCATED || id == VS_FACT_RESERVED; }

/* The inventory of one GPU. */
static void take(vs_check_range *range, vs_json inventory) {
  const vs_json within = vs_reply_at(inventory, "within");
  const uint64_t allocated = vs_reply_u64(within, "peak_allocated_bytes"),
                 reserved = vs_reply_u64(within, "peak_reserved_bytes");
  if (vs_json_is_absent(range->inventory) || allocated > range->peaks[VS_FACT_ALLOCATED])
    range->inventory = inventory;
  range->peaks[VS_FACT_ALLOCATED] = vs_max_u64(range->peaks[VS_FACT_ALLOCATED], allocated);
  range->peaks[VS_FACT_RESERVED] = vs_max_u64(range->peaks[VS_FACT_RESERVED], reserved);
  if (!vs_reply_bool(inventory, "complete"))
    range->incomplete = VS_STR("the history of the run is incomplete");
  else if (!vs_reply_bool(inventory, "allocated_is_exact"))
    range->incomplete = VS_STR("the rounded sizes of some blocks are estimated");
}

vs_check_range vs_check_range_of(vs_json ranges, vs_str steps) {
  vs_check_range range = {.inventory = {.value.kind = VS_JSON_ABSENT}, .why = VS_STR("")};
  for (size_t i = 0; i < vs_json_count(ranges); i++) {
    const vs_json entry = vs_json_at(ranges, i);
    if (!vs_str_equal(vs_reply_str(entry, "steps"), steps)) continue;
    if (vs_reply_knows(entry, "inventory")) take(&range, vs_reply_at(entry, "inventory"));
    else range.why = vs_reply_str(entry, "why");
  }
  if (vs_json_is_absent(range.inventory)) {
    if (range.why.size == 0) range.why = VS_STR("there is no history of these steps");
  } else if (range.why.size != 0) {
    range.incomplete = VS_STR("not every GPU has these steps");
  }
  return range;
}
