/* Collectives and messages in a world of identical ranks: all ranks send the data that this rank sends.
 *
 *   all-gather, gather         each slot is filled with this rank's data
 *   all-reduce, reduce         the output is this rank's data (a sum is not multiplied)
 *   reduce-scatter, scatter    the output is this rank's slot of its own data
 *   all-to-all                 each slot is what this rank sends to itself, since all ranks send that to it
 *   broadcast                  the root's output is its data; on other ranks the buffer is unchanged, except in a group that
 *                              has a broadcast of this rank's own (an all-gather of unequal parts): then it gets that data
 *   receive                    in a group: what this rank sends to itself, or else to that peer; alone: nothing is written
 *
 * Moving data matters only where values are known (values, in core/process.h): small values on their way through
 * the device. Each call is one kernel on its stream, but not a kernel of the program: fresh values stay fresh. */
#include "faces/simcuda/nccl/comm.h"

#include "base/vec.h"

/* One call. `count` elements, in one slot. */
typedef struct vs_nccl_call {
  const char *name;
  ncclComm_t comm;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t op;
  int root;
  cudaStream_t stream;
  unsigned uses;  /* bits of vs_nccl_use */
  uint64_t bytes; /* bytes per slot; set by begin */
  uint32_t device_before;
  bool is_captured;
} vs_nccl_call;

enum { SLOTS_ALL = -1 };

static uint64_t at(const void *pointer) { return (uint64_t)(uintptr_t)pointer; }
static uint64_t stream_of(const vs_nccl_call *call) { return (uint64_t)(uintptr_t)call->stream; }

/* ---- arguments */

static const uint8_t type_bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};

static bool is_operator(ncclComm_t comm, ncclRedOp_t op) {
  const unsigned i = (unsigned)op - ncclNumOps;
  if ((unsigned)op < ncclNumOps) return true;
  return i < VS_NCCL_OPERATORS && (comm->operators[i / 64] >> (i % 64) & 1) != 0;
}

static ncclResult_t check_call(vs_nccl_call *call) {
  NCCL_TRY(vs_nccl_check(call->comm, call->name));
  if (call->comm->is_revoked)
    return vs_nccl_fail(ncclInvalidUsage, "%s: the communicator was revoked", call->name);
  if (call->comm->is_suspended)
    return vs_nccl_fail(ncclInvalidUsage, "%s: the communicator is suspended", call->name);
  if (call->root < 0 || call->root >= call->comm->count)
    return vs_nccl_fail(ncclInvalidArgument, "%s: there is no rank %d of %d", call->name, call->root,
                        call->comm->count);
  if ((unsigned)call->type >= ncclNumTypes)
    return vs_nccl_fail(ncclInvalidArgument, "%s: there is no type %d", call->name, (int)call->type);
  if (!is_operator(call->comm, call->op))
    return vs_nccl_fail(ncclInvalidArgument, "%s: there is no operator %d", call->name, (int)call->op);
  uint64_t most;
  if (__builtin_mul_overflow(call->count, type_bytes[call->type], &call->bytes) ||
      __builtin_mul_overflow(call->bytes, (uint64_t)call->comm->count, &most))
    return vs_nccl_fail(ncclInvalidArgument, "%s: %U elements are too many", call->name,
                        (uint64_t)call->count);
  return ncclSuccess;
}

/* Adjacent mappings count as one range. Host memory that CUDA allocated or registered is also valid. */
static bool is_memory(const vs_sim *sim, uint64_t address, uint64_t size) {
  uint64_t end;
  if (!vs_add_u64(address, size, &end)) return false;
  const vs_sim_range *range = vs_sim_find(sim, address);
  while (range != NULL && range->base + range->size < end) {
    if (range->kind != VS_SIM_RANGE_MAPPING) return false;
    range = vs_sim_find(sim, range->base + range->size);
  }
  return range != NULL;
}

/* ---- one call: check, connect, add to the stream, move the data */

static vs_sim_error give_work(vs_nccl_call *call, uint64_t buffer, uint64_t size) {
  vs_sim *sim = vs_simcuda_lock();
  if (sim == NULL) return VS_SIM_NOT_INITIALIZED;
  vs_sim_error error = VS_SIM_OK;
  if (size != 0 && !is_memory(sim, buffer, size)) error = VS_SIM_INVALID_VALUE;
  const vs_sim_work work = {.kind = VS_SIM_NODE_KERNEL};
  if (error == VS_SIM_OK)
    error = vs_sim_work_add(sim, call->comm->device, stream_of(call), &work, &call->is_captured);
  vs_simcuda_unlock();
  return error;
}

