/* Eight threads in one simulation: each sees its own bytes, and in the end nothing is left. For
 * ThreadSanitizer. */
#include "faces/simcuda/core/process_internal.h"
#include "support/random.h"
#include "unit/faces/simcuda/apart.h"
#include <pthread.h>

enum { THREADS = 8, ROUNDS = 300 };

#define MIB (UINT64_C(1) << 20)

/* Writes its own pattern to its own memory, and reads it back while others do the same. No thread launches
 * a kernel, or fresh bytes would be old for all. */
static void move_bytes(test_random *random, uint64_t memory, uint64_t id) {
  uint64_t out[8], back[8];
  for (int i = 0; i < 8; i++) out[i] = random_u64(random) ^ id;
  CHECK(vs_simcuda_copy(memory, (uintptr_t)out, sizeof out, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_OK);
  CHECK(vs_simcuda_copy(memory + 512, memory, sizeof out, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_OK);
  CHECK(vs_simcuda_copy((uintptr_t)back, memory + 512, sizeof back, VS_SIMCUDA_BY_ADDRESS,
                        VS_SIMCUDA_NO_STREAM) == VS_SIM_OK);
  CHECK(memcmp(out, back, sizeof out) == 0);
}

static uint64_t allocate(uint32_t device, uint64_t size) {
  uint64_t address;
  vs_sim *sim = vs_simcuda_lock();
  CHECK(vs_sim_alloc(sim, device, size, &address) == VS_SIM_OK);
  vs_simcuda_unlock();
  return address;
}

static void release(uint64_t address) {
  vs_sim *sim = vs_simcuda_lock();
  CHECK(vs_sim_free(sim, address, NULL) == VS_SIM_OK);
  vs_simcuda_unlock();
}

static bool has_kernels;

static void *live(void *seed) {
  test_random random = {(uintptr_t)seed};
  vs_simcuda_thread *self = vs_simcuda_this_thread();
  CHECK(self->id != 0 && self->sim.id == self->id && self->capture_mode == VS_SIM_CAPTURE_GLOBAL);
  self->device = (uint32_t)((uintptr_t)seed % 2);
  for (int i = 0; i < ROUNDS; i++) {
    CHECK(vs_simcuda_use(self->device) == VS_SIM_OK);
    const uint64_t memory = allocate(self->device, 1024 + random_below(&random, 4 * MIB));
    if (has_kernels) CHECK(vs_simcuda_work_on(0, VS_SIMCUDA_KERNEL) == VS_SIM_OK);
    else move_bytes(&random, memory, self->id);
    CHECK(vs_simcuda_fill(memory, 0, 7, 1, 1024, 1, 0) == VS_SIM_OK);
    void *pinned;
    CHECK(vs_simcuda_host_alloc(100, &pinned) == VS_SIM_OK);
    CHECK(vs_simcuda_copy((uintptr_t)pinned, memory, 100, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_OK);
    CHECK(vs_simcuda_host_free(pinned) == VS_SIM_OK);
    uint64_t free_bytes, total_bytes;
    CHECK(vs_simcuda_memory_info(self->device, &free_bytes, &total_bytes) == VS_SIM_OK);
    CHECK(free_bytes < total_bytes);
    vs_simcuda_guess("workspace", 1, "nobody knows");
    vs_simcuda_not_simulated("library", "something");
    release(memory);
  }
  return NULL;
}

static void live_together(void) {
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++)
    CHECK(pthread_create(&threads[i], NULL, live, (void *)(i + 1)) == 0);
  for (uintptr_t i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  const vs_sim_machine *machine = vs_simcuda_lock_machine();
  CHECK(vs_sim_machine_check(machine));
  for (uint32_t card = 0; card < 2; card++)
    CHECK(machine->cards[card].used_bytes == machine->cards[card].context_bytes);
  CHECK(machine->processes[0].kernels == (has_kernels ? THREADS * ROUNDS : 0));
  CHECK(machine->processes[0].reads >= THREADS * ROUNDS);
  CHECK(machine->process_limit == 1); /* the simulation began once */
  vs_simcuda_unlock_machine();
  CHECK(vs_sim_check(vs_simcuda_lock()));
  vs_simcuda_unlock();
}

static void eight_threads_move_bytes(void **state) {
  (void)state;
  has_kernels = false;
  expect_apart(live_together, WITH("VRAMSCOPE_SIM_GPU=2xH100"),
               "vramscope: something (library) is not simulated\n");
}

static void eight_threads_launch(void **state) {
  (void)state;
  has_kernels = true;
  expect_apart(live_together, WITH("VRAMSCOPE_SIM_GPU=2xH100", "VRAMSCOPE_SIM_VALUES=keep"),
               "vramscope: something (library) is not simulated\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(eight_threads_move_bytes),
      cmocka_unit_test(eight_threads_launch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
