#include "dryrun/until.h"
#include "base/double_text.h"

bool vs_until_parse(vs_str text, vs_until *out) {
  double seconds;
  const bool is_ready = vs_str_equal(text, VS_STR("ready"));
  *out = (vs_until){.kind = is_ready ? VS_UNTIL_READY : VS_UNTIL_IDLE};
  if (is_ready || vs_str_equal(text, VS_STR("idle"))) return true;
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

/* Whether nothing has happened for the time. */
static bool is_quiet(vs_until_watch *watch, const vs_until_now *now, bool *is_used) {
  const uint64_t counted = count_all(now->machine, is_used);
  VS_ASSERT(now->run_us >= watch->since_us);
  if (counted != watch->counted || now->cpu_us > watch->cpu_us + VS_UNTIL_QUIET_US / 10)
    *watch = (vs_until_watch){.since_us = now->run_us, .counted = counted, .cpu_us = now->cpu_us};
  return now->run_us - watch->since_us >= VS_UNTIL_QUIET_US;
}

bool vs_until_is_reached(vs_until_watch *watch, const vs_until *until, const vs_until_now *now) {
  bool is_used;
  if (until->kind == VS_UNTIL_ITS_END) return false;
  if (until->kind == VS_UNTIL_TIME) return now->run_us >= until->time_us;
  const bool quiet = is_quiet(watch, now, &is_used);
  if (until->kind == VS_UNTIL_IDLE) return is_used && quiet;
  return now->ready == VS_READY_YES ? is_used || quiet : now->ready == VS_READY_ANSWERS && quiet;
}
