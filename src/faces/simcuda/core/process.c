#include "faces/simcuda/core/process_internal.h"

#include "faces/simcuda/core/library_memory.h"
#include "faces/simcuda/core/notes.h"
#include "faces/simcuda/core/readback_sites.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

vs_simcuda_process vs_this_process = {.lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};

/* The state of the simulation. It leaves NOT_YET once, and later changes only in a forked child or at the end of
 * the process. */
typedef enum vs_simcuda_state {
  NOT_YET,
  READY,
  NO_DEVICE,
  BROKEN, /* the configuration is invalid */
  FORKED, /* a forked child: the simulation is the parent's */
  OVER,   /* the process ends */
} vs_simcuda_state;

static atomic_int state = NOT_YET;

/* The machine is opened before the simulation begins, and may be open without it. This lock guards both steps. */
static pthread_mutex_t beginning = PTHREAD_MUTEX_INITIALIZER;
static atomic_int machine_state = NOT_YET; /* NOT_YET, READY or BROKEN */
static atomic_bool is_beginning;           /* a thread is in set_up */

/* ---- fork */

/* In the child only the thread that forked exists, and any lock may be held by a thread that does not. */
static void after_fork(void) {
  (void)pthread_mutex_init(&beginning, NULL);
  vs_notes_forked();
  vs_readback_sites_forked();
  vs_refused_forked();
  vs_library_memory_forked();
  if (atomic_load(&state) != NOT_YET || atomic_load(&is_beginning)) atomic_store(&state, FORKED);
  if (atomic_load(&machine_state) == READY) vs_machine_forked(&vs_this_process.machine);
}

/* ---- the machine */

static const char *variable(const char *name) { return getenv(name); }

static void open_notes(const vs_configuration *configuration) {
  vs_readback_sites_open(&configuration->given, configuration->asks_stacks);
  vs_notes_open(configuration);
}

static int open_machine_once(void) {
  char problem[VS_CONFIGURATION_PROBLEM];
  (void)pthread_atfork(NULL, NULL, after_fork);
  vs_configuration *configuration = &vs_this_process.configuration;
  if (vs_configuration_read(configuration, variable, problem) &&
      vs_machine_open(&vs_this_process.machine, configuration, problem)) {
    open_notes(configuration);
    return READY;
  }
  char line[VS_CONFIGURATION_PROBLEM + 64];
  vs_format(line, sizeof line, "no simulated GPU: %s", problem);
  vs_simcuda_say_once(line);
  return BROKEN;
}

/* The caller holds `beginning`. */
static bool open_machine(void) {
  if (atomic_load(&machine_state) == NOT_YET) atomic_store(&machine_state, open_machine_once());
  return atomic_load(&machine_state) == READY;
}

bool vs_simcuda_has_machine(void) {
  if (atomic_load_explicit(&machine_state, memory_order_acquire) == NOT_YET) {
    (void)pthread_mutex_lock(&beginning);
    (void)open_machine();
    (void)pthread_mutex_unlock(&beginning);
  }
  return atomic_load_explicit(&machine_state, memory_order_acquire) == READY;
}

/* ---- what is not simulated. The machine is opened first, so that the notes have a file even if this is the
 * first call. */

uint64_t vs_simcuda_refused(vs_face_call *call) {
  if (__atomic_exchange_n(&call->was_said, 1, __ATOMIC_RELAXED) == 0) {
    (void)vs_simcuda_has_machine();
    vs_refused_note(call);
  }
  return call->refusal;
}

void vs_simcuda_guess_below(const char *what, uint64_t bytes, uint64_t most, const char *why) {
  (void)vs_simcuda_has_machine();
  vs_guess_note(what, bytes, most, why);
}

void vs_simcuda_guess(const char *what, uint64_t bytes, const char *why) {
  vs_simcuda_guess_below(what, bytes, UINT64_MAX, why);
}

/* ---- the machine */

