/* Our sides of the comparison; `none` does nothing, and so says what the harness takes itself. */
#include "sides.h"

#include <stddef.h>

static void none_begin(const bench_options *options) { (void)options; }
static uint64_t none_alloc(uint64_t bytes, uint32_t stream) { return bytes + stream; }
static void none_free(uint64_t address) { (void)address; }

int main(int argc, char **argv) {
  static const bench_side none = {"none", none_begin, none_alloc, none_free, NULL, NULL};
  static const bench_side *const sides[] = {&bench_bare, &bench_live, &none, NULL};
  return bench_main(argc, argv, sides);
}
