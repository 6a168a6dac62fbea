/* Cases from a number: what programs do (training, varying length, serving, graphs) and what none does
 * (random). */
#ifndef PARITY_GENERATE_H
#define PARITY_GENERATE_H

#include "case.h"

namespace parity {

enum class Pattern { TRAIN, VARYING, SERVE, GRAPHS, RANDOM };
const char *name_of(Pattern pattern);

/* Settings that a run can begin with: each alone first, then every two that can stand together. */
struct Setting {
  std::string text;
  bool is_pair;
};
const std::vector<Setting> &all_settings();

/* `count` operations, about. */
Case generate(Pattern pattern, const std::string &settings, uint64_t seed, uint64_t count);

} // namespace parity

#endif
