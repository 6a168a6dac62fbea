#include "dryrun/reply_ledger.h"
#include "base/sort.h"
#include "ledger/ledger.h"

typedef struct owner {
  vs_ledger_kind kind;
  vs_str name;
  uint64_t bytes;
} owner;

typedef struct ledger {
  const vs_host *host;
  VS_VEC(owner) owners;
  VS_VEC(vs_sort_pair) order;
} ledger;

/* ---- collecting */

static vs_status add(ledger *l, vs_ledger_kind kind, vs_str name, uint64_t bytes) {
  if (bytes == 0) return VS_OK;
  for (size_t i = 0; i < l->owners.count; i++)
    if (vs_str_equal(l->owners.data[i].name, name)) {
      l->owners.data[i].bytes += bytes;
      return VS_OK;
    }
  VS_TRY(vs_vec_reserve(l->host, &l->owners, 1));
  l->owners.data[l->owners.count++] = (owner){.kind = kind, .name = name, .bytes = bytes};
  return VS_OK;
}

/* PyTorch's allocator asks through this library. */
static bool is_pytorch(vs_str library) { return vs_str_equal(library, VS_STR("libc10_cuda.so")); }

static vs_ledger_kind kind_of(uint32_t account, vs_str name) {
  if (account == VS_SIM_ACCOUNT_UNKNOWN) return VS_LEDGER_UNEXPLAINED;
  if (vs_sim_account_is_context(account)) return VS_LEDGER_CONTEXT;
  return is_pytorch(name) ? VS_LEDGER_PYTORCH : VS_LEDGER_LIBRARY;
}

static vs_status collect(ledger *l, const vs_sim_machine *machine, uint32_t card, uint64_t pid) {
  uint64_t sum = 0;
  for (uint32_t p = 0; p < machine->process_limit && p < VS_SIM_MAX_PROCESSES; p++) {
    const vs_sim_process *process = &machine->processes[p];
    if (pid != VS_LEDGER_OF_ALL && process->pid != pid) continue;
    for (uint32_t i = 0; i < VS_SIM_MAX_ACCOUNTS; i++) {
      const uint64_t bytes = vs_sim_machine_at_peak(machine, p, card, i);
      const vs_str name = vs_sim_machine_account_name(process, i);
      VS_TRY(add(l, kind_of(i, name), is_pytorch(name) ? VS_STR("PyTorch's allocator") : name, bytes));
      sum += bytes;
    }
  }
  if (pid != VS_LEDGER_OF_ALL) return VS_OK;
  /* What a process held that has ended, and whose place in the machine another one has taken. */
  const uint64_t peak = machine->cards[card].peak_bytes;
  return add(l, VS_LEDGER_UNEXPLAINED,
             vs_sim_machine_account_name(&machine->processes[0], VS_SIM_ACCOUNT_UNKNOWN),
             peak - vs_min_u64(peak, sum));
}

static vs_status sort(ledger *l) {
  VS_TRY(vs_vec_reserve(l->host, &l->order, l->owners.count));
  for (uint32_t i = 0; i < l->owners.count; i++)
    l->order.data[l->order.count++] = (vs_sort_pair){.key = ~l->owners.data[i].bytes, .value = i};
  return vs_sort_pairs(l->host, l->order.data, l->order.count);
}

/* ---- writing */

static void put(vs_jsonw *w, const ledger *l) {
  vs_jsonw_key(w, VS_STR("ledger"));
  vs_jsonw_array_begin(w);
  for (size_t i = 0; i < l->order.count; i++) {
    const owner *row = &l->owners.data[l->order.data[i].value];
    vs_jsonw_object_begin(w);
    vs_jsonw_member_str(w, "kind", vs_str_from(vs_ledger_kind_name(row->kind)));
    vs_jsonw_member_str(w, "owner", row->name);
    vs_jsonw_member_u64(w, "bytes", row->bytes);
    vs_jsonw_object_end(w);
  }
  vs_jsonw_array_end(w);
}

void vs_dryrun_reply_ledger(vs_jsonw *w, const vs_result *result, uint32_t card, uint64_t pid) {
  ledger l = {.host = result->host};
  VS_ASSERT(card < result->machine->card_count);
  vs_status status = collect(&l, result->machine, card, pid);
  if (status == VS_OK) status = sort(&l);
  if (status != VS_OK) w->text->status = status;
  put(w, &l);
  vs_vec_free(l.host, &l.owners);
  vs_vec_free(l.host, &l.order);
}

uint64_t vs_dryrun_ledger_pytorch(const vs_result *result, uint32_t card, uint64_t pid) {
  const vs_sim_machine *machine = result->machine;
  uint64_t sum = 0;
  for (uint32_t p = 0; p < machine->process_limit && p < VS_SIM_MAX_PROCESSES; p++) {
    if (machine->processes[p].pid != pid) continue;
    for (uint32_t i = VS_SIM_FIXED_ACCOUNTS; i < VS_SIM_MAX_ACCOUNTS; i++)
      if (is_pytorch(vs_sim_machine_account_name(&machine->processes[p], i)))
        sum += vs_sim_machine_at_peak(machine, p, card, i);
  }
  return sum;
}
