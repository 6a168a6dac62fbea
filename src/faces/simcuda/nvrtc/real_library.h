/* The real NVRTC, behind the one that the program finds. It compiles on the processor and needs no driver, so
 * it works as it is; only its name is taken by our face, which passes everything on. */
#ifndef VS_SIMCUDA_NVRTC_REAL_H
#define VS_SIMCUDA_NVRTC_REAL_H

/* A function of the real library; NULL where there is none, or where it has no such function. Loaded at the
 * first call. A library of our own soname is looked for, and the first that loads is taken:
 *   1. in LD_LIBRARY_PATH        2. in nvidia/.../lib of each site-packages that a loaded library lies in
 *   3. in CUDA_HOME, CUDA_PATH   4. in /usr/local/cuda...  5. in the system's folders */
void *vs_nvrtc_real(const char *name);

#endif
