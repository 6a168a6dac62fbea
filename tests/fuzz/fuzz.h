/* What a fuzz target defines: give it any bytes, it returns 0 and breaks nothing. The harness is libFuzzer (preset fuzz)
 * or regression_main.c (every other build). */
#ifndef VS_TESTS_FUZZ_H
#define VS_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
