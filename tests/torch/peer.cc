/* PyTorch's own allocator, from the libraries of its wheel, on the simulated CUDA that is preloaded. */
#include "side.h"

#include "event/kinds.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Logging.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

namespace c10::cuda::_internal { // what ATen tells it, were it there
C10_CUDA_API void setHasPrimaryContext(bool (*func)(DeviceIndex));
}
namespace c10::cuda::detail {
C10_CUDA_API void init_p2p_access_cache(int64_t num_devices);
}

C10_DECLARE_int(caffe2_log_level);

/* PyTorch keeps tables by the addresses of its blocks, and some entries for ever: a later block at the same
 * address is then taken for the earlier one. Which one that is, is chance; so memory of the size of its
 * blocks is never used again. */
[[gnu::noinline]] void *operator new(size_t size) {
  void *memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void *memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void *memory, size_t size) noexcept {
  const bool may_be_block = size > 128 && size <= 256;
  if (!may_be_block) ::operator delete(memory);
}

namespace {

namespace caching = c10::cuda::CUDACachingAllocator;
using caching::TraceEntry;

struct Context : c10::GatheredContext {
  uint32_t number;
  explicit Context(uint32_t n) : number(n) {}
};

struct Silence : c10::WarningHandler {
  void process(const c10::Warning &) override {}
};

struct Peer {
  caching::CUDAAllocator *allocator = nullptr;
  std::vector<c10::cuda::CUDAStream> streams;
  std::array<c10::DataPtr, PARITY_SLOTS> slots;
  std::array<cudaEvent_t, PARITY_MARKS> marks{};
  std::array<void *, PARITY_WEIGHTS> weights{};
  void *anchor = nullptr; // what memset writes to
  uint32_t context = PARITY_NO_CONTEXT;
  unsigned long long next_capture = 0; // ids rise by one
  std::string message;
  std::vector<parity_event> events;
  std::vector<parity_row> rows;
  Silence silence;
};
Peer peer;

[[noreturn]] void give_up(const char *what, const char *why) {
  std::fprintf(stderr, "parity: %s: %s\n", what, why);
  std::exit(3);
}

void must(cudaError_t error, const char *what) {
  if (error != cudaSuccess) give_up(what, cudaGetErrorString(error));
}

uint64_t number(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }
void *pointer(uint64_t number) { return reinterpret_cast<void *>(number); }
c10::MempoolId_t id_of(const uint64_t *pool) { return {pool[0], pool[1]}; }

std::shared_ptr<c10::GatheredContext> gather() { return std::make_shared<Context>(peer.context); }

uint32_t context_of(const std::shared_ptr<c10::GatheredContext> &context) {
  return context == nullptr ? PARITY_NO_CONTEXT : static_cast<const Context &>(*context).number;
}

/* PyTorch's actions by their places in kinds.def. */
constexpr uint32_t kinds[] = {VS_EVENT_ALLOC,         VS_EVENT_FREE_REQUESTED, VS_EVENT_FREE_COMPLETED,
                              VS_EVENT_SEGMENT_ALLOC, VS_EVENT_SEGMENT_FREE,   VS_EVENT_SEGMENT_MAP,
                              VS_EVENT_SEGMENT_UNMAP, VS_EVENT_SNAPSHOT,       VS_EVENT_OOM,
                              VS_EVENT_ANNOTATE};

void hear(const TraceEntry &entry) {
  peer.events.push_back({entry.addr_,
                         entry.size_,
                         number(entry.stream_),
                         {entry.mempool_.first, entry.mempool_.second},
                         kinds[entry.action_],
                         context_of(entry.context_)});
}

template <typename F> parity_result guarded(F &&call) {
  try {
    call();
    return PARITY_DONE;
  } catch (const c10::OutOfMemoryError &error) {
    peer.message = error.what_without_backtrace();
    return PARITY_OOM;
  } catch (const c10::Error &error) {
    peer.message = error.what_without_backtrace();
  } catch (const std::exception &error) {
    peer.message = error.what();
  }
  (void)cudaGetLastError();
  return PARITY_REFUSED;
}

parity_result cuda(cudaError_t error) {
  if (error == cudaSuccess) return PARITY_DONE;
  peer.message = cudaGetErrorString(error);
  (void)cudaGetLastError();
  return PARITY_REFUSED;
}

/* ---- a pool's own source: addresses that no other allocator returns, one after the other */

class Source final : public caching::CUDAAllocator {
public:
  Source(uint64_t base, uint64_t bytes) : next_(base), end_(base + bytes) {}
  void *raw_alloc(size_t size) override {
    if (size > end_ - next_) return nullptr;
    next_ += size;
    return pointer(next_ - size);
  }
  void *raw_alloc_with_stream(size_t size, cudaStream_t) override { return raw_alloc(size); }
  void raw_delete(void *) override {}