/* `buffer` is the larger one of the call, with `slots` slots. A successful begin must be followed by end. */
static ncclResult_t begin(vs_nccl_call *call, uint64_t buffer, int slots) {
  NCCL_TRY(check_call(call));
  NCCL_TRY(vs_nccl_connect(call->comm, call->uses));
  call->device_before = vs_nccl_enter(call->comm->device);
  const uint64_t size = call->bytes * (uint64_t)(slots == SLOTS_ALL ? call->comm->count : slots);
  const vs_sim_error error = give_work(call, buffer, size);
  if (error == VS_SIM_OK) return ncclSuccess;
  vs_nccl_leave(call->device_before);
  return vs_nccl_fail_sim(error, call->name);
}

static void copy(const vs_nccl_call *call, uint64_t to, uint64_t from, uint64_t size, vs_sim_error *error) {
  if (*error != VS_SIM_OK || call->is_captured || to == from || size == 0) return;
  *error = vs_simcuda_copy(to, from, size, VS_SIMCUDA_BY_ADDRESS, stream_of(call));
}

static ncclResult_t end(const vs_nccl_call *call, vs_sim_error error) {
  vs_nccl_leave(call->device_before);
  return error == VS_SIM_OK ? ncclSuccess : vs_nccl_fail_sim(error, call->name);
}

/* Writes the same bytes into every slot: one slot, then two, four, ... at a time. */
static void fill_slots(const vs_nccl_call *call, uint64_t to, uint64_t from, vs_sim_error *error) {
  const uint64_t slots = (uint64_t)call->comm->count;
  copy(call, to, from, call->bytes, error);
  for (uint64_t done = 1; done < slots; done *= 2)
    copy(call, to + done * call->bytes, to, vs_min_u64(done, slots - done) * call->bytes, error);
}

static uint64_t own_slot(const vs_nccl_call *call, const void *buffer) {
  return at(buffer) + (uint64_t)call->comm->rank * call->bytes;
}

ncclResult_t sim_ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream) {
  vs_nccl_call call = {.name = "ncclAllReduce",
                       .comm = comm,
                       .count = count,
                       .type = type,
                       .op = op,
                       .stream = stream,
                       .uses = VS_NCCL_RING | VS_NCCL_TREE | VS_NCCL_NVLS};
  NCCL_TRY(begin(&call, at(to), 1));
  vs_sim_error error = VS_SIM_OK;
  copy(&call, at(to), at(from), call.bytes, &error);
  return end(&call, error);
}

ncclResult_t sim_ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type, ncclRedOp_t op,
                            int root, ncclComm_t comm, cudaStream_t stream) {
  vs_nccl_call call = {.name = "ncclReduce",
                       .comm = comm,
                       .count = count,
                       .type = type,
                       .op = op,
                       .root = root,
                       .stream = stream,
                       .uses = VS_NCCL_RING};
  NCCL_TRY(begin(&call, at(from), 1));
  vs_sim_error error = VS_SIM_OK;
  if (comm->rank == root) copy(&call, at(to), at(from), call.bytes, &error);
  return end(&call, error);
}

ncclResult_t sim_ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
                                   ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  vs_nccl_call call = {.name = "ncclReduceScatter",
                       .comm = comm,
                       .count = count,
                       .type = type,
                       .op = op,
                       .stream = stream,
                       .uses = VS_NCCL_RING | VS_NCCL_NVLS};
  NCCL_TRY(begin(&call, at(from), SLOTS_ALL));
  vs_sim_error error = VS_SIM_OK;
  copy(&call, at(to), own_slot(&call, from), call.bytes, &error);
  return end(&call, error);
}

ncclResult_t sim_ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                               cudaStream_t stream) {
  vs_nccl_call call = {.name = "ncclAllGather",
                       .comm = comm,
                       .count = count,
                       .type = type,
                       .stream = stream,
                       .uses = VS_NCCL_RING | VS_NCCL_NVLS};
  NCCL_TRY(begin(&call, at(to), SLOTS_ALL));
  vs_sim_error error = VS_SIM_OK;
  fill_slots(&call, at(to), at(from), &error);
  return end(&call, error);
}

static ncclResult_t connect_all(ncclComm_t comm, const char *name) {
  NCCL_TRY(vs_nccl_check(comm, name));
  for (int peer = 0; peer < comm->count; peer++) NCCL_TRY(vs_nccl_connect_peer(comm, peer));
  return ncclSuccess;
}

ncclResult_t sim_ncclAlltoAll(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                              cudaStream_t stream) {
  vs_nccl_call call = {.name = "ncclAlltoAll", .comm = comm, .count = count, .type = type, .stream = stream};
  NCCL_TRY(connect_all(comm, call.name));
  NCCL_TRY(begin(&call, at(to), SLOTS_ALL));
  vs_sim_error error = VS_SIM_OK;
  fill_slots(&call, at(to), own_slot(&call, from), &error);
  return end(&call, error);
}

