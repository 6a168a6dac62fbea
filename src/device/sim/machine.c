#include "device/sim/machine.h"

/* Another process may be built by another compiler: nothing may depend on padding or on the width of a
 * pointer. */
_Static_assert(sizeof(vs_sim_figures) % 8 == 0, "figures end where the next uint64_t begins");
_Static_assert(sizeof(vs_sim_card) % 8 == 0 && sizeof(vs_sim_process) % 8 == 0, "rows keep their alignment");
_Static_assert(offsetof(vs_sim_machine, cards) == 32, "no padding at the head");
_Static_assert(_Alignof(vs_sim_machine) <= 8, "a page is aligned for it");

/* ---- init ---------------------------------------------------------------------------------------------- */

static vs_status init_card(vs_sim_card *card, const vs_sim_gpu *gpu) {
  const vs_sim_profile *profile = gpu->profile;
  if (profile == NULL) return VS_BAD_ARGUMENT;
  vs_format(card->name, sizeof card->name, "%s (simulated)", profile->name);
  vs_format(card->key, sizeof card->key, "%s", profile->key);
  card->figures = profile->figures;
  if (gpu->total_bytes != 0) {
    const uint64_t kept_by_driver = profile->figures.nvml_total_bytes - profile->figures.total_bytes;
    card->figures.total_bytes = gpu->total_bytes;
    card->figures.nvml_total_bytes = vs_sat_add_u64(gpu->total_bytes, kept_by_driver);
  }
  card->context_bytes = gpu->has_context_bytes ? gpu->context_bytes : vs_sim_context_bytes(profile);
  card->taken_bytes = card->used_bytes = gpu->taken_bytes;
  const uint64_t total = card->figures.total_bytes;
  if (total > VS_SIM_MOST_TOTAL) return VS_BAD_ARGUMENT;
  return card->taken_bytes <= total && card->context_bytes <= total - card->taken_bytes ? VS_OK
                                                                                        : VS_BAD_ARGUMENT;
}

vs_status vs_sim_machine_init(vs_sim_machine *block, const vs_sim_gpu *gpus, uint32_t count) {
  memset(block, 0, sizeof *block);
  if (count > VS_SIM_MAX_DEVICES) return VS_BAD_ARGUMENT;
  for (uint32_t i = 0; i < count; i++) VS_TRY(init_card(&block->cards[i], &gpus[i]));
  block->size = sizeof *block;
  block->card_count = count;
  block->magic = VS_SIM_MACHINE_MAGIC;
  return VS_OK;
}

bool vs_sim_machine_is_ours(const void *block, uint64_t size) {
  const vs_sim_machine *machine = block;
  return size >= sizeof *machine && machine->magic == VS_SIM_MACHINE_MAGIC &&
         machine->size == sizeof *machine && machine->card_count <= VS_SIM_MAX_DEVICES &&
         machine->process_limit <= VS_SIM_MAX_PROCESSES;
}

/* ---- processes ----------------------------------------------------------------------------------------- */

/* A slot that was never used, else the one left longest ago. */
static uint32_t find_slot(const vs_sim_machine *machine) {
  uint32_t best = VS_SIM_MAX_PROCESSES;
  if (machine->process_limit < VS_SIM_MAX_PROCESSES) return machine->process_limit;
  for (uint32_t i = 0; i < VS_SIM_MAX_PROCESSES; i++) {
    const vs_sim_process *process = &machine->processes[i];
    if (process->state == VS_SIM_PROCESS_LIVE) continue;
    if (best == VS_SIM_MAX_PROCESSES || process->left < machine->processes[best].left) best = i;
  }
  return best;
}

vs_sim_error vs_sim_machine_enter(vs_sim_machine *machine, uint32_t pid, uint64_t started, uint32_t *slot) {
  *slot = find_slot(machine);
  if (*slot == VS_SIM_MAX_PROCESSES) return VS_SIM_DEVICE_UNAVAILABLE;
  VS_ASSERT(*slot <= machine->process_limit && machine->processes[*slot].state != VS_SIM_PROCESS_LIVE);
  vs_sim_process *process = &machine->processes[*slot];
  memset(process, 0, sizeof *process);
  process->pid = pid;
  process->started = started;
  process->entered = ++machine->sequence;
  process->state = VS_SIM_PROCESS_LIVE;
  if (*slot == machine->process_limit) machine->process_limit++;
  return VS_SIM_OK;
}

