/* System calls of Linux that the C library has functions for only since glibc 2.25 to 2.28. They are called by number, so
 * that a binary also runs with glibc 2.17. All of them are in Linux 3.17; an older kernel fails with ENOSYS. */
#ifndef VS_OS_KERNEL_H
#define VS_OS_KERNEL_H

#include <vramscope/base.h>

/* Fills `bytes` with the kernel's random numbers. `may_wait`: for as long as the kernel, just started, has none that are
 * safe for a secret; otherwise it fails then. At most 256 bytes, so that no signal interrupts it. */
bool vs_kernel_random(void *bytes, size_t size, bool may_wait);

/* A file in memory without a name in a file system, closed in programs that this one starts. -1 and errno if that fails. */
int vs_kernel_memory_file(const char *name);

/* Renames a file, and fails with EEXIST if `to` exists. EINVAL if the file system cannot check that. 0 or an errno. */
int vs_kernel_rename_new(const char *from, const char *to);

#endif