ncclResult_t sim_ncclGather(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                            ncclComm_t comm, cudaStream_t stream) {
  vs_nccl_call call = {
      .name = "ncclGather", .comm = comm, .count = count, .type = type, .root = root, .stream = stream};
  NCCL_TRY(connect_all(comm, call.name));
  const bool is_root = comm->rank == root;
  NCCL_TRY(begin(&call, at(is_root ? to : from), is_root ? SLOTS_ALL : 1));
  vs_sim_error error = VS_SIM_OK;
  if (is_root) fill_slots(&call, at(to), at(from), &error);
  return end(&call, error);
}

ncclResult_t sim_ncclScatter(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                             ncclComm_t comm, cudaStream_t stream) {
  vs_nccl_call call = {
      .name = "ncclScatter", .comm = comm, .count = count, .type = type, .root = root, .stream = stream};
  NCCL_TRY(connect_all(comm, call.name));
  const bool is_root = comm->rank == root;
  NCCL_TRY(begin(&call, at(is_root ? from : to), is_root ? SLOTS_ALL : 1));
  vs_sim_error error = VS_SIM_OK;
  if (is_root) copy(&call, at(to), own_slot(&call, from), call.bytes, &error);
  return end(&call, error);
}

/* ---- messages. Those of a group are matched at its end. */

/* On the root a broadcast is a message to itself, elsewhere a receive. */
typedef struct vs_nccl_message {
  vs_nccl_call call; /* root: the peer */
  uint64_t address;
  bool is_receive, is_matched, is_broadcast;
} vs_nccl_message;

typedef struct vs_nccl_group {
  unsigned depth;
  ncclResult_t result; /* the first failure in the group */
  VS_VEC(vs_nccl_message) messages;
} vs_nccl_group;

static _Thread_local vs_nccl_group group;

static void deliver(const vs_nccl_message *receive, const vs_nccl_message *send) {
  vs_sim_error error = VS_SIM_OK;
  const uint32_t before = vs_nccl_enter(receive->call.comm->device);
  copy(&receive->call, receive->address, send->address, vs_min_u64(receive->call.bytes, send->call.bytes),
       &error);
  vs_nccl_leave(before);
}

static bool fits(const vs_nccl_message *send, const vs_nccl_message *receive) {
  return !send->is_receive && send->call.comm == receive->call.comm &&
         send->is_broadcast == receive->is_broadcast;
}

static bool is_own(const vs_nccl_message *message) {
  return !message->is_receive && message->call.root == message->call.comm->rank;
}

/* Every peer sends to this rank what it sends to itself. If it sends nothing to itself, peers exchange. */
static void match(const vs_nccl_message *receive, size_t first_own) {
  for (size_t i = first_own; i < group.messages.count; i++) {
    const vs_nccl_message *send = &group.messages.data[i];
    if (!fits(send, receive) || !is_own(send)) continue;
    deliver(receive, send);
    return;
  }
  for (size_t i = 0; i < group.messages.count && !receive->is_broadcast; i++) {
    vs_nccl_message *send = &group.messages.data[i];
    if (!fits(send, receive) || send->is_matched) continue;
    if (send->call.root != receive->call.root || send->call.bytes != receive->call.bytes) continue;
    send->is_matched = true;
    deliver(receive, send);
    return;
  }
}

static void match_all(void) {
  size_t first_own = 0; /* messages before this one are not to the rank itself */
  while (first_own < group.messages.count && !is_own(&group.messages.data[first_own])) first_own++;
  for (size_t i = 0; i < group.messages.count; i++)
    if (group.messages.data[i].is_receive) match(&group.messages.data[i], first_own);
}

static ncclResult_t end_group(void) {
  const ncclResult_t result = group.result;
  if (result == ncclSuccess) match_all();
  vs_vec_free(vs_host_default(), &group.messages);
  group.result = ncclSuccess;
  return result;
}

ncclResult_t sim_ncclGroupStart(void) {
  group.depth++;
  return ncclSuccess;
}

ncclResult_t sim_ncclGroupEnd(void) {
  if (group.depth == 0) return vs_nccl_fail(ncclInvalidUsage, "ncclGroupEnd: no group was begun");
  return --group.depth != 0 ? ncclSuccess : end_group();
}

ncclResult_t sim_ncclGroupSimulateEnd(ncclSimInfo_t *info) {
  if (group.depth == 0) return vs_nccl_fail(ncclInvalidUsage, "ncclGroupSimulateEnd: no group was begun");
  if (info != NULL) info->estimatedTime = 0;
  vs_vec_free(vs_host_default(), &group.messages);
  group.depth--;
  return ncclSuccess;
}

static ncclResult_t note(const vs_nccl_message *message) {
  if (group.depth == 0 || message->call.bytes == 0) return ncclSuccess;
  if (vs_vec_reserve(vs_host_default(), &group.messages, 1) != VS_OK)
    return vs_nccl_fail(ncclSystemError, "no memory on the host");
  group.messages.data[group.messages.count++] = *message;
  return ncclSuccess;
}