vs_sim_machine *vs_simcuda_lock_machine(void) {
  if (!vs_simcuda_has_machine()) return NULL;
  vs_machine_lock(&vs_this_process.machine);
  (void)vs_machine_reap(&vs_this_process.machine);
  return vs_this_process.machine.sim_machine;
}

void vs_simcuda_unlock_machine(void) { vs_machine_unlock(&vs_this_process.machine); }

/* ---- hooks of device/sim */

static void hook_lock(void *ctx) { vs_machine_lock(ctx); }
static void hook_unlock(void *ctx) { vs_machine_unlock(ctx); }

/* Removes killed processes, whose memory becomes free. If the request still does not fit, it is noted; the
 * simulation then refuses it. */
static void hook_make_room(void *ctx, uint32_t device, uint64_t bytes) {
  vs_machine *machine = ctx;
  VS_ASSERT(device < vs_this_process.device_count);
  vs_machine_lock(machine);
  (void)vs_machine_reap(machine);
  const uint64_t free_bytes =
      vs_sim_machine_free_bytes(machine->sim_machine, vs_this_process.devices[device].number);
  vs_machine_unlock(machine);
  if (free_bytes < bytes) vs_note_out_of_memory(device, bytes, free_bytes);
}

static void unmap_managed(const vs_sim_range *range) {
  void *memory = (void *)(uintptr_t)range->base; // NOLINT(performance-no-int-to-ptr)
  if (range->user != 0) (void)munmap(memory, (size_t)range->user);
}

static void hook_gone(void *ctx, const vs_sim_range *range) {
  (void)ctx;
  if (range->kind == VS_SIM_RANGE_MANAGED) unmap_managed(range);
  else if (range->kind != VS_SIM_RANGE_HOST)
    vs_stored_forget(&vs_this_process.stored, range->base, range->size);
}

static void hook_charged(void *ctx) {
  (void)ctx;
  vs_library_memory_changed();
}

/* ---- begin */

static void take_cards(void) {
  vs_simcuda_process *self = &vs_this_process;
  uint32_t cards[VS_SIM_MAX_DEVICES];
  vs_machine_lock(&self->machine);
  const vs_sim_machine *machine = self->machine.sim_machine;
  self->device_count = vs_visible_cards(getenv("CUDA_VISIBLE_DEVICES"), machine->card_count, cards);
  VS_ASSERT(self->device_count <= machine->card_count);
  for (uint32_t i = 0; i < self->device_count; i++) {
    vs_visible_device *device = &self->devices[i];
    device->number = cards[i];
    device->card = machine->cards[cards[i]];
    device->gpu = (vs_sim_gpu){
        .profile = vs_sim_profile_keyed(vs_str_from(device->card.key)),
        .total_bytes = device->card.figures.total_bytes,
        .taken_bytes = device->card.taken_bytes,
        .context_bytes = device->card.context_bytes,
        .has_context_bytes = true,
    };
  }
  vs_machine_unlock(&self->machine);
}

/* The bound on kept values: half of the host's memory that is available now. */
static uint64_t most_kept_bytes(void);

static bool make_sim(void) {
  vs_simcuda_process *self = &vs_this_process;
  const vs_configuration *configuration = &self->configuration;
  const vs_sim_hooks hooks = {.ctx = &self->machine,
                              .lock_machine = hook_lock,
                              .unlock_machine = hook_unlock,
                              .make_room = hook_make_room,
                              .gone = hook_gone,
                              .charged = hook_charged};
  uint32_t cards[VS_SIM_MAX_DEVICES];
  for (uint32_t i = 0; i < self->device_count; i++) cards[i] = self->devices[i].number;
  if (vs_sim_init(&self->sim, vs_host_default(), self->machine.sim_machine, self->machine.slot, &hooks,
                  configuration->events) != VS_SIM_OK)
    return false;
  if (vs_sim_show(&self->sim, cards, self->device_count) != VS_SIM_OK) return false;
  for (int kind = 0; kind < VS_SIM_FAULT_COUNT; kind++) {
    vs_sim_fault_set(&self->sim, (vs_sim_fault)kind, configuration->fail_at[kind]);
    vs_sim_delay_set(&self->sim, (vs_sim_fault)kind, configuration->delay_us[kind] * 1000);
  }
  vs_stored_init(&self->stored, vs_host_default(), &configuration->given, most_kept_bytes());
  return true;
}

