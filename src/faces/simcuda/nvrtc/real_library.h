/* The real NVRTC, which our library of the same name hides. It compiles on the CPU and needs no driver, so all
 * calls are forwarded to it. */
#ifndef VS_SIMCUDA_NVRTC_REAL_H
#define VS_SIMCUDA_NVRTC_REAL_H

/* A function of the real library; NULL if there is no library, or if it has no such function. The library is
 * loaded at the first call: the first one with our own soname that loads
 *   0. the file that the program opened by its path (vs_simcuda_told_nvrtc)
 *   1. in LD_LIBRARY_PATH        2. in nvidia/.../lib of each site-packages that contains a loaded library
 *   3. in CUDA_HOME, CUDA_PATH   4. in /usr/local/cuda...  5. in the system's folders */
void *vs_nvrtc_real(const char *name);

#endif
