#include "os/pages.h"
#include <sys/mman.h>

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
