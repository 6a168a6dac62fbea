/* PyTorch's own allocator, from the libraries of its wheel, on the simulated CUDA that is preloaded. */
#include "measure.h"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Logging.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace c10::cuda::_internal { // what ATen tells it, were it there
C10_CUDA_API void setHasPrimaryContext(bool (*func)(DeviceIndex));
}
namespace c10::cuda::detail {
C10_CUDA_API void init_p2p_access_cache(int64_t num_devices);
}

namespace {

namespace caching = c10::cuda::CUDACachingAllocator;

/* A stack that was not taken: what PyTorch spends on unwinding is not measured. */
struct NoStack : c10::GatheredContext {};

caching::CUDAAllocator *allocator;
std::vector<cudaStream_t> streams;

void keep_history(const char *history) {
  if (std::strcmp(history, "off") == 0) return;
  const bool is_state = std::strcmp(history, "state") == 0;
  if (!is_state && std::strcmp(history, "all") != 0) bench_fail(history, "PyTorch has no such history");
  allocator->recordHistory(
      true, [] { return std::static_pointer_cast<c10::GatheredContext>(std::make_shared<NoStack>()); },
      is_state ? 1 : 100000, is_state ? caching::RecordContext::STATE : caching::RecordContext::ALL, false,
      {});
}

void begin(const bench_options *options) {
  setenv("VRAMSCOPE_SIM_GPU", "H100", 1);
  c10::SetStackTraceFetcher([] { return c10::Backtrace(); });
  c10::cuda::_internal::setHasPrimaryContext([](c10::DeviceIndex) { return true; });
  try {
    if (*options->settings != '\0') c10::CachingAllocator::setAllocatorSettings(options->settings);
    allocator = caching::get();
    allocator->init(1);
    c10::cuda::detail::init_p2p_access_cache(1);
    streams.push_back(nullptr);
    while (streams.size() < BENCH_ALL_STREAMS) {
      cudaStream_t stream = nullptr;
      if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        bench_fail("a stream", "the simulated device refuses");
      streams.push_back(stream);
    }
    keep_history(options->history);
  } catch (const c10::Error &error) {
    bench_fail("PyTorch", error.what_without_backtrace());
  }
}

uint64_t alloc(uint64_t bytes, uint32_t stream) {
  return reinterpret_cast<uint64_t>(allocator->raw_alloc_with_stream(bytes, streams[stream]));
}

void free_address(uint64_t address) { allocator->raw_delete(reinterpret_cast<void *>(address)); }

void end(uint64_t) {
  const auto statistics = allocator->getDeviceStats(0);
  std::printf("reserved %lld\n", static_cast<long long>(statistics.reserved_bytes[0].peak));
  std::fflush(stdout);
  std::_Exit(0); // what static destructors would do is not our matter
}

} // namespace

int main(int argc, char **argv) {
  static const bench_side torch = {"torch", begin, alloc, free_address, nullptr, end};
  static const bench_side *const sides[] = {&torch, nullptr};
  return bench_main(argc, argv, sides);
}
