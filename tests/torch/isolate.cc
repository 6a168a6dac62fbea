#include "isolate.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace parity {
namespace {

constexpr unsigned TIMEOUT = 300; // seconds; a case takes less than one

Tally &shared() {
  static Tally *tally = [] {
    void *memory = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::perror("parity"), std::exit(3);
    return static_cast<Tally *>(memory);
  }();
  return *tally;
}

void tell_death(Tally &tally, int status) {
  if (tally.is_different || (WIFEXITED(status) && WEXITSTATUS(status) == 0)) return;
  tally.is_different = true;
  if (WIFSIGNALED(status))
    std::snprintf(tally.what, sizeof tally.what, "  the process died of signal %d\n", WTERMSIG(status));
  else std::snprintf(tally.what, sizeof tally.what, "  the process ended with %d\n", WEXITSTATUS(status));
}

using Operations = std::vector<Operation>;

/* Without [begin, end). */
Operations without(const Operations &all, size_t begin, size_t end) {
  Operations left(all.begin(), all.begin() + static_cast<ptrdiff_t>(begin));
  left.insert(left.end(), all.begin() + static_cast<ptrdiff_t>(end), all.end());
  return left;
}

} // namespace

Tally run_isolated(const Case &which) {
  Tally &tally = shared();
  tally = Tally{};
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) std::perror("parity"), std::exit(3);
  if (child == 0) {
    alarm(TIMEOUT);
    try {
      drive(which, tally);
    } catch (const std::exception &error) {
      tally.is_different = true;
      std::snprintf(tally.what, sizeof tally.what, "  an exception: %s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
  }
  tell_death(tally, status);
  return tally;
}

Case shrink(const Case &failing, Tally &tally, unsigned seconds) {
  using clock = std::chrono::steady_clock;
  const auto end = clock::now() + std::chrono::seconds(seconds);
  Case best = failing;
  if (tally.at + 1 < best.operations.size()) best.operations.resize(tally.at + 1);
  const auto try_it = [&](Operations operations) {
    Case candidate = best;
    candidate.operations = std::move(operations);
    const Tally now = run_isolated(candidate);
    if (!now.is_different) return false;
    best = std::move(candidate);
    tally = now;
    if (tally.at + 1 < best.operations.size()) best.operations.resize(tally.at + 1);
    return true;
  };
  for (size_t chunk = std::max<size_t>(best.operations.size() / 2, 1); clock::now() < end;) {
    bool has_shrunk = false;
    for (size_t at = 0; at < best.operations.size() && clock::now() < end;) {
      const size_t stop = std::min(at + chunk, best.operations.size());
      if (try_it(without(best.operations, at, stop))) has_shrunk = true;
      else at = stop;
    }
    if (chunk == 1 && !has_shrunk) break;
    chunk = std::max<size_t>(chunk / 2, 1);
  }
  tally = run_isolated(best);
  return best;
}

} // namespace parity