/* The process gets no simulated GPU: said at once and in the report. */
static int without_gpu(const char *why) {
  char line[128];
  vs_format(line, sizeof line, "no simulated GPU: %s", why);
  vs_simcuda_say_once(line);
  if (!vs_notes_are_wanted()) return BROKEN;
  vs_note note;
  vs_note_begin(&note, "no_gpu");
  vs_note_string(&note, "why", vs_str_from(why));
  vs_note_end(&note);
  return BROKEN;
}

static int set_up(void) {
  VS_ASSERT(atomic_load(&is_beginning));
  vs_simcuda_process *self = &vs_this_process;
  if (!open_machine()) return BROKEN;
  take_cards();
  open_notes(&self->configuration); /* again: the machine may have been opened before a fork */
  vs_notes_begin(vs_first_face());
  if (self->device_count == 0) return NO_DEVICE;
  if (vs_machine_enter(&self->machine) != VS_SIM_OK) {
    char why[64];
    vs_format(why, sizeof why, "%D other processes use it, and no more can", (int64_t)VS_SIM_MAX_PROCESSES);
    return without_gpu(why);
  }
  self->process = vs_machine_process(&self->machine);
  if (make_sim()) return READY;
  vs_machine_leave(&self->machine);
  return without_gpu("the host is out of memory");
}

static vs_sim_error answer_of(int now) {
  return now == READY ? VS_SIM_OK : now == NO_DEVICE ? VS_SIM_NO_DEVICE : VS_SIM_NOT_INITIALIZED;
}

vs_sim_error vs_simcuda_why_not(void) { return answer_of(atomic_load(&state)); }

/* Slow path of vs_simcuda_begin. Kept out of line so that the fast path is a few instructions. */
__attribute__((noinline, cold)) static vs_sim_error begin_or_refuse(void) {
  if (atomic_load(&state) != NOT_YET) return vs_simcuda_why_not();
  (void)pthread_mutex_lock(&beginning);
  int now = atomic_load(&state);
  if (now == NOT_YET) {
    atomic_store(&is_beginning, true);
    now = set_up();
    VS_ASSERT(now == READY || now == NO_DEVICE || now == BROKEN);
    atomic_store(&state, now);
    atomic_store(&is_beginning, false);
  }
  (void)pthread_mutex_unlock(&beginning);
  return answer_of(now);
}

static inline bool is_ready(void) { return atomic_load_explicit(&state, memory_order_acquire) == READY; }

bool vs_simcuda_has_begun(void) { return is_ready(); }

vs_sim_error vs_simcuda_begin(void) { return is_ready() ? VS_SIM_OK : begin_or_refuse(); }

vs_sim *vs_simcuda_lock(void) {
  if (!is_ready() && begin_or_refuse() != VS_SIM_OK) return NULL;
  vs_simcuda_lock_begun();
  vs_this_process.sim.account = vs_simcuda_this_thread()->account;
  return &vs_this_process.sim;
}

static bool read_accounts(uint32_t device, vs_library_accounts *out) {
  if (!is_ready() || device >= vs_this_process.device_count) return false;
  const vs_visible_device *d = &vs_this_process.devices[device];
  *out = (vs_library_accounts){.card = &d->card, .process = vs_this_process.process};
  vs_simcuda_lock_begun();
  out->is_used = vs_this_process.sim.memory.windows[device].is_used;
  memcpy(out->bytes, vs_this_process.process->use[d->number].account_bytes, sizeof out->bytes);
  (void)pthread_mutex_unlock(&vs_this_process.lock);
  return true;
}