  /* What a pool's source is never asked. */
  c10::DataPtr allocate(size_t) override { unasked(); }
  void copy_data(void *, const void *, std::size_t) const override { unasked(); }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override { unasked(); }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override { unasked(); }
  void resetAccumulatedStats(c10::DeviceIndex) override { unasked(); }
  void resetPeakStats(c10::DeviceIndex) override { unasked(); }
  void init(int) override {}
  double getMemoryFraction(c10::DeviceIndex) override { unasked(); }
  void setMemoryFraction(double, c10::DeviceIndex) override { unasked(); }
  std::vector<caching::StreamSegmentSize> getExpandableSegmentSizes(c10::DeviceIndex) override { unasked(); }
  void enable(bool) override { unasked(); }
  bool isEnabled() const override { return true; }
  void cacheInfo(c10::DeviceIndex, size_t *) override { unasked(); }
  void *getBaseAllocation(void *, size_t *) override { unasked(); }
  void recordStream(const c10::DataPtr &, c10::cuda::CUDAStream) override { unasked(); }
  caching::SnapshotInfo snapshot(c10::MempoolId_t, bool) override { unasked(); }
  void beginAllocateToPool(c10::DeviceIndex, c10::MempoolId_t, std::function<bool(cudaStream_t)>) override {
    unasked();
  }
  void endAllocateToPool(c10::DeviceIndex, c10::MempoolId_t) override { unasked(); }
  void releasePool(c10::DeviceIndex, c10::MempoolId_t) override { unasked(); }
  caching::ShareableHandle shareIpcHandle(void *) override { unasked(); }
  std::shared_ptr<void> getIpcDevPtr(std::string) override { unasked(); }
  void recordHistory(bool, caching::CreateContextFn, size_t, caching::RecordContext, bool,
                     const std::vector<std::string> &) override {
    unasked();
  }
  void attachOutOfMemoryObserver(caching::OutOfMemoryObserver) override { unasked(); }
  void attachOomRejectionObserver(caching::OomRejectionObserver) override { unasked(); }
  void attachAllocatorTraceTracker(caching::AllocatorTraceTracker) override { unasked(); }
  void enablePeerAccess(c10::DeviceIndex, c10::DeviceIndex) override { unasked(); }
  cudaError_t memcpyAsync(void *, int, const void *, int, size_t, cudaStream_t, bool) override { unasked(); }
  std::shared_ptr<caching::AllocatorState> getCheckpointState(c10::DeviceIndex, c10::MempoolId_t) override {
    unasked();
  }
  caching::CheckpointDelta setCheckpointPoolState(c10::DeviceIndex,
                                                  std::shared_ptr<caching::AllocatorState>) override {
    unasked();
  }
  std::string name() override { return "parity"; }

private:
  [[noreturn]] static void unasked() {
    give_up("a pool's source", "was asked for something else than memory");
  }
  uint64_t next_, end_;
};

/* ---- beginning */

class FreeMemory final : public c10::FreeMemoryCallback {
public:
  bool Execute() override { return parity_free_memory(&parity_peer); }
};

void make_streams() {
  peer.streams.push_back(c10::cuda::getDefaultCUDAStream(0));
  for (int i = 1; i < 5; i++) peer.streams.push_back(c10::cuda::getStreamFromPool(false, 0));
  while (peer.streams.size() < PARITY_STREAMS) {
    cudaStream_t made = nullptr;
    must(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "a stream");
    peer.streams.push_back(c10::cuda::getStreamFromExternal(made, 0));
  }
}

void begin(const parity_start *start) {
  setenv("VRAMSCOPE_SIM_GPU", start->gpu, 1);
  setenv("VRAMSCOPE_SIM_EVENTS", start->events_at_sync ? "at-sync" : "at-once", 1);
  c10::SetStackTraceFetcher([] { return c10::Backtrace(); });
  c10::WarningUtils::set_warning_handler(&peer.silence);
  FLAGS_caffe2_log_level = 3; // its log too
  c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
  const std::string settings = start->settings;
  if (guarded([&] {
        if (!settings.empty()) c10::CachingAllocator::setAllocatorSettings(settings);
        peer.allocator = caching::get();
        peer.allocator->init(1);
        c10::cuda::detail::init_p2p_access_cache(1);
      }) != PARITY_DONE)
    give_up(start->settings, peer.message.c_str());
  make_streams();
  for (auto &mark : peer.marks) must(cudaEventCreateWithFlags(&mark, cudaEventDisableTiming), "an event");
  must(cudaMalloc(&peer.anchor, 2 << 20), "the anchor");
  if (peer.allocator->name() == "cudaMallocAsync") return;
  peer.allocator->attachAllocatorTraceTracker(hear);
  if (start->contexts != PARITY_CONTEXTS_NEVER)
    peer.allocator->recordHistory(true, gather, 1,
                                  start->contexts == PARITY_CONTEXTS_ALL ? caching::RecordContext::ALL
                                                                         : caching::RecordContext::ALLOC,
                                  false, {});
}

uint64_t stream(uint32_t which, uint64_t *hash) {
  const auto &found = peer.streams[which];
  *hash = std::hash<c10::cuda::CUDAStream>{}(found);
  return number(found.stream());
}

void context(uint32_t number) { peer.context = number; }

/* ---- allocation */

parity_result alloc(uint32_t slot, uint64_t size, uint32_t which, uint64_t *address) {
  *address = 0;
  return guarded([&] {
    c10::cuda::setCurrentCUDAStream(peer.streams[which]);
    peer.slots[slot] = peer.allocator->allocate(size);
    *address = number(peer.slots[slot].get());
  });
}

parity_result free_slot(uint32_t slot) {
  return guarded([&] {
    void *address = peer.slots[slot].release_context(); // a deleter must not throw
    if (address != nullptr) peer.allocator->raw_delete(address);
  });
}

parity_result record(uint32_t slot, uint32_t which) {
  return guarded([&] { peer.allocator->recordStream(peer.slots[slot], peer.streams[which]); });
}

parity_result base(uint32_t slot, uint64_t *begins, uint64_t *size) {
  return guarded([&] {
    size_t bytes = 0;
    *begins = number(peer.allocator->getBaseAllocation(peer.slots[slot].get(), &bytes));
    *size = bytes;
  });
}

parity_result empty(const uint64_t *pool) {
  return guarded([&] { peer.allocator->emptyCache(id_of(pool)); });
}

parity_result fraction(double value) {
  return guarded([&] { peer.allocator->setMemoryFraction(value, 0); });
}

parity_result settings(const char *text) {
  return guarded([&] { c10::CachingAllocator::setAllocatorSettings(text); });
}

parity_result stream_class(uint32_t which, const char *name) {
  return guarded([&] { caching::setExpandableSegmentReserveClassForStream(peer.streams[which], name); });
}

void reset_peak() { peer.allocator->resetPeakStats(0); }
void reset_totals() { peer.allocator->resetAccumulatedStats(0); }

/* ---- pools and captures */

parity_result pool_retain(const uint64_t *pool, uint64_t bytes) {
  return guarded([&] {
    std::shared_ptr<caching::CUDAAllocator> source;
    if (bytes != 0) source = std::make_shared<Source>(UINT64_C(0x700000000000) + (pool[1] << 40), bytes);
    peer.allocator->createOrIncrefPool(0, id_of(pool), source);
  });
}

parity_result pool_release(const uint64_t *pool) {
  return guarded([&] { peer.allocator->releasePool(0, id_of(pool)); });
}

parity_result lend(const uint64_t *pool, bool on) {
  return guarded([&] { peer.allocator->setUseOnOOM(0, id_of(pool), on); });
}

parity_result no_split(const uint64_t *pool) {
  return guarded([&] { peer.allocator->setNoSplit(0, id_of(pool)); });
}

int64_t users(const uint64_t *pool) { return peer.allocator->getPoolUseCount(0, id_of(pool)); }

parity_result route_begin(const uint64_t *pool, int32_t only) {
  std::function<bool(cudaStream_t)> filter = [](cudaStream_t) { return true; };
  if (only >= 0) {
    const cudaStream_t wanted = peer.streams[static_cast<size_t>(only)].stream();
    filter = [wanted](cudaStream_t which) { return which == wanted; };
  } else if (only == -2) {
    const unsigned long long capture = peer.next_capture + 1;
    filter = [capture](cudaStream_t which) {
      cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
      unsigned long long now = 0;
      must(cudaStreamGetCaptureInfo(which, &status, &now, nullptr, nullptr, nullptr, nullptr),
           "capture info");
      return status == cudaStreamCaptureStatusActive && now == capture;
    };
  }
  return guarded([&] { peer.allocator->beginAllocateToPool(0, id_of(pool), filter); });
}

parity_result route_end(const uint64_t *pool) {
  return guarded([&] { peer.allocator->endAllocateToPool(0, id_of(pool)); });
}

parity_result capture_begin(uint32_t which) {
  const parity_result result =
      cuda(cudaStreamBeginCapture(peer.streams[which], cudaStreamCaptureModeRelaxed));
  if (result == PARITY_DONE) {
    peer.next_capture++;
    peer.allocator->markCaptureBegin(0);
  }
  return result;
}

parity_result capture_end(uint32_t which) {
  cudaGraph_t graph = nullptr;
  const parity_result result = cuda(cudaStreamEndCapture(peer.streams[which], &graph));
  if (graph != nullptr) must(cudaGraphDestroy(graph), "a graph's end");
  peer.allocator->markCaptureEnd(0);
  return result;
}

/* ---- what the program does beside */

parity_result work(uint32_t which) { return cuda(cudaMemsetAsync(peer.anchor, 0, 512, peer.streams[which])); }

parity_result mark(uint32_t which, uint32_t on) {
  return cuda(cudaEventRecord(peer.marks[which], peer.streams[on]));
}

parity_result wait(uint32_t which, uint32_t on) {
  return cuda(cudaStreamWaitEvent(peer.streams[which], peer.marks[on], 0));
}

parity_result synchronize(int32_t which) {
  return cuda(which < 0 ? cudaDeviceSynchronize()
                        : cudaStreamSynchronize(peer.streams[static_cast<size_t>(which)]));
}

parity_result weigh(uint32_t which, uint64_t size) { return cuda(cudaMalloc(&peer.weights[which], size)); }
parity_result unweigh(uint32_t which) { return cuda(cudaFree(peer.weights[which])); }

/* ---- what there is */

void memory(uint64_t *free_bytes, uint64_t *total_bytes) {
  size_t free_now = 0, total = 0;
  must(cudaMemGetInfo(&free_now, &total), "memory info");
  *free_bytes = free_now;
  *total_bytes = total;
}

parity_stat stat(const c10::CachingAllocator::Stat &from) {
  return {from.current, from.peak, from.allocated, from.freed};
}

void statistics(parity_statistics *out) {
  const auto now = peer.allocator->getDeviceStats(0);
  const c10::CachingAllocator::StatArray *groups[] = {
      &now.allocation,     &now.allocated_bytes,      &now.active,  &now.active_bytes,  &now.requested_bytes,
      &now.inactive_split, &now.inactive_split_bytes, &now.segment, &now.reserved_bytes};
  for (int g = 0; g < PARITY_GROUPS; g++)
    for (int p = 0; p < PARITY_PARTS; p++) out->group[g][p] = stat((*groups[g])[static_cast<size_t>(p)]);
  out->oversize[0] = stat(now.oversize_allocations);
  out->oversize[1] = stat(now.oversize_segments);
  const int64_t counters[] = {now.num_alloc_retries, now.num_ooms,        now.num_sync_all_streams,
                              now.num_device_alloc,  now.num_device_free, now.num_oom_rejections,
                              now.max_split_size};
  std::copy(std::begin(counters), std::end(counters), out->counter);
  out->pool_count = 0;
  for (const auto &[id, parts] : now.reserved_bytes_by_private_pools) {
    parity_private &row = out->pool[out->pool_count++];
    row.pool[0] = id.first;
    row.pool[1] = id.second;
    for (int p = 0; p < PARITY_PARTS; p++) row.part[p] = stat(parts[static_cast<size_t>(p)]);
  }
  std::sort(out->pool, out->pool + out->pool_count, [](const parity_private &a, const parity_private &b) {
    return std::pair(a.pool[0], a.pool[1]) < std::pair(b.pool[0], b.pool[1]);
  });
}

void add_segment(const caching::SegmentInfo &segment) {
  parity_row row = {};
  row.is_segment = true;
  row.address = segment.address;
  row.size = segment.total_size;
  row.requested = segment.requested_size;
  row.context = context_of(segment.context_when_allocated);
  row.allocated = segment.allocated_size;
  row.active = segment.active_size;
  row.stream = number(segment.stream);
  row.pool[0] = segment.owner_private_pool_id.first;
  row.pool[1] = segment.owner_private_pool_id.second;
  row.is_small = !segment.is_large;
  row.is_expandable = segment.is_expandable;
  row.registration = segment.registration_counter;
  peer.rows.push_back(row);
  uint64_t address = segment.address;
  for (const auto &block : segment.blocks) {
    parity_row part = {};
    part.address = address;
    part.size = block.size;
    part.requested = block.requested_size;
    part.state = block.allocated ? 0 : block.active ? 1 : 2;
    part.context = context_of(block.context_when_allocated);
    peer.rows.push_back(part);
    address += block.size;
  }
}

parity_result snapshot(const uint64_t *pool, const parity_row **rows, uint64_t *count) {
  peer.rows.clear();
  const parity_result result = guarded([&] {
    auto taken = peer.allocator->snapshot(id_of(pool), false);
    std::sort(taken.segments.begin(), taken.segments.end(),
              [](const auto &a, const auto &b) { return a.address < b.address; });
    for (const auto &segment : taken.segments) add_segment(segment);
  });
  *rows = peer.rows.data();
  *count = peer.rows.size();
  return result;
}

const char *message() { return peer.message.c_str(); }

uint64_t events(const parity_event **out) {
  static std::vector<parity_event> handed;
  handed.swap(peer.events);
  peer.events.clear();
  *out = handed.data();
  return handed.size();
}

const char *check() { return nullptr; }

} // namespace

namespace c10 {
C10_REGISTER_CLASS(FreeCudaMemoryCallbacksRegistry, parity_free_memory_callback, FreeMemory);
}

const parity_side parity_peer = {
    "PyTorch",     begin,        stream,     context,  alloc,        free_slot,   record,
    base,          empty,        fraction,   settings, stream_class, reset_peak,  reset_totals,
    pool_retain,   pool_release, lend,       no_split, users,        route_begin, route_end,
    capture_begin, capture_end,  work,       mark,     wait,         synchronize, weigh,
    unweigh,       memory,       statistics, snapshot, message,      events,      check,
};
