#include "base/text.h"
#include "device/sim/sim.h"

static const struct {
  const char *word, *what;
} kinds[VS_SIM_FAULT_COUNT] = {
#define VS_SIM_FAULT_KIND(name, word_, what_) {(word_), (what_)},
#include "device/sim/faults.def"
#undef VS_SIM_FAULT_KIND
};

const char *vs_sim_fault_word(vs_sim_fault kind) {
  VS_ASSERT((unsigned)kind < VS_SIM_FAULT_COUNT);
  return kinds[kind].word;
}
const char *vs_sim_fault_what(vs_sim_fault kind) { return kinds[kind].what; }

static vs_status unknown_kind(vs_str word, vs_error *error) {
  char list[200] = "";
  for (size_t i = 0; i < VS_SIM_FAULT_COUNT; i++) {
    const size_t used = strlen(list);
    vs_format(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", kinds[i].word);
  }
  if (word.size > 40) word.size = 40;
  return vs_fail(error, VS_BAD_ARGUMENT, 0, "there is no fault '%S'; there is %s", word, list);
}

vs_status vs_sim_fault_parse(vs_str text, vs_sim_fault *kind, uint64_t *n, vs_error *error) {
  size_t colon = 0;
  while (colon < text.size && text.data[colon] != ':') colon++;
  const vs_str word = {text.data, colon};
  uint32_t i = 0;
  while (i < VS_SIM_FAULT_COUNT && !vs_str_equal(word, vs_str_from(kinds[i].word))) i++;
  if (i == VS_SIM_FAULT_COUNT) return unknown_kind(word, error);
  *kind = (vs_sim_fault)i;
  if (colon == text.size || !vs_parse_u64((vs_str){text.data + colon + 1, text.size - colon - 1}, n) ||
      *n == 0)
    return vs_fail(error, VS_BAD_ARGUMENT, colon, "a fault is written KIND:N, like %s:3", kinds[i].word);
  return VS_OK;
}

void vs_sim_fault_set(vs_sim *sim, vs_sim_fault kind, uint64_t n) {
  sim->faults.fail_at[kind] = n == 0 ? 0 : vs_sat_add_u64(sim->faults.calls[kind], n);
}

void vs_sim_delay_set(vs_sim *sim, vs_sim_fault kind, uint64_t ns) { sim->faults.delay_ns[kind] = ns; }

vs_sim_error vs_sim_fault_step(vs_sim *sim, vs_sim_fault kind) {
  vs_sim_faults *faults = &sim->faults;
  VS_ASSERT((unsigned)kind < VS_SIM_FAULT_COUNT);
  sim->streams.clock_ns = vs_sat_add_u64(sim->streams.clock_ns, faults->delay_ns[kind]);
  faults->calls[kind]++;
  return faults->calls[kind] == faults->fail_at[kind] ? VS_SIM_OUT_OF_MEMORY : VS_SIM_OK;
}