void vs_sim_machine_leave(vs_sim_machine *machine, uint32_t slot) {
  VS_ASSERT(slot < machine->process_limit);
  vs_sim_process *process = &machine->processes[slot];
  if (process->state != VS_SIM_PROCESS_LIVE) return;
  for (uint32_t i = 0; i < machine->card_count; i++) vs_sim_machine_reset(machine, slot, i);
  process->left = ++machine->sequence;
  process->state = VS_SIM_PROCESS_LEFT;
}

uint32_t vs_sim_machine_reap(vs_sim_machine *machine,
                             bool (*is_alive)(void *ctx, uint32_t pid, uint64_t started), void *ctx) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < machine->process_limit; i++) {
    const vs_sim_process *process = &machine->processes[i];
    if (process->state != VS_SIM_PROCESS_LIVE || is_alive(ctx, process->pid, process->started)) continue;
    vs_sim_machine_leave(machine, i);
    count++;
  }
  return count;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

static void remember_refusal(vs_sim_card *card, vs_sim_use *use, uint64_t bytes) {
  use->refused_count++;
  use->largest_refused_bytes = vs_max_u64(use->largest_refused_bytes, bytes);
  card->refused_count++;
  card->largest_refused_bytes = vs_max_u64(card->largest_refused_bytes, bytes);
}

static void raise_peak(vs_sim_card *card) {
  const uint64_t now = card->used_bytes - card->taken_bytes;
  if (now <= card->peak_bytes) return;
  card->peak_bytes = now;
  card->peak_number++;
}

bool vs_sim_machine_has_new_peak(const vs_sim_machine *machine) {
  for (uint32_t i = 0; i < machine->card_count; i++)
    if (machine->cards[i].timed_number != machine->cards[i].peak_number) return true;
  return false;
}

void vs_sim_machine_time_peaks(vs_sim_machine *machine, uint64_t now_us) {
  for (uint32_t i = 0; i < machine->card_count; i++) {
    vs_sim_card *card = &machine->cards[i];
    if (card->timed_number == card->peak_number) continue;
    card->timed_number = card->peak_number;
    card->peak_time_us = now_us;
  }
}

/* Before the accounts change for the first time after a peak of the card: what they held at that peak. */
static void keep_accounts(const vs_sim_card *card, vs_sim_use *use) {
  if (use->kept_number == card->peak_number) return;
  memcpy(use->kept_bytes, use->account_bytes, sizeof use->kept_bytes);
  use->kept_number = card->peak_number;
}

/* Changes the process first, then the card: see machine.h. */
static void add(vs_sim_card *card, vs_sim_use *use, uint32_t account, uint64_t bytes) {
  VS_ASSERT(account < VS_SIM_MAX_ACCOUNTS);
  keep_accounts(card, use);
  use->account_bytes[account] += bytes;
  use->peak_bytes = vs_max_u64(use->peak_bytes, use->used_bytes + bytes);
  use->used_bytes += bytes;
  card->used_bytes += bytes;
  VS_ASSERT(card->used_bytes <= card->figures.total_bytes);
  raise_peak(card);
}

static void remove_bytes(vs_sim_card *card, vs_sim_use *use, uint32_t account, uint64_t bytes) {
  VS_ASSERT(account < VS_SIM_MAX_ACCOUNTS && bytes <= use->account_bytes[account]);
  VS_ASSERT(bytes <= use->used_bytes && bytes <= card->used_bytes - card->taken_bytes);
  keep_accounts(card, use);
  use->account_bytes[account] -= bytes;
  use->used_bytes -= bytes;
  card->used_bytes -= bytes;
}

