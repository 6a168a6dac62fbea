/* Graphs against a matrix: nodes and edges come and go, copies are made, and launches keep to the order of
 * the edges. */
#include "support/random.h"
#include "unit/device/sim/work.h"

enum { MOST = 40, BATCH = 4, STEPS = 800, RUNS = 60 };

typedef struct model {
  uint64_t graph;
  uint64_t nodes[MOST]; /* handles, 0 when gone */
  uint32_t count;
  bool edge[MOST][MOST]; /* [from][to] */
} model;

static machine m;
static vs_sim *sim;

/* Whether some node can come back to itself: strike out nodes without predecessors until none is left. */
static bool has_circle(const model *g) {
  bool struck[MOST] = {false};
  for (bool more = true; more;) {
    more = false;
    for (uint32_t to = 0; to < g->count; to++) {
      bool is_free = !struck[to];
      for (uint32_t from = 0; from < g->count; from++)
        if (g->edge[from][to] && !struck[from]) is_free = false;
      if (!is_free) continue;
      struck[to] = more = true;
    }
  }
  for (uint32_t i = 0; i < g->count; i++)
    if (!struck[i]) return true;
  return false;
}

static void add_node(model *g, test_random *random) {
  uint64_t needs[BATCH];
  size_t count = 0;
  if (g->count == MOST) return;
  for (uint64_t i = random_below(random, BATCH); g->count != 0 && i-- > 0;) {
    const uint32_t from = (uint32_t)random_below(random, g->count);
    if (g->nodes[from] == 0 || g->edge[from][g->count]) continue;
    g->edge[from][g->count] = true;
    needs[count++] = g->nodes[from];
  }
  const vs_sim_work work = {.kind = VS_SIM_NODE_HOST, .object = 1, .operand = g->count};
  expect_sim_ok(vs_sim_graph_add(sim, g->graph, needs, count, &work, &g->nodes[g->count++]));
}

/* A few edges at once; some of them cannot be, and then none is. */
static void change_edges(model *g, test_random *random, bool adding) {
  uint64_t from[BATCH], to[BATCH];
  model after = *g;
  bool is_fine = true;
  const size_t count = random_below(random, BATCH);
  if (g->count == 0) return;
  for (size_t i = 0; i < count; i++) {
    uint32_t a = (uint32_t)random_below(random, g->count), b = (uint32_t)random_below(random, g->count);
    for (int tries = 0; tries < 20 && !adding && !after.edge[a][b];
         tries++) { /* mostly ones that are there */
      a = (uint32_t)random_below(random, g->count);
      b = (uint32_t)random_below(random, g->count);
    }
    from[i] = g->nodes[a];
    to[i] = g->nodes[b];
    is_fine = is_fine && from[i] != 0 && to[i] != 0 && a != b && after.edge[a][b] != adding;
    after.edge[a][b] = adding;
  }
  is_fine = is_fine && !has_circle(&after);
  assert_int_equal(adding ? vs_sim_graph_add_edges(sim, g->graph, from, to, count)
                          : vs_sim_graph_remove_edges(sim, g->graph, from, to, count),
                   is_fine ? VS_SIM_OK : VS_SIM_INVALID_VALUE);
  if (is_fine) *g = after;
}

static void destroy_node(model *g, test_random *random) {
  if (g->count == 0) return;
  const uint32_t node = (uint32_t)random_below(random, g->count);
  assert_int_equal(vs_sim_node_destroy(sim, g->nodes[node]),
                   g->nodes[node] != 0 ? VS_SIM_OK : VS_SIM_INVALID_HANDLE);
  g->nodes[node] = 0;
  for (uint32_t i = 0; i < MOST; i++) g->edge[node][i] = g->edge[i][node] = false;
}

