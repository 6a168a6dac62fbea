/* A case: what a run starts with, and a list of operations. As text (`parity --replay`):
 *
 *   gpu RTX4090:2GiB
 *   events at-sync
 *   contexts all
 *   settings expandable_segments:True
 *   text 0 max_split_size_mb:64          what the operation `settings text=0` applies
 *   alloc slot=3 stream=1 bytes=1048576
 *   free slot=3                          # anything behind a number sign is left out */
#ifndef PARITY_CASE_H
#define PARITY_CASE_H

#include "side.h"

#include <string>
#include <vector>

namespace parity {

enum Kind : uint16_t {
#define PARITY_OPERATION(name, word, a, b, c) name,
#include "operations.def"
#undef PARITY_OPERATION
  KINDS
};

struct Operation {
  Kind kind;
  uint16_t a = 0, b = 0;
  uint64_t c = 0;
};

struct Case {
  std::string gpu = "RTX4090:2GiB", settings;
  bool events_at_sync = false;
  parity_contexts contexts = PARITY_CONTEXTS_NEVER;
  std::vector<std::string> texts;
  std::vector<Operation> operations;

  parity_start start() const { return {gpu.c_str(), settings.c_str(), events_at_sync, contexts}; }
};

std::string to_text(const Operation &operation);
std::string to_text(const Case &which);

/* Throws std::runtime_error with the line that makes no sense. */
Case from_text(const std::string &text);

} // namespace parity

#endif
