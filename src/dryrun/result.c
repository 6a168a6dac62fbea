#include "dryrun/result.h"
#include "codec/json_reply.h"

vs_status vs_result_init(vs_result *result, const vs_host *host, const vs_sim_machine *machine) {
  *result =
      (vs_result){.host = host, .machine = machine, .card_count = machine->card_count, .main = SIZE_MAX};
  return vs_strings_init(host, &result->strings);
}

void vs_result_deinit(vs_result *result) {
  for (size_t i = 0; i < result->processes.count; i++) vs_json_doc_deinit(&result->processes.data[i].stats);
  vs_vec_free(result->host, &result->processes);
  vs_vec_free(result->host, &result->doubts);
  vs_vec_free(result->host, &result->place_uses);
  vs_strings_deinit(result->host, &result->strings);
}

vs_result_process *vs_result_process_of(vs_result *result, uint64_t pid, uint32_t child) {
  for (size_t i = 0; i < result->processes.count; i++)
    if (result->processes.data[i].pid == pid) return &result->processes.data[i];
  if (vs_vec_reserve(result->host, &result->processes, 1) != VS_OK) return NULL;
  vs_result_process *process = &result->processes.data[result->processes.count++];
  *process = (vs_result_process){.pid = pid,
                                 .child = child,
                                 .program = VS_STRING_EMPTY,
                                 .ended_us = UINT64_MAX,
                                 .stats = {.host = result->host, .root = {.kind = VS_JSON_ABSENT}}};
  return process;
}

vs_doubt *vs_result_doubt_of(vs_result *result, vs_doubt_kind kind, vs_str what, vs_str detail,
                             int64_t line) {
  uint32_t what_id, detail_id;
  if (vs_strings_intern(result->host, &result->strings, what, &what_id) != VS_OK ||
      vs_strings_intern(result->host, &result->strings, detail, &detail_id) != VS_OK)
    return NULL;
  for (size_t i = 0; i < result->doubts.count; i++) {
    vs_doubt *doubt = &result->doubts.data[i];
    if (doubt->kind == kind && doubt->what == what_id && doubt->detail == detail_id && doubt->line == line)
      return doubt;
  }
  if (vs_vec_reserve(result->host, &result->doubts, 1) != VS_OK) return NULL;
  VS_ASSERT(result->doubts.count < result->doubts.capacity);
  vs_doubt *doubt = &result->doubts.data[result->doubts.count++];
  *doubt = (vs_doubt){.kind = kind, .what = what_id, .detail = detail_id, .line = line};
  return doubt;
}

vs_place_use *vs_result_place_use_of(vs_result *result, vs_str text) {
  uint32_t id;
  if (vs_strings_intern(result->host, &result->strings, text, &id) != VS_OK) return NULL;
  for (size_t i = 0; i < result->place_uses.count; i++)
    if (result->place_uses.data[i].text == id) return &result->place_uses.data[i];
  if (vs_vec_reserve(result->host, &result->place_uses, 1) != VS_OK) return NULL;
  vs_place_use *use = &result->place_uses.data[result->place_uses.count++];
  *use = (vs_place_use){.text = id};
  return use;
}

/* ---- the cards that devices of a process stand for */

uint32_t vs_result_card_of(const vs_result *result, vs_json device) {
  const uint64_t card = vs_json_u64(vs_reply_at(device, "card"), UINT64_MAX);
  if (card < result->card_count) return (uint32_t)card;
  for (uint32_t c = 0; c < result->card_count; c++)
    if (vs_str_equal(vs_reply_str(device, "name"), vs_str_from(result->machine->cards[c].name))) return c;
  return 0;
}

bool vs_result_card_of_number(const vs_result *result, const vs_result_process *process, uint64_t number,
                              uint32_t *card) {
  const vs_json visible = vs_reply_at(vs_json_root(&process->stats), "visible");
  for (size_t i = 0; i < vs_json_count(visible); i++) {
    const vs_json device = vs_json_at(visible, i);
    if (vs_json_u64(vs_reply_at(device, "device"), UINT64_MAX) != number) continue;
    *card = vs_result_card_of(result, device);
    return true;
  }
  return false;
}

/* ---- check */

static bool is_same_doubt(const vs_doubt *a, const vs_doubt *b) {
  return a->kind == b->kind && a->what == b->what && a->detail == b->detail && a->line == b->line;
}

static bool check_card(const vs_result *result, uint32_t c) {
  const vs_result_card *card = &result->cards[c];
  uint32_t uses = 0;
  for (size_t i = 0; i < result->processes.count; i++) uses += result->processes.data[i].use[c].is_used;
  return card->card == &result->machine->cards[c] && card->is_used == (uses != 0) && card->contexts <= uses;
}

bool vs_result_check(const vs_result *result) {
  const size_t processes = result->processes.count;
  if (result->card_count != result->machine->card_count || result->card_count > VS_SIM_MAX_DEVICES)
    return false;
  if (result->main == SIZE_MAX ? processes != 0 : result->main >= processes) return false;
  for (size_t i = 0; i < processes; i++)
    for (size_t k = 0; k < i; k++)
      if (result->processes.data[k].pid == result->processes.data[i].pid) return false;
  for (size_t i = 0; i < result->doubts.count; i++)
    for (size_t k = 0; k < i; k++)
      if (is_same_doubt(&result->doubts.data[k], &result->doubts.data[i])) return false;
  for (uint32_t c = 0; c < result->card_count; c++)
    if (!check_card(result, c)) return false;
  return !result->oom.is_there || result->oom.card < result->card_count;
}