/* Goes on with a clone: its nodes are those that find_in_clone says. */
static void go_on_with_a_clone(model *g) {
  uint64_t clone;
  expect_sim_ok(vs_sim_graph_clone(sim, g->graph, &clone));
  for (uint32_t i = 0; i < g->count; i++)
    if (g->nodes[i] != 0) expect_sim_ok(vs_sim_graph_find_in_clone(sim, g->nodes[i], clone, &g->nodes[i]));
  expect_sim_ok(vs_sim_graph_destroy(sim, g->graph));
  g->graph = clone;
}

static void compare(const model *g) {
  uint64_t nodes[MOST], from[MOST * MOST], to[MOST * MOST];
  size_t count = MOST, edges = MOST * MOST, at = 0, wanted = 0;
  expect_sim_ok(vs_sim_graph_nodes(sim, g->graph, nodes, &count));
  for (uint32_t i = 0; i < g->count; i++)
    if (g->nodes[i] != 0) assert_int_equal(nodes[at++], g->nodes[i]);
  assert_int_equal(count, at);
  expect_sim_ok(vs_sim_graph_edges(sim, g->graph, from, to, &edges));
  for (uint32_t a = 0; a < g->count; a++)
    for (uint32_t b = 0; b < g->count; b++) {
      size_t found = 0;
      for (size_t e = 0; e < edges && g->edge[a][b]; e++)
        found += from[e] == g->nodes[a] && to[e] == g->nodes[b];
      assert_int_equal(found, g->edge[a][b]);
      wanted += g->edge[a][b];
    }
  assert_int_equal(edges, wanted);
  for (uint32_t a = 0; a < g->count; a++) {
    if (g->nodes[a] == 0) continue;
    count = MOST;
    expect_sim_ok(vs_sim_node_dependents(sim, g->nodes[a], nodes, &count));
    at = 0;
    for (uint32_t b = 0; b < g->count; b++)
      if (g->edge[a][b]) assert_int_equal(nodes[at++], g->nodes[b]);
    assert_int_equal(count, at);
  }
  assert_true(vs_sim_check(sim));
}

/* Every node is launched once, and behind all that it depends on. */
static void launch(const model *g) {
  uint64_t exec;
  bool was[MOST] = {false};
  size_t launched = 0, live = 0;
  vs_sim_callback callback;
  expect_sim_ok(vs_sim_graph_instantiate(sim, g->graph, 0, &exec));
  expect_sim_ok(vs_sim_exec_launch(sim, 0, exec, VS_SIM_STREAM_PER_THREAD));
  for (; vs_sim_next_callback(sim, &callback); launched++) {
    assert_false(was[callback.argument]);
    for (uint32_t from = 0; from < g->count; from++)
      if (g->edge[from][callback.argument]) assert_true(was[from]);
    was[callback.argument] = true;
  }
  for (uint32_t i = 0; i < g->count; i++) live += g->nodes[i] != 0;
  assert_int_equal(launched, live);
  expect_sim_ok(vs_sim_exec_update(sim, exec, g->graph, NULL, NULL)); /* it fits itself */
  expect_sim_ok(vs_sim_exec_destroy(sim, exec));
}

static void graphs_are_their_matrix(void **state) {
  (void)state;
  static model g;
  for (uint64_t seed = 1; seed <= RUNS; seed++) {
    test_random random = {seed};
    sim = work_begin(&m, VS_SIM_EVENTS_AT_ONCE);
    g = (model){.graph = 0};
    expect_sim_ok(vs_sim_graph_create(sim, 0, &g.graph));
    for (int i = 0; i < STEPS; i++) {
      const uint64_t what = random_below(&random, 100);
      if (what < 10) add_node(&g, &random);
      else if (what < 60) change_edges(&g, &random, true);
      else if (what < 95) change_edges(&g, &random, false);
      else if (what < 96) destroy_node(&g, &random);
      else if (what < 98) go_on_with_a_clone(&g);
      else launch(&g);
      compare(&g);
    }
    machine_end(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(graphs_are_their_matrix)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