/* A failure inside a group is returned again at the group's end. */
static ncclResult_t in_group(ncclResult_t result) {
  if (group.depth != 0 && group.result == ncclSuccess) group.result = result;
  return result;
}

static ncclResult_t send_or_receive(vs_nccl_message *message) {
  vs_nccl_call *call = &message->call;
  NCCL_TRY(check_call(call));
  NCCL_TRY(vs_nccl_connect_peer(call->comm, call->root));
  NCCL_TRY(begin(call, message->address, 1));
  NCCL_TRY(end(call, VS_SIM_OK));
  return note(message);
}

ncclResult_t sim_ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                          cudaStream_t stream) {
  vs_nccl_message message = {.address = at(from)};
  message.call = (vs_nccl_call){
      .name = "ncclSend", .comm = comm, .count = count, .type = type, .root = peer, .stream = stream};
  return in_group(send_or_receive(&message));
}

ncclResult_t sim_ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                          cudaStream_t stream) {
  vs_nccl_message message = {.address = at(to), .is_receive = true};
  message.call = (vs_nccl_call){
      .name = "ncclRecv", .comm = comm, .count = count, .type = type, .root = peer, .stream = stream};
  return in_group(send_or_receive(&message));
}

static ncclResult_t broadcast(vs_nccl_message *message, uint64_t to) {
  vs_nccl_call *call = &message->call;
  NCCL_TRY(begin(call, to, 1));
  vs_sim_error error = VS_SIM_OK;
  message->is_receive = call->root != call->comm->rank;
  if (message->is_receive) message->address = to;
  else copy(call, to, message->address, call->bytes, &error);
  NCCL_TRY(end(call, error));
  return note(message);
}

ncclResult_t sim_ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
                               ncclComm_t comm, cudaStream_t stream) {
  vs_nccl_message message = {.address = at(from), .is_broadcast = true};
  message.call = (vs_nccl_call){.name = "ncclBroadcast",
                                .comm = comm,
                                .count = count,
                                .type = type,
                                .root = root,
                                .stream = stream,
                                .uses = VS_NCCL_RING};
  return in_group(broadcast(&message, at(to)));
}

ncclResult_t sim_ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return sim_ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

/* ---- one-sided: what this rank puts into a peer's window, its peers put into this rank's window */

ncclResult_t sim_ncclPutSignal(const void *from, size_t count, ncclDataType_t type, int peer,
                               ncclWindow_t window, size_t offset, int signal, int context, unsigned flags,
                               ncclComm_t comm, cudaStream_t stream) {
  vs_nccl_call call = {
      .name = "ncclPutSignal", .comm = comm, .count = count, .type = type, .root = peer, .stream = stream};
  if (signal != 0 || context != 0 || flags != 0)
    return vs_nccl_fail(ncclInvalidArgument, "ncclPutSignal: signal %d, context %d, flags %u", signal,
                        context, flags);
  void *memory = NULL;
  NCCL_TRY(sim_ncclWinGetUserPtr(comm, window, &memory));
  NCCL_TRY(begin(&call, at(from), 1));
  vs_sim_error error = VS_SIM_OK;
  copy(&call, at(memory) + offset, at(from), call.bytes, &error);
  return end(&call, error);
}

ncclResult_t sim_ncclSignal(int peer, int signal, int context, unsigned flags, ncclComm_t comm,
                            cudaStream_t stream) {
  vs_nccl_call call = {.name = "ncclSignal", .comm = comm, .root = peer, .stream = stream};
  if (signal != 0 || context != 0 || flags != 0)
    return vs_nccl_fail(ncclInvalidArgument, "ncclSignal: signal %d, context %d, flags %u", signal, context,
                        flags);
  NCCL_TRY(begin(&call, 0, 1));
  return end(&call, VS_SIM_OK);
}

/* All signals count as sent, so there is nothing to wait for. */
ncclResult_t sim_ncclWaitSignal(int count, ncclWaitSignalDesc_t *signals, ncclComm_t comm,
                                cudaStream_t stream) {
  vs_nccl_call call = {.name = "ncclWaitSignal", .comm = comm, .stream = stream};
  if (count < 1 || signals == NULL)
    return vs_nccl_fail(ncclInvalidArgument, "ncclWaitSignal: nothing to wait for");
  for (int i = 0; i < count; i++)
    if (signals[i].opCnt < 1 || signals[i].sigIdx != 0 || signals[i].ctx != 0)
      return vs_nccl_fail(ncclInvalidArgument, "ncclWaitSignal: description %d makes no sense", i);
  NCCL_TRY(begin(&call, 0, 1));
  return end(&call, VS_SIM_OK);
}
