/* For whom memory of a card is taken. */
#include "base/path.h"
#include "faces/simcuda/core/process_internal.h"
#include "os/library.h"
#include "os/stackwalk.h"

void vs_simcuda_charge(uint32_t account) {
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  VS_ASSERT(account < VS_SIM_FIXED_ACCOUNTS);
  thread->account = account;
  thread->charged_caller = NULL;
}

/* Where a call comes from: one of our own libraries, which lie in one folder, and which calls for its own caller; the recorder, which passes
 * calls of the CUDA driver and runtime on (faces/preload/driver.h); any other library, which takes memory for itself. */
typedef enum source { SOURCE_OURS, SOURCE_RECORDER, SOURCE_ITSELF } source;

/* *name: of the file that contains `caller`. */
static source source_of(const void *caller, vs_str *name) {
  vs_library_place place, ours;
  if (!vs_library_place_of(caller, &place) || !vs_library_place_of(&vs_this_process, &ours))
    return SOURCE_OURS;
  const vs_str path = vs_str_from(place.path), own = vs_str_from(ours.path);
  *name = vs_path_base(path);
  const size_t folder = path.size - name->size;
  if (folder == own.size - vs_path_base(own).size && memcmp(path.data, own.data, folder) == 0)
    return SOURCE_OURS;
  return vs_str_equal(*name, VS_STR("libvramscope-record.so")) ? SOURCE_RECORDER : SOURCE_ITSELF;
}

/* The first of the callers of the function where `start` is that asks for itself. Without a walk it is PyTorch's allocator, whose
 * calls of the runtime are nearly all that the recorder passes on. */
static vs_str behind_the_recorder(vs_stackwalk_start start) {
  vs_str name = VS_STR("libc10_cuda.so");
  vs_stackwalk_result walk;
  if (!vs_stackwalk_begin(start, &walk)) return name;
  for (uint32_t i = walk.count; i != 0; i--) {
    vs_str found;
    const void *const call =
        (const void *)(uintptr_t)(walk.frames[i - 1].address - 1); // NOLINT(performance-no-int-to-ptr)
    if (source_of(call, &found) != SOURCE_ITSELF) continue;
    name = found;
    break;
  }
  vs_stackwalk_end();
  return name;
}

void vs_simcuda_charge_caller(const void *caller) {
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  if (caller == thread->charged_caller) return;
  /* Before our lock is taken: this asks the loader, whose lock a library may hold that waits for ours. */
  vs_str library = VS_STR("");
  const source from = source_of(caller, &library);
  if (from == SOURCE_OURS) return;
  if (from == SOURCE_RECORDER) library = behind_the_recorder(vs_stackwalk_here());
  const vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return;
  thread->account = vs_sim_machine_account(sim->machine, sim->slot, library);
  thread->charged_caller = from == SOURCE_RECORDER ? NULL : caller;
  vs_simcuda_unlock();
}
