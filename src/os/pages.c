#include "os/pages.h"
#include "os/loader.h"
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

/* ---- pages of files */

typedef struct range {
  uintptr_t from, size;
} range;

static bool contains(const struct dl_phdr_info *info, const ElfW(Phdr) * header, const range *r) {
  const uintptr_t start = info->dlpi_addr + header->p_vaddr;
  return r->from >= start && r->from - start <= header->p_filesz &&
         r->size <= header->p_filesz - (r->from - start);
}

/* 1, which ends the visit: the range is in a segment of this program or library that cannot be written. */
static int is_read_only(struct dl_phdr_info *info, size_t size, void *range_of) {
  (void)size;
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type == PT_LOAD && (header->p_flags & PF_W) == 0 && contains(info, header, range_of))
      return 1;
  }
  return 0;
}

void vs_pages_release_file(const void *bytes, size_t size) {
  range wanted = {.from = (uintptr_t)bytes, .size = size};
  if (vs_loader_visit(is_read_only, &wanted) != 0) vs_pages_release((void *)(uintptr_t)bytes, size);
}
