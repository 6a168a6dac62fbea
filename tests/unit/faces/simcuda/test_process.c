/* The simulation of a process: when it begins, which cards it has, what copies read back, and host memory. */
#include "device/sim/library_memory.h"
#include "faces/simcuda/core/attributes.h"
#include "faces/simcuda/core/machine.h"
#include "faces/simcuda/core/process.h"
#include "unit/faces/simcuda/apart.h"
#include <pthread.h>
#include <sys/mman.h>

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

static uint64_t address_of(const void *pointer) { return (uintptr_t)pointer; }

static uint64_t device_memory(uint32_t device, uint64_t size) {
  uint64_t address = 0;
  vs_sim *sim = vs_simcuda_lock();
  CHECK(sim != NULL);
  CHECK(vs_sim_alloc(sim, device, size, &address) == VS_SIM_OK);
  vs_simcuda_unlock();
  return address;
}

static uint64_t used_of_card(uint32_t card) {
  const vs_sim_machine *machine = vs_simcuda_lock_machine();
  CHECK(machine != NULL);
  const uint64_t used = machine->cards[card].used_bytes;
  vs_simcuda_unlock_machine();
  return used;
}

/* ---- what a listener is told */

void vs_simcuda_listen(vs_sim_library_listener *listener);

static struct {
  uint64_t calls, bytes, card_bytes;
  int32_t device;
  char library[64], card[128];
} heard;

static void hear(const vs_sim_library_memory *memory) {
  heard.calls++;
  heard.bytes = memory->bytes;
  heard.card_bytes = memory->card_bytes;
  heard.device = memory->device;
  (void)snprintf(heard.library, sizeof heard.library, "%s", memory->library == NULL ? "?" : memory->library);
  (void)snprintf(heard.card, sizeof heard.card, "%s", memory->card);
}

static uint64_t memory_for(const char *library, uint64_t size) {
  uint64_t address = 0;
  vs_sim *sim = vs_simcuda_lock();
  CHECK(sim != NULL);
  sim->account = library == NULL ? VS_SIM_ACCOUNT_UNKNOWN
                                 : vs_sim_machine_account(sim->machine, sim->slot, vs_str_from(library));
  CHECK(vs_sim_alloc(sim, 1, size, &address) == VS_SIM_OK);
  vs_simcuda_unlock();
  return address;
}

static void give_back(uint64_t address) {
  vs_sim *sim = vs_simcuda_lock();
  CHECK(vs_sim_free(sim, address, NULL) == VS_SIM_OK);
  vs_simcuda_unlock();
}

static void listen_to_all(void) {
  vs_simcuda_listen(hear);
  CHECK(heard.calls == 0 && !vs_simcuda_has_begun()); /* listening does not begin the simulation */
  CHECK(vs_simcuda_use(1) == VS_SIM_OK);
  CHECK(heard.calls == 1 && strcmp(heard.library, "") == 0 && heard.device == 1);
  CHECK(strstr(heard.card, "(simulated)") != NULL && heard.card_bytes == 20 * GIB);
  const uint64_t first = memory_for("liba.so", 4 * MIB);
  CHECK(heard.calls == 2 && strcmp(heard.library, "liba.so") == 0 && heard.bytes == 4 * MIB);
  (void)memory_for("libb.so", 6 * MIB);
  (void)memory_for("liba.so", 8 * MIB);
  CHECK(heard.calls == 4 && strcmp(heard.library, "liba.so") == 0 && heard.bytes == 12 * MIB);
  give_back(first);
  CHECK(heard.calls == 5 && strcmp(heard.library, "liba.so") == 0 && heard.bytes == 8 * MIB);
  CHECK(vs_simcuda_own_take(1, VS_SIM_OWN_STREAM) == VS_SIM_OK && heard.calls == 5); /* the driver's own */
  (void)memory_for(NULL, 2 * MIB);
  CHECK(heard.calls == 6 && strcmp(heard.library, "?") == 0);

  heard.calls = 0;
  vs_simcuda_listen(hear); /* all that there is: the device, two libraries, and what is not known */
  CHECK(heard.calls == 4);
  CHECK(vs_simcuda_reset(1) == VS_SIM_OK);
  CHECK(heard.calls == 7 && heard.bytes == 0);
  vs_simcuda_listen(NULL);
  (void)memory_for("liba.so", 2 * MIB);
  CHECK(heard.calls == 7);
}

