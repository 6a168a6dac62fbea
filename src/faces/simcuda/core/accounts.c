/* For whom memory of a card is taken. */
#include "base/path.h"
#include "faces/simcuda/core/process_internal.h"
#include "os/library.h"

void vs_simcuda_charge(uint32_t account) {
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  VS_ASSERT(account < VS_SIM_FIXED_ACCOUNTS);
  thread->account = account;
  thread->charged_caller = NULL;
}

/* The name of the file that contains `caller`; "" for our own libraries, which lie in one folder: their calls are for whom theirs was. The
 * recorder makes the calls of PyTorch's allocator and of nothing else (faces/preload/pytorch.h). */
static vs_str library_of(const void *caller) {
  vs_library_place place, ours;
  if (!vs_library_place_of(caller, &place) || !vs_library_place_of(&vs_this_process, &ours))
    return VS_STR("");
  const vs_str path = vs_str_from(place.path), name = vs_path_base(path), own = vs_str_from(ours.path);
  const size_t folder = path.size - name.size;
  const bool is_ours =
      folder == own.size - vs_path_base(own).size && memcmp(path.data, own.data, folder) == 0;
  if (is_ours) return VS_STR("");
  return vs_str_equal(name, VS_STR("libvramscope-record.so")) ? VS_STR("libc10_cuda.so") : name;
}

void vs_simcuda_charge_caller(const void *caller) {
  vs_simcuda_thread *thread = vs_simcuda_this_thread();
  if (caller == thread->charged_caller) return;
  const vs_str library =
      library_of(caller); /* asks the loader, whose lock a library may hold that waits for ours */
  if (library.size == 0) return;
  const vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return;
  thread->account = vs_sim_machine_account(sim->machine, sim->slot, library);
  thread->charged_caller = caller;
  vs_simcuda_unlock();
}
