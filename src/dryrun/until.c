#include "dryrun/until.h"
#include "base/double_text.h"

bool vs_until_parse(vs_str text, vs_until *out) {
  double seconds;
  *out = (vs_until){.kind = VS_UNTIL_IDLE};
  if (vs_str_equal(text, VS_STR("idle"))) return true;
  if (!vs_parse_f64(text, &seconds) || !(seconds > 0) || seconds > 1e9) return false;
  *out = (vs_until){.kind = VS_UNTIL_TIME, .time_us = (uint64_t)(seconds * 1e6)};
  return true;
}

/* A number that changes whenever the program does something with a GPU. */
static uint64_t count_all(const vs_sim_machine *machine, bool *is_used) {
  uint64_t sum = machine->sequence;
  *is_used = false;
  for (uint32_t c = 0; c < machine->card_count; c++) {
    sum += machine->cards[c].used_bytes + machine->cards[c].peak_bytes;
    *is_used |= machine->cards[c].peak_bytes != 0;
  }
  for (uint32_t i = 0; i < machine->process_limit && i < VS_SIM_MAX_PROCESSES; i++)
    sum += machine->processes[i].steps + machine->processes[i].reads + machine->processes[i].kernels;
  return sum;
}

bool vs_until_is_reached(vs_until_watch *watch, const vs_until *until, const vs_sim_machine *machine,
                         uint64_t cpu_us, uint64_t run_us) {
  bool is_used;
  if (until->kind != VS_UNTIL_IDLE) return until->kind == VS_UNTIL_TIME && run_us >= until->time_us;
  const uint64_t counted = count_all(machine, &is_used);
  VS_ASSERT(run_us >= watch->since_us);
  if (!is_used || counted != watch->counted || cpu_us > watch->cpu_us + VS_UNTIL_QUIET_US / 10)
    *watch = (vs_until_watch){.since_us = run_us, .counted = counted, .cpu_us = cpu_us};
  return is_used && run_us - watch->since_us >= VS_UNTIL_QUIET_US;
}
