#include "device/sim/sim.h"

static vs_sim_error init_parts(vs_sim *sim, vs_sim_event_rule rule) {
  VS_SIM_TRY(vs_sim_memory_init(sim));
  const vs_sim_error error = vs_sim_streams_init(sim, sim->device_count, rule);
  if (error != VS_SIM_OK) vs_sim_memory_deinit(sim);
  return error;
}

vs_sim_error vs_sim_init(vs_sim *sim, const vs_host *host, vs_sim_node *node, uint32_t slot,
                         const vs_sim_hooks *hooks, vs_sim_event_rule rule) {
  *sim = (vs_sim){.host = host, .node = node, .slot = slot, .device_count = node->card_count};
  for (uint32_t d = 0; d < node->card_count; d++) sim->cards[d] = d;
  if (hooks != NULL) sim->hooks = *hooks;
  return init_parts(sim, rule);
}

vs_sim_error vs_sim_show(vs_sim *sim, const uint32_t *cards, uint32_t count) {
  VS_ASSERT(count <= sim->node->card_count);
  const vs_sim_event_rule rule = sim->streams.rule;
  vs_sim_deinit(sim);
  sim->device_count = count;
  for (uint32_t d = 0; d < count; d++) sim->cards[d] = cards[d];
  return init_parts(sim, rule);
}

void vs_sim_deinit(vs_sim *sim) {
  vs_sim_streams_deinit(sim);
  vs_sim_graphs_deinit(sim);
  vs_sim_memory_deinit(sim);
}