vs_sim_error vs_sim_machine_take(vs_sim_machine *machine, uint32_t slot, uint32_t device, uint32_t account,
                                 uint64_t bytes) {
  if (device >= machine->card_count) return VS_SIM_INVALID_DEVICE;
  VS_ASSERT(slot < machine->process_limit && machine->processes[slot].state == VS_SIM_PROCESS_LIVE);
  vs_sim_card *card = &machine->cards[device];
  vs_sim_use *use = &machine->processes[slot].use[device];
  if (bytes > vs_sim_machine_free_bytes(machine, device)) {
    remember_refusal(card, use, bytes);
    return VS_SIM_OUT_OF_MEMORY;
  }
  add(card, use, account, bytes);
  return VS_SIM_OK;
}

void vs_sim_machine_give(vs_sim_machine *machine, uint32_t slot, uint32_t device, uint32_t account,
                         uint64_t bytes) {
  if (device >= machine->card_count) return;
  vs_sim_use *use = &machine->processes[slot].use[device];
  VS_ASSERT(bytes <= use->used_bytes - use->context_bytes);
  const uint64_t held = vs_min_u64(use->account_bytes[account], use->used_bytes - use->context_bytes);
  remove_bytes(&machine->cards[device], use, account, vs_min_u64(bytes, held));
}

/* Takes bytes for the context. */
static vs_sim_error take_for_context(vs_sim_machine *machine, uint32_t slot, uint32_t device,
                                     uint32_t account, uint64_t bytes) {
  const vs_sim_error error = vs_sim_machine_take(machine, slot, device, account, bytes);
  vs_sim_use *use = &machine->processes[slot].use[device];
  if (error == VS_SIM_OK) use->context_bytes += bytes;
  if (error == VS_SIM_OUT_OF_MEMORY) use->context_refused_count++;
  return error;
}

vs_sim_error vs_sim_machine_context(vs_sim_machine *machine, uint32_t slot, uint32_t device) {
  if (device >= machine->card_count) return VS_SIM_INVALID_DEVICE;
  vs_sim_use *use = &machine->processes[slot].use[device];
  if (use->has_context) return VS_SIM_OK;
  VS_SIM_TRY(
      take_for_context(machine, slot, device, VS_SIM_ACCOUNT_CONTEXT, machine->cards[device].context_bytes));
  use->has_context = 1;
  return VS_SIM_OK;
}

vs_sim_error vs_sim_machine_context_grow(vs_sim_machine *machine, uint32_t slot, uint32_t device,
                                         uint32_t account, uint64_t extra) {
  VS_SIM_TRY(vs_sim_machine_context(machine, slot, device));
  return take_for_context(machine, slot, device, account, extra);
}

void vs_sim_machine_reset(vs_sim_machine *machine, uint32_t slot, uint32_t device) {
  if (device >= machine->card_count) return;
  vs_sim_use *use = &machine->processes[slot].use[device];
  use->has_context = 0;
  use->context_bytes = 0;
  for (uint32_t i = 0; i < VS_SIM_MAX_ACCOUNTS; i++)
    remove_bytes(&machine->cards[device], use, i, use->account_bytes[i]);
}

/* ---- accounts ------------------------------------------------------------------------------------------ */

uint32_t vs_sim_machine_account(vs_sim_machine *machine, uint32_t slot, vs_str library) {
  VS_ASSERT(slot < machine->process_limit);
  char(*libraries)[VS_SIM_LIBRARY_SIZE] = machine->processes[slot].libraries;
  char name[VS_SIM_LIBRARY_SIZE];
  vs_format(name, sizeof name, "%S", library); /* its beginning, if it is longer */
  for (uint32_t i = VS_SIM_FIXED_ACCOUNTS; i < VS_SIM_MAX_ACCOUNTS && name[0] != 0; i++) {
    if (libraries[i][0] == 0) vs_format(libraries[i], sizeof libraries[i], "%s", name);
    if (vs_str_equal(vs_str_from(libraries[i]), vs_str_from(name))) return i;
  }
  return VS_SIM_ACCOUNT_UNKNOWN;
}

