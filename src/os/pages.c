#include "os/pages.h"
#include <sys/mman.h>
#include <unistd.h>

vs_status vs_pages_map(size_t size, vs_pages_use use, void **pages) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  flags |= use == VS_PAGES_READY ? MAP_POPULATE : MAP_NORESERVE;
  void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  *pages = mapped == MAP_FAILED ? NULL : mapped;
  return mapped == MAP_FAILED ? VS_NO_MEMORY : VS_OK;
}

void vs_pages_unmap(void *pages, size_t size) {
  if (pages != NULL) (void)munmap(pages, size);
}

void vs_pages_release(void *memory, size_t size) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)memory;
  const uintptr_t from = (begin + page - 1) / page * page, to = (begin + size) / page * page;
  if (from < to) (void)madvise((char *)memory + (from - begin), to - from, MADV_DONTNEED);
}