void vs_simcuda_unlock(void) {
  VS_ASSERT(vs_simcuda_is_locked());
  (void)pthread_mutex_unlock(&vs_this_process.lock);
  vs_library_memory_tell(read_accounts);
}

VS_SIMCUDA_API vs_sim_listen vs_simcuda_listen;
void vs_simcuda_listen(vs_sim_library_listener *listener) {
  vs_library_memory_listen(listener, read_accounts);
}

/* ---- end. The libraries of the faces depend on this one, so their destructors have run before. */

void vs_simcuda_note_exit(void) {
  const int now = atomic_load(&state);
  if (now != READY && now != NO_DEVICE) return;
  vs_readback_sites_end();
  vs_guesses_end();
  vs_notes_end();
}

__attribute__((destructor)) static void end(void) {
  const int now = atomic_load(&state);
  if (now != READY && now != NO_DEVICE) return;
  vs_simcuda_note_exit();
  atomic_store(&state, OVER);
  if (now == READY) vs_machine_leave(&vs_this_process.machine);
}

/* ---- devices */

uint32_t vs_simcuda_device_count(void) {
  return vs_simcuda_begin() == VS_SIM_OK ? vs_this_process.device_count : 0;
}

static const vs_visible_device *device_at(uint32_t device) {
  return device < vs_simcuda_device_count() ? &vs_this_process.devices[device] : NULL;
}

uint32_t vs_simcuda_card(uint32_t device) {
  const vs_visible_device *d = device_at(device);
  return d == NULL ? UINT32_MAX : d->number;
}

const vs_sim_gpu *vs_simcuda_gpu(uint32_t device) {
  const vs_visible_device *d = device_at(device);
  return d == NULL ? NULL : &d->gpu;
}

const vs_sim_figures *vs_simcuda_figures(uint32_t device) {
  const vs_visible_device *d = device_at(device);
  return d == NULL ? NULL : &d->card.figures;
}

const char *vs_simcuda_name(uint32_t device) {
  const vs_visible_device *d = device_at(device);
  return d == NULL ? NULL : d->card.name;
}

vs_sim_error vs_simcuda_use_locked(uint32_t device) {
  VS_ASSERT(vs_simcuda_is_locked());
  if (device >= vs_this_process.device_count) return VS_SIM_INVALID_DEVICE;
  vs_visible_device *d = &vs_this_process.devices[device];
  if (atomic_load_explicit(&d->is_used, memory_order_relaxed)) return VS_SIM_OK;
  VS_SIM_TRY(vs_sim_context_use(&vs_this_process.sim, device));
  atomic_store_explicit(&d->is_used, true, memory_order_relaxed);
  return VS_SIM_OK;
}

vs_sim_error vs_simcuda_use(uint32_t device) {
  VS_SIM_TRY(vs_simcuda_begin());
  if (device >= vs_this_process.device_count) return VS_SIM_INVALID_DEVICE;
  if (atomic_load_explicit(&vs_this_process.devices[device].is_used, memory_order_relaxed)) return VS_SIM_OK;
  vs_simcuda_lock_begun();
  const vs_sim_error error = vs_simcuda_use_locked(device);
  vs_simcuda_unlock();
  return error;
}

static void note_own_guess(uint32_t device, uint64_t bytes) {
  const vs_sim_gpu *gpu = vs_simcuda_gpu(device);
  if (bytes == 0 || gpu == NULL || vs_sim_context_is_measured(gpu->profile)) return;
  vs_simcuda_guess("library_memory", bytes,
                   "what PyTorch's kernels and the handles of cuBLAS, cuDNN and cuSOLVER take of a GPU was "
                   "measured on an H100 and an H200; other GPUs are assumed to be alike");
}