vs_str vs_sim_machine_account_name(const vs_sim_process *process, uint32_t account) {
  static const char *const names[] = {
#define VS_SIM_ACCOUNT(account, name) name,
#include "device/sim/accounts.def"
  };
  VS_ASSERT(account < VS_SIM_MAX_ACCOUNTS);
  return account < VS_SIM_FIXED_ACCOUNTS ? vs_str_from(names[account])
                                         : vs_str_from(process->libraries[account]);
}

uint64_t vs_sim_machine_at_peak(const vs_sim_machine *machine, uint32_t slot, uint32_t device,
                                uint32_t account) {
  VS_ASSERT(slot < VS_SIM_MAX_PROCESSES && device < VS_SIM_MAX_DEVICES && account < VS_SIM_MAX_ACCOUNTS);
  const vs_sim_use *use = &machine->processes[slot].use[device];
  const bool has_changed = use->kept_number == machine->cards[device].peak_number;
  return has_changed ? use->kept_bytes[account] : use->account_bytes[account];
}

/* ---- repair and check ---------------------------------------------------------------------------------- */

static uint64_t held_of(const vs_sim_machine *machine, uint32_t device) {
  uint64_t sum = machine->cards[device].taken_bytes;
  for (uint32_t i = 0; i < machine->process_limit; i++)
    sum = vs_sat_add_u64(sum, machine->processes[i].use[device].used_bytes);
  return sum;
}

static uint64_t sum_of(const uint64_t bytes[VS_SIM_MAX_ACCOUNTS]) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < VS_SIM_MAX_ACCOUNTS; i++) sum += bytes[i];
  return sum;
}

/* Repairs the row of a process that may have died while it changed the row. The accounts change first. */
static void repair_use(const vs_sim_process *process, const vs_sim_card *card, vs_sim_use *use) {
  if (process->state != VS_SIM_PROCESS_LIVE) {
    keep_accounts(card, use);
    use->context_bytes = use->has_context = 0;
    memset(use->account_bytes, 0, sizeof use->account_bytes);
  }
  use->used_bytes = sum_of(use->account_bytes);
  use->context_bytes = vs_min_u64(use->context_bytes, use->used_bytes);
  use->peak_bytes = vs_max_u64(use->peak_bytes, use->used_bytes);
}

void vs_sim_machine_repair(vs_sim_machine *machine) {
  for (uint32_t i = 0; i < VS_SIM_MAX_PROCESSES; i++)
    if (machine->processes[i].state != VS_SIM_PROCESS_FREE && i >= machine->process_limit)
      machine->process_limit = i + 1;
  for (uint32_t d = 0; d < machine->card_count; d++) {
    vs_sim_card *card = &machine->cards[d];
    for (uint32_t i = 0; i < machine->process_limit; i++)
      repair_use(&machine->processes[i], card, &machine->processes[i].use[d]);
    card->used_bytes = held_of(machine, d);
    raise_peak(card);
  }
}

static bool check_use(const vs_sim_process *process, const vs_sim_use *use) {
  if (use->context_bytes > use->used_bytes || use->used_bytes > use->peak_bytes) return false;
  if (use->has_context == 0 && use->context_bytes != 0) return false;
  if (sum_of(use->account_bytes) != use->used_bytes) return false;
  return process->state == VS_SIM_PROCESS_LIVE || use->used_bytes == 0;
}

bool vs_sim_machine_check(const vs_sim_machine *machine) {
  if (!vs_sim_machine_is_ours(machine, sizeof *machine)) return false;
  for (uint32_t d = 0; d < machine->card_count; d++) {
    const vs_sim_card *card = &machine->cards[d];
    if (held_of(machine, d) != card->used_bytes || card->used_bytes > card->figures.total_bytes) return false;
    if (card->used_bytes - card->taken_bytes > card->peak_bytes) return false;
  }
  for (uint32_t i = 0; i < VS_SIM_MAX_PROCESSES; i++) {
    const vs_sim_process *process = &machine->processes[i];
    if (i >= machine->process_limit && process->state != VS_SIM_PROCESS_FREE) return false;
    for (uint32_t d = 0; d < VS_SIM_MAX_DEVICES; d++)
      if (!check_use(process, &process->use[d]) ||
          (d >= machine->card_count && process->use[d].used_bytes != 0))
        return false;
  }
  return true;
}