static void a_listener_is_told_of_libraries(void **state) {
  (void)state;
  expect_apart(listen_to_all, WITH("VRAMSCOPE_SIM_GPU=H100,RTX4090:20GiB"), "");
}

/* ---- begin */

static void see_cards(void) {
  CHECK(vs_simcuda_begin() == VS_SIM_OK);
  CHECK(vs_simcuda_device_count() == 3);
  CHECK(strstr(vs_simcuda_name(0), "(simulated)") != NULL);
  CHECK(strstr(vs_simcuda_name(0), "H100") != NULL);
  CHECK(vs_simcuda_figures(2)->total_bytes == 20 * GIB);
  CHECK(vs_simcuda_gpu(2)->total_bytes == 20 * GIB);
  CHECK(strcmp(vs_simcuda_gpu(2)->profile->key, "RTX4090") == 0);
  CHECK(vs_simcuda_figures(3) == NULL && vs_simcuda_name(3) == NULL && vs_simcuda_gpu(3) == NULL);
  CHECK(vs_simcuda_card(1) == 1 && vs_simcuda_card(3) == UINT32_MAX);
  CHECK(vs_simcuda_use(3) == VS_SIM_INVALID_DEVICE);
  CHECK(!vs_simcuda_is_used(2));
  CHECK(used_of_card(2) == 0);
  CHECK(vs_simcuda_use(2) == VS_SIM_OK && vs_simcuda_use(2) == VS_SIM_OK);
  CHECK(vs_simcuda_is_used(2) && !vs_simcuda_is_used(1));
  const uint64_t context = vs_simcuda_gpu(2)->context_bytes;
  CHECK(context != 0 && used_of_card(2) == context);
  const uint64_t memory = device_memory(2, GIB);
  uint64_t free_bytes, total_bytes;
  CHECK(vs_simcuda_memory_info(2, &free_bytes, &total_bytes) == VS_SIM_OK);
  CHECK(total_bytes == 20 * GIB && free_bytes == 19 * GIB - context);
  CHECK(memory == VS_SIM_WINDOW_BASE + 2 * VS_SIM_WINDOW_SIZE);
  CHECK(vs_simcuda_reset(2) == VS_SIM_OK);
  CHECK(!vs_simcuda_is_used(2) && used_of_card(2) == 0);
}

static void cards_are_there(void **state) {
  (void)state;
  expect_apart(see_cards, WITH("VRAMSCOPE_SIM_GPU=2xH100,RTX4090:20GiB"), "");
}

static void see_some(void) {
  CHECK(vs_simcuda_device_count() == 2);
  CHECK(vs_simcuda_card(0) == 2 && vs_simcuda_card(1) == 0);
  CHECK(vs_simcuda_figures(0)->total_bytes == 20 * GIB);
  (void)device_memory(0, GIB);
  CHECK(used_of_card(0) == 0); /* NVML counts cards, the program what it sees */
  CHECK(used_of_card(2) == GIB + vs_simcuda_gpu(0)->context_bytes);
  CHECK(vs_simcuda_use(2) == VS_SIM_INVALID_DEVICE);
  uint64_t free_bytes, total_bytes;
  CHECK(vs_simcuda_memory_info(0, &free_bytes, &total_bytes) == VS_SIM_OK && total_bytes == 20 * GIB);
}

static void hidden_cards_are_not_seen(void **state) {
  (void)state;
  expect_apart(see_some, WITH("VRAMSCOPE_SIM_GPU=2xH100,RTX4090:20GiB", "CUDA_VISIBLE_DEVICES=2,0"), "");
}