static vs_sim_error own_take(uint32_t device, vs_sim_own_kind kind, bool only_first) {
  uint64_t taken = 0;
  VS_SIM_TRY(vs_simcuda_use(device));
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return vs_simcuda_why_not();
  const bool is_there = only_first && sim->memory.windows[device].own.live[kind] > 0;
  const vs_sim_error error = is_there ? VS_SIM_OK : vs_sim_own_take(sim, device, kind, &taken);
  vs_simcuda_unlock();
  note_own_guess(device, taken);
  return error;
}

vs_sim_error vs_simcuda_own_take(uint32_t device, vs_sim_own_kind kind) {
  return own_take(device, kind, false);
}

vs_sim_error vs_simcuda_own_take_first(uint32_t device, vs_sim_own_kind kind) {
  return own_take(device, kind, true);
}

void vs_simcuda_own_give(uint32_t device, vs_sim_own_kind kind) {
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return;
  if (device < vs_this_process.device_count) vs_sim_own_give(sim, device, kind);
  vs_simcuda_unlock();
}

bool vs_simcuda_is_used(uint32_t device) {
  const vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return false;
  const bool is_used = device < vs_this_process.device_count && sim->memory.windows[device].is_used;
  vs_simcuda_unlock();
  return is_used;
}

vs_sim_error vs_simcuda_reset(uint32_t device) {
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return vs_simcuda_why_not();
  const vs_sim_error error = vs_sim_device_reset(sim, device);
  if (error == VS_SIM_OK)
    atomic_store_explicit(&vs_this_process.devices[device].is_used, false, memory_order_relaxed);
  vs_simcuda_unlock();
  return error;
}

vs_sim_error vs_simcuda_memory_info(uint32_t device, uint64_t *free_bytes, uint64_t *total_bytes) {
  VS_SIM_TRY(vs_simcuda_use(device));
  if (vs_simcuda_lock_machine() != NULL) vs_simcuda_unlock_machine(); /* removes killed processes */
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return vs_simcuda_why_not();
  const vs_sim_error error = vs_sim_memory_info(sim, device, free_bytes, total_bytes);
  vs_simcuda_unlock();
  return error;
}

/* ---- work */

void vs_simcuda_kernels_ran(uint64_t count) {
  VS_ASSERT(vs_simcuda_is_locked() && vs_this_process.process != NULL);
  vs_readback_kernel(&vs_this_process.stored.common);
  vs_count(&vs_this_process.process->kernels, count);
}

vs_sim_error vs_simcuda_work_on(uint64_t stream, vs_simcuda_work work) {
  const uint32_t device = vs_simcuda_this_thread()->device;
  const vs_sim_work node = {.kind = work == VS_SIMCUDA_KERNEL ? VS_SIM_NODE_KERNEL : VS_SIM_NODE_HOST};
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return vs_simcuda_why_not();
  bool is_captured = false;
  vs_sim_error error = vs_simcuda_use_locked(device);
  if (error == VS_SIM_OK) error = vs_sim_work_add(sim, device, stream, &node, &is_captured);
  if (error == VS_SIM_OK && !is_captured && work == VS_SIMCUDA_KERNEL) vs_simcuda_kernels_ran(1);
  vs_simcuda_unlock();
  return error;
}

void vs_simcuda_note_step(void) {
  if (vs_simcuda_lock() == NULL) return;
  vs_count(&vs_this_process.process->steps, 1);
  vs_simcuda_unlock();
}

bool vs_simcuda_keeps_values(void) {
  return vs_simcuda_begin() == VS_SIM_OK && vs_this_process.configuration.given.values == VS_VALUES_KEEP;
}

/* ---- memory of the host */

static uint64_t available_bytes(void) {
  FILE *file = fopen("/proc/meminfo", "re");
  char line[128];
  uint64_t kib = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "MemAvailable:", 13) != 0) continue;
    kib = strtoull(line + 13, NULL, 10);
    break;
  }
  if (file != NULL) (void)fclose(file);
  return kib * 1024;
}

static uint64_t most_kept_bytes(void) {
  const uint64_t available = available_bytes();
  return available == 0 ? UINT64_C(1) << 30 : available / 2;
}
