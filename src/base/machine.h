/* The machine that this is compiled for, and what a build for it does not have.
 *
 * The simulated CUDA and the recorder are loaded into other programs. Both have parts in x86-64's assembly and rely on how functions are
 * called there, so builds for other machines have neither (cmake/Flags.cmake) and say so. */
#ifndef VS_BASE_MACHINE_H
#define VS_BASE_MACHINE_H

#if defined(__x86_64__)
#define VS_HAS_SIMULATED_CUDA 1
#define VS_HAS_RECORDER       1
#else
#define VS_HAS_SIMULATED_CUDA 0
#define VS_HAS_RECORDER       0
#endif

#if defined(__aarch64__)
#define VS_MACHINE "aarch64"
#else
#define VS_MACHINE "another machine"
#endif

#define VS_NO_SIMULATED_CUDA \
  "the simulated GPU needs Linux on x86-64, and this vramscope was built for " VS_MACHINE
#define VS_NO_RECORDER "the recorder needs Linux on x86-64, and this vramscope was built for " VS_MACHINE

#endif