static void see_none(void) {
  CHECK(vs_simcuda_begin() == VS_SIM_NO_DEVICE);
  CHECK(vs_simcuda_lock() == NULL);
  CHECK(vs_simcuda_device_count() == 0);
  CHECK(vs_simcuda_use(0) == VS_SIM_NO_DEVICE);
  CHECK(vs_simcuda_work_on(0, VS_SIMCUDA_KERNEL) == VS_SIM_NO_DEVICE);
  const vs_sim_machine *machine = vs_simcuda_lock_machine();
  CHECK(machine != NULL && machine->card_count == 1); /* NVML does not care */
  vs_simcuda_unlock_machine();
}

static void all_may_be_hidden(void **state) {
  (void)state;
  expect_apart(see_none, WITH("CUDA_VISIBLE_DEVICES="), "");
  expect_apart(see_none, WITH("CUDA_VISIBLE_DEVICES=-1"), "");
}

static void see_nonsense(void) {
  for (int i = 0; i < 3; i++) {
    CHECK(vs_simcuda_begin() == VS_SIM_NOT_INITIALIZED);
    CHECK(vs_simcuda_lock() == NULL && vs_simcuda_lock_machine() == NULL);
    uint64_t free_bytes, total_bytes;
    CHECK(vs_simcuda_memory_info(0, &free_bytes, &total_bytes) == VS_SIM_NOT_INITIALIZED);
    CHECK(vs_simcuda_copy(0, 0, 1, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_NOT_INITIALIZED);
    void *memory;
    CHECK(vs_simcuda_host_alloc(1, &memory) == VS_SIM_NOT_INITIALIZED);
  }
}

static void nonsense_is_said_once(void **state) {
  (void)state;
  expect_apart(see_nonsense, WITH("VRAMSCOPE_SIM_VALUES=some"),
               "vramscope: no simulated GPU: VRAMSCOPE_SIM_VALUES=some: not one of zeros|true|keep, and not "
               "FILE:LINE=VALUE: \"some\"\n");
  expect_apart(see_nonsense, WITH("VRAMSCOPE_SIM_NODE=/dev/null"),
               "vramscope: no simulated GPU: VRAMSCOPE_SIM_NODE: not a simulated machine of this version of "
               "vramscope\n");
  expect_apart(
      see_nonsense, WITH("VRAMSCOPE_SIM_NODE=/nowhere/at/all"),
      "vramscope: no simulated GPU: VRAMSCOPE_SIM_NODE: the dry run that this program belonged to is over\n");
}

static void meet_fault(void) {
  uint64_t address;
  vs_sim *sim = vs_simcuda_lock();
  CHECK(sim != NULL);
  CHECK(vs_sim_alloc(sim, 0, 1, &address) == VS_SIM_OK);
  CHECK(vs_sim_alloc(sim, 0, 1, &address) == VS_SIM_OUT_OF_MEMORY);
  CHECK(vs_sim_alloc(sim, 0, 1, &address) == VS_SIM_OK);
  vs_simcuda_unlock();
}

static void faults_come_on_request(void **state) {
  (void)state;
  expect_apart(meet_fault, WITH("VRAMSCOPE_SIM_FAULT=alloc:2"), "");
}

/* ---- fork */

static int status_of_fork(void (*body)(void)) {
  (void)fflush(NULL);
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    body();
    exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  return status;
}

static void touch_nothing(void) {}

static void find_no_simulation(void) {
  CHECK(vs_simcuda_begin() == VS_SIM_NOT_INITIALIZED);
  CHECK(vs_simcuda_lock() == NULL);
  CHECK(vs_simcuda_device_count() == 0);
  CHECK(vs_simcuda_use(0) == VS_SIM_NOT_INITIALIZED);
  CHECK(vs_simcuda_copy(VS_SIM_WINDOW_BASE, VS_SIM_WINDOW_BASE, 1, VS_SIMCUDA_BY_ADDRESS, 0) ==
        VS_SIM_NOT_INITIALIZED);
  vs_simcuda_note_step();
  vs_simcuda_put(VS_SIM_WINDOW_BASE, "x", 1);
  const vs_sim_machine *machine = vs_simcuda_lock_machine(); /* NVML goes on */
  CHECK(machine != NULL && vs_sim_machine_check(machine));
  vs_simcuda_unlock_machine();
}

static void fork_after_use(void) {
  (void)device_memory(0, GIB);
  const uint64_t used = used_of_card(0);
  CHECK(status_of_fork(touch_nothing) == 0);
  CHECK(status_of_fork(find_no_simulation) == 0);
  CHECK(used_of_card(0) == used); /* no child has given anything back */
  CHECK(vs_simcuda_begin() == VS_SIM_OK);
  (void)device_memory(0, GIB);
}

static void begin_own_simulation(void) {
  CHECK(vs_simcuda_begin() == VS_SIM_OK);
  (void)device_memory(0, GIB);
}

/* What torch.cuda.device_count() does before a launcher forks its workers. */
static void fork_after_looking(void) {
  CHECK(vs_simcuda_lock_machine() != NULL);
  vs_simcuda_unlock_machine();
  CHECK(status_of_fork(begin_own_simulation) == 0);
  begin_own_simulation();
  CHECK(status_of_fork(find_no_simulation) == 0);
}

static void a_forked_child_has_no_simulation(void **state) {
  (void)state;
  expect_apart(fork_after_use, WITH_NOTHING, "");
  expect_apart(fork_after_looking, WITH_NOTHING, "");
}

/* A thread holds the locks all the time while others fork. */
static void *take_locks(void *stop) {
  while (!__atomic_load_n((bool *)stop, __ATOMIC_RELAXED)) {
    CHECK(vs_simcuda_lock_machine() != NULL);
    vs_simcuda_unlock_machine();
    CHECK(vs_simcuda_lock() != NULL);
    vs_simcuda_unlock();
    vs_simcuda_say_once("once");
  }
  return NULL;
}

/* Leaves without the end of a program: a sanitizer would look for a thread that is the parent's. */
static void find_no_simulation_and_go(void) {
  find_no_simulation();
  vs_simcuda_say_once("once"); /* which the parent has said */
  _exit(0);
}

static void fork_while_locked(void) {
  static bool stop;
  pthread_t thread;
  CHECK(vs_simcuda_begin() == VS_SIM_OK);
  vs_simcuda_say_once("once");
  CHECK(pthread_create(&thread, NULL, take_locks, &stop) == 0);
  for (uint64_t i = 0; i < test_repetitions(50, 5); i++)
    CHECK(status_of_fork(find_no_simulation_and_go) == 0);
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  CHECK(pthread_join(thread, NULL) == 0);
}

static void forks_never_meet_a_lock(void **state) {
  (void)state;
  expect_apart(fork_while_locked, WITH_NOTHING, "vramscope: once\n");
}

/* ---- copies */

static void kernel(void) { CHECK(vs_simcuda_work_on(0, VS_SIMCUDA_KERNEL) == VS_SIM_OK); }

static void to_device(uint64_t to, const char *bytes, size_t size) {
  CHECK(vs_simcuda_copy(to, address_of(bytes), size, VS_SIMCUDA_HOST_TO_DEVICE, VS_SIMCUDA_NO_STREAM) ==
        VS_SIM_OK);
}

static bool reads(uint64_t from, const char *wanted, size_t size) {
  char bytes[64];
  memset(bytes, 0x55, sizeof bytes);
  CHECK(size < sizeof bytes);
  CHECK(vs_simcuda_copy(address_of(bytes), from, size, VS_SIMCUDA_DEVICE_TO_HOST, 0) == VS_SIM_OK);
  CHECK(bytes[size] == 0x55);
  return memcmp(bytes, wanted, size) == 0;
}
#define READS(from, wanted) reads((from), (wanted), sizeof(wanted) - 1)

static void copy_fresh(void) {
  const uint64_t memory = device_memory(0, MIB), other = device_memory(0, MIB);
  CHECK(READS(memory, "\0\0\0\0"));
  to_device(memory + 8, "abcdef", 6);
  CHECK(READS(memory + 7, "\0abcdef\0"));
  CHECK(vs_simcuda_copy(other, memory + 8, 6, VS_SIMCUDA_DEVICE_TO_DEVICE, 0) == VS_SIM_OK);
  CHECK(READS(other, "abcdef"));
  CHECK(vs_simcuda_fill(other + 2, 0, 0x3132, 2, 1, 1, 0) == VS_SIM_OK);
  CHECK(READS(other, "ab21ef"));
  kernel();
  CHECK(READS(other, "\0\0\0\0\0\0"));
  vs_simcuda_put(other, "xy", 2);
  CHECK(READS(other, "xy\0"));
  CHECK(!vs_simcuda_keeps_values());
}

static void fresh_bytes_come_back(void **state) {
  (void)state;
  expect_apart(copy_fresh, WITH_NOTHING, "");
}

static void copy_kept(void) {
  const uint64_t memory = device_memory(0, MIB);
  to_device(memory + 8, "abcdef", 6);
  kernel();
  CHECK(READS(memory + 7, "\0abcdef\0"));
  CHECK(vs_simcuda_keeps_values());
  vs_sim *sim = vs_simcuda_lock();
  CHECK(vs_sim_free(sim, memory, NULL) == VS_SIM_OK);
  vs_simcuda_unlock();
  CHECK(device_memory(0, MIB) == memory);
  CHECK(READS(memory + 7, "\0\0\0\0\0\0\0\0")); /* the next owner finds nothing of it */
}

static void kept_bytes_outlive_kernels(void **state) {
  (void)state;
  expect_apart(copy_kept, WITH("VRAMSCOPE_SIM_VALUES=keep"), "");
}

static void copy_truth(void) {
  const uint64_t memory = device_memory(0, MIB);
  CHECK(READS(memory, "\1") && READS(memory, "\0\0"));
  to_device(memory, "\0", 1);
  CHECK(READS(memory, "\0"));
  kernel();
  CHECK(READS(memory, "\1"));
}

static void single_bytes_are_true(void **state) {
  (void)state;
  expect_apart(copy_truth, WITH("VRAMSCOPE_SIM_VALUES=true"), "");
}

static void copy_rows(void) {
  static const char picture[] = "abc.def.ghi.";
  char back[9];
  const uint64_t memory = device_memory(0, MIB);
  CHECK(vs_simcuda_copy_rows(memory, 512, address_of(picture), 4, 3, 3, VS_SIMCUDA_BY_ADDRESS, 0) ==
        VS_SIM_OK);
  CHECK(READS(memory + 512, "def\0"));
  CHECK(vs_simcuda_copy_rows(address_of(back), 3, memory, 512, 3, 3, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_OK);
  CHECK(memcmp(back, "abcdefghi", 9) == 0);
  CHECK(vs_simcuda_fill(memory + 1, 512, 'x', 1, 1, 3, 0) == VS_SIM_OK);
  CHECK(READS(memory + 1024, "gxi"));
  CHECK(vs_simcuda_copy_rows(memory, 2, address_of(picture), 4, 3, 3, VS_SIMCUDA_BY_ADDRESS, 0) ==
        VS_SIM_INVALID_VALUE);
  CHECK(vs_simcuda_copy_rows(memory, 512, address_of(picture), 4, 0, 3, VS_SIMCUDA_BY_ADDRESS, 0) ==
        VS_SIM_OK);
  CHECK(vs_simcuda_copy_rows(memory, UINT64_MAX, address_of(picture), 4, 1, 3, VS_SIMCUDA_BY_ADDRESS, 0) ==
        VS_SIM_INVALID_VALUE);
}

static void rows_keep_their_pitch(void **state) {
  (void)state;
  expect_apart(copy_rows, WITH_NOTHING, "");
}

static void copy_wrongly(void) {
  char bytes[16] = "unchanged";
  const uint64_t memory = device_memory(0, 4 * MIB), host = address_of(bytes);
  const uint64_t nowhere = memory + 4 * MIB;
  CHECK(vs_simcuda_copy(host, nowhere, 4, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_INVALID_VALUE);
  CHECK(vs_simcuda_copy(nowhere, host, 4, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_INVALID_VALUE);
  CHECK(vs_simcuda_copy(host, nowhere - 2, 4, VS_SIMCUDA_BY_ADDRESS, 0) ==
        VS_SIM_INVALID_VALUE); /* leaves it */
  CHECK(vs_simcuda_copy(host, nowhere - 4, 4, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_OK);
  strcpy(bytes, "unchanged");
  CHECK(vs_simcuda_copy(host, memory, 4, VS_SIMCUDA_BY_ADDRESS, 0x50000000) == VS_SIM_INVALID_HANDLE);
  CHECK(vs_simcuda_copy(host, memory, 4, (vs_simcuda_direction)5, 0) == VS_SIM_INVALID_VALUE);
  CHECK(vs_simcuda_copy(host, memory, UINT64_MAX, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_INVALID_VALUE);
  CHECK(vs_simcuda_fill(memory, 0, 0, 3, 1, 1, 0) == VS_SIM_INVALID_VALUE);
  CHECK(vs_simcuda_fill(memory + 1, 0, 0, 2, 1, 1, 0) == VS_SIM_INVALID_VALUE);
  CHECK(vs_simcuda_fill(host, 0, 0, 1, 4, 1, 0) == VS_SIM_INVALID_VALUE); /* memory that CUDA does not know */
  CHECK(vs_simcuda_fill(memory, 0, 0, 4, UINT64_MAX / 2, 1, 0) == VS_SIM_INVALID_VALUE);
  CHECK(strcmp(bytes, "unchanged") == 0);
  CHECK(vs_simcuda_copy(host, memory, 0, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_OK);
  CHECK(vs_simcuda_copy(host + 2, host, 7, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_OK);
  CHECK(strcmp(bytes, "ununchang") == 0);
}

static void wrong_copies_change_nothing(void **state) {
  (void)state;
  expect_apart(copy_wrongly, WITH_NOTHING, "");
}

/* A tensor of an expandable segment lies in several mappings. */
static void copy_across(void) {
  uint64_t address, handles[2];
  static char bytes[2 * MIB];
  vs_sim *sim = vs_simcuda_lock();
  CHECK(sim != NULL);
  CHECK(vs_sim_reserve(sim, 8 * MIB, 0, 0, &address) == VS_SIM_OK);
  for (int i = 0; i < 2; i++) {
    CHECK(vs_sim_physical_create(sim, 0, 2 * MIB, 0, &handles[i]) == VS_SIM_OK);
    CHECK(vs_sim_map(sim, address + (uint64_t)i * 2 * MIB, 2 * MIB, 0, handles[i]) == VS_SIM_OK);
    CHECK(vs_sim_access_set(sim, address + (uint64_t)i * 2 * MIB, 2 * MIB, 0, VS_SIM_ACCESS_READ_WRITE) ==
          VS_SIM_OK);
  }
  vs_simcuda_unlock();
  CHECK(vs_simcuda_copy(address + MIB, address_of(bytes), 2 * MIB, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_OK);
  to_device(address + 2 * MIB - 2, "abcd", 4);
  CHECK(READS(address + 2 * MIB - 2, "abcd"));
  CHECK(vs_simcuda_copy(address + 3 * MIB, address_of(bytes), 2 * MIB, VS_SIMCUDA_BY_ADDRESS, 0) ==
        VS_SIM_INVALID_VALUE);
}

static void mappings_side_by_side_are_one_memory(void **state) {
  (void)state;
  expect_apart(copy_across, WITH_NOTHING, "");
}

/* In a capture nothing happens, and every copy and launch is a node. */
static void copy_captured(void) {
  uint64_t stream, graph, memory = device_memory(0, MIB);
  size_t count = 0;
  char back[4] = "old";
  const vs_sim_thread *thread = &vs_simcuda_this_thread()->sim;
  vs_sim *sim = vs_simcuda_lock();
  CHECK(vs_sim_stream_create(sim, 0, VS_SIM_STREAM_NON_BLOCKING, 0, &stream) == VS_SIM_OK);
  CHECK(vs_sim_capture_begin(sim, thread, 0, stream, VS_SIM_CAPTURE_THREAD_LOCAL) == VS_SIM_OK);
  vs_simcuda_unlock();
  CHECK(vs_simcuda_copy(memory, address_of("new"), 3, VS_SIMCUDA_BY_ADDRESS, stream) == VS_SIM_OK);
  CHECK(vs_simcuda_copy(address_of(back), memory, 3, VS_SIMCUDA_BY_ADDRESS, stream) == VS_SIM_OK);
  CHECK(vs_simcuda_fill(memory, 0, 1, 1, 3, 1, stream) == VS_SIM_OK);
  CHECK(vs_simcuda_work_on(stream, VS_SIMCUDA_KERNEL) == VS_SIM_OK);
  CHECK(strcmp(back, "old") == 0);
  sim = vs_simcuda_lock();
  CHECK(vs_sim_capture_end(sim, thread, 0, stream, &graph) == VS_SIM_OK);
  CHECK(vs_sim_graph_nodes(sim, graph, NULL, &count) == VS_SIM_OK);
  vs_simcuda_unlock();
  CHECK(count == 4);
  CHECK(READS(memory, "\0\0\0"));
}

static void captured_copies_wait(void **state) {
  (void)state;
  expect_apart(copy_captured, WITH_NOTHING, "");
}

/* With events at synchronisation a copy to the program's own memory waits for its stream; one to pinned
 * memory does not. */
static void copy_and_ask(void) {
  uint64_t stream, event;
  char back[4];
  void *pinned;
  const uint64_t memory = device_memory(0, MIB);
  CHECK(vs_simcuda_host_alloc(64, &pinned) == VS_SIM_OK);
  vs_sim *sim = vs_simcuda_lock();
  CHECK(vs_sim_stream_create(sim, 0, 0, 0, &stream) == VS_SIM_OK);
  CHECK(vs_sim_event_create(sim, 0, 0, &event) == VS_SIM_OK);
  CHECK(vs_sim_event_record(sim, 0, event, stream, 0) == VS_SIM_OK);
  vs_simcuda_unlock();
  CHECK(vs_simcuda_copy(address_of(pinned), memory, 3, VS_SIMCUDA_BY_ADDRESS, stream) == VS_SIM_OK);
  sim = vs_simcuda_lock();
  CHECK(vs_sim_event_query(sim, &vs_simcuda_this_thread()->sim, event) == VS_SIM_NOT_READY);
  vs_simcuda_unlock();
  CHECK(vs_simcuda_copy(address_of(back), memory, 3, VS_SIMCUDA_BY_ADDRESS, stream) == VS_SIM_OK);
  sim = vs_simcuda_lock();
  CHECK(vs_sim_event_query(sim, &vs_simcuda_this_thread()->sim, event) == VS_SIM_OK);
  vs_simcuda_unlock();
}

static void copies_to_the_host_wait(void **state) {
  (void)state;
  expect_apart(copy_and_ask, WITH("VRAMSCOPE_SIM_EVENTS=at-sync"), "");
}

/* ---- memory of the host */

static void use_host_memory(void) {
  void *pinned, *none = NULL;
  char own[64];
  CHECK(vs_simcuda_host_alloc(5000, &pinned) == VS_SIM_OK);
  CHECK(vs_simcuda_host_alloc(0, &none) == VS_SIM_INVALID_VALUE && none == NULL);
  CHECK(vs_simcuda_host_alloc(UINT64_MAX - 5, &none) == VS_SIM_OUT_OF_MEMORY && none == NULL);
  CHECK(address_of(pinned) % 4096 == 0 && ((char *)pinned)[4999] == 0);
  ((char *)pinned)[4999] = 'x';
  vs_sim *sim = vs_simcuda_lock();
  const vs_sim_range *range = vs_sim_find(sim, address_of(pinned) + 4999);
  CHECK(range != NULL && range->kind == VS_SIM_RANGE_HOST && range->size == 5000);
  CHECK(vs_sim_host_add(sim, address_of(own), sizeof own, 0, 0) == VS_SIM_OK);
  vs_simcuda_unlock();
  CHECK(vs_simcuda_host_free(own) == VS_SIM_INVALID_VALUE); /* registered, not ours */
  CHECK(vs_simcuda_host_free((char *)pinned + 8) == VS_SIM_INVALID_VALUE);
  CHECK(vs_simcuda_fill(address_of(pinned) + 4996, 0, 0x01020304, 4, 1, 1, 0) == VS_SIM_OK);
  CHECK(memcmp((char *)pinned + 4996, "\4\3\2\1", 4) == 0);
  CHECK(vs_simcuda_host_free(pinned) == VS_SIM_OK);
  CHECK(vs_simcuda_host_free(pinned) == VS_SIM_INVALID_VALUE);
}

static void pinned_memory_is_real(void **state) {
  (void)state;
  expect_apart(use_host_memory, WITH_NOTHING, "");
}

static bool is_mapped(const void *page) {
  unsigned char there;
  return mincore((void *)(uintptr_t)page, 1, &there) == 0;
}

static void use_managed_memory(void) {
  void *managed, *small;
  CHECK(vs_simcuda_managed_alloc(3 * MIB, &managed) == VS_SIM_OK);
  CHECK(vs_simcuda_managed_alloc(1, &small) == VS_SIM_OK);
  const uint64_t device = device_memory(0, 16);
  CHECK(address_of(managed) >= VS_SIM_WINDOW_BASE && address_of(managed) < VS_SIM_RESERVED_BASE);
  memcpy(managed, "both sides", 11);
  kernel();
  CHECK(READS(address_of(managed), "both sides"));
  CHECK(vs_simcuda_copy(device, address_of(managed), 4, VS_SIMCUDA_BY_ADDRESS, 0) == VS_SIM_OK);
  CHECK(READS(device, "both"));
  CHECK(vs_simcuda_fill(address_of(managed), 0, '-', 1, 4, 1, 0) == VS_SIM_OK);
  CHECK(memcmp(managed, "---- sides", 10) == 0);
  CHECK(is_mapped(managed) && is_mapped(small));
  CHECK(device / 4096 != address_of(small) / 4096);
  vs_sim *sim = vs_simcuda_lock();
  CHECK(vs_sim_free(sim, address_of(managed), NULL) == VS_SIM_OK);
  vs_simcuda_unlock();
  CHECK(!is_mapped(managed) && is_mapped(small));
  CHECK(vs_simcuda_reset(0) == VS_SIM_OK);
  CHECK(!is_mapped(small));
}

static void managed_memory_is_real(void **state) {
  (void)state;
  SKIP_MANAGED_MEMORY();
  expect_apart(use_managed_memory, WITH_NOTHING, "");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_listener_is_told_of_libraries),
      cmocka_unit_test(cards_are_there),
      cmocka_unit_test(hidden_cards_are_not_seen),
      cmocka_unit_test(all_may_be_hidden),
      cmocka_unit_test(nonsense_is_said_once),
      cmocka_unit_test(faults_come_on_request),
      cmocka_unit_test(a_forked_child_has_no_simulation),
      cmocka_unit_test(forks_never_meet_a_lock),
      cmocka_unit_test(fresh_bytes_come_back),
      cmocka_unit_test(kept_bytes_outlive_kernels),
      cmocka_unit_test(single_bytes_are_true),
      cmocka_unit_test(rows_keep_their_pitch),
      cmocka_unit_test(wrong_copies_change_nothing),
      cmocka_unit_test(mappings_side_by_side_are_one_memory),
      cmocka_unit_test(captured_copies_wait),
      cmocka_unit_test(copies_to_the_host_wait),
      cmocka_unit_test(pinned_memory_is_real),
      cmocka_unit_test(managed_memory_is_real),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
