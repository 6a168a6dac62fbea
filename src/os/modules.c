#include "os/modules.h"
#include "base/check.h"
#include "os/loader.h"
#include "os/pages.h"
#include <elf.h>
#include <string.h>
#include <unistd.h>

/* Copies of the modules, one behind the other in pages, so that `visit` is not called under the lock of the loader: it may allocate
 * memory, and the program may be in the middle of a malloc.
 * Invariant: used <= size; is_full: there were more */
typedef struct list {
  uint8_t *pages;
  size_t size, used;
  bool is_full;
  bool is_first; /* the program itself, which the loader lists without a name */
  char program[4096];
} list;

typedef struct entry {
  vs_module module; /* its path is behind it */
  size_t size;      /* with the path, so that the next one is aligned */
} entry;

static size_t padded(size_t size) { return (size + 3) & ~(size_t)3; }

/* A segment of notes: each has a name and data, both padded to 4 bytes. */
static void find_build_id(const uint8_t *notes, size_t size, vs_module *module) {
  ElfW(Nhdr) note;
  while (size >= sizeof note) {
    memcpy(&note, notes, sizeof note);
    const size_t data = sizeof note + padded(note.n_namesz);
    if (note.n_namesz > size || note.n_descsz > size || data + padded(note.n_descsz) > size) return;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + sizeof note, "GNU", 4) == 0 &&
        note.n_descsz <= VS_BUILD_ID_MOST) {
      memcpy(module->build_id, notes + data, note.n_descsz);
      module->build_id_size = note.n_descsz;
      return;
    }
    notes += data + padded(note.n_descsz);
    size -= data + padded(note.n_descsz);
  }
}

/* The loaded segment that contains all bytes of a header. Headers of a file can be wrong, so only loaded bytes are
 * read. */
static bool is_loaded(const struct dl_phdr_info *info, uint64_t address, uint64_t size) {
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type == PT_LOAD && (header->p_flags & PF_R) != 0 && address >= header->p_vaddr &&
        address - header->p_vaddr <= header->p_memsz && size <= header->p_memsz - (address - header->p_vaddr))
      return true;
  }
  return false;
}

static void read_headers(const struct dl_phdr_info *info, vs_module *module) {
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    const uint64_t start = info->dlpi_addr + header->p_vaddr, end = start + header->p_memsz;
    if (header->p_type == PT_LOAD && (header->p_flags & PF_X) != 0) {
      if (module->end == 0 || start < module->start) module->start = start;
      if (end > module->end) module->end = end;
    }
    if (header->p_type == PT_NOTE && module->build_id_size == 0 &&
        is_loaded(info, header->p_vaddr, header->p_memsz))
      find_build_id((const uint8_t *)start, header->p_memsz, module);
  }
}

static void add(list *l, const vs_module *module) {
  const size_t path = strlen(module->path) + 1;
  const entry e = {.module = *module, .size = (sizeof e + path + 15) & ~(size_t)15};
  l->is_full = l->is_full || e.size > l->size - l->used;
  if (l->is_full) return;
  memcpy(l->pages + l->used, &e, sizeof e);
  memcpy(l->pages + l->used + sizeof e, module->path, path);
  l->used += e.size;
}

static int add_one(struct dl_phdr_info *info, size_t size, void *ctx) {
  (void)size;
  list *l = ctx;
  const char *name = info->dlpi_name == NULL ? "" : info->dlpi_name;
  vs_module module = {.path = l->is_first && *name == 0 ? l->program : name, .base = info->dlpi_addr};
  if (*module.path != '/' && !l->is_first) module.path = ""; /* linux-vdso.so.1 */
  l->is_first = false;
  read_headers(info, &module);
  if (module.end != 0) add(l, &module);
  return l->is_full;
}

static vs_status visit_list(const list *l, vs_status (*visit)(void *ctx, const vs_module *module),
                            void *ctx) {
  for (size_t at = 0; at < l->used;) {
    entry e;
    memcpy(&e, l->pages + at, sizeof e);
    e.module.path = (const char *)l->pages + at + sizeof e;
    VS_TRY(visit(ctx, &e.module));
    at += e.size;
  }
  return VS_OK;
}

vs_status vs_modules_visit(vs_status (*visit)(void *ctx, const vs_module *module), void *ctx) {
  enum { FIRST_SIZE = 256 << 10 };
  list l = {.size = FIRST_SIZE, .is_full = true};
  const ssize_t size = readlink("/proc/self/exe", l.program, sizeof l.program - 1);
  l.program[size < 0 ? 0 : size] = 0;
  vs_status status = VS_OK;
  for (; l.is_full; l.size *= 2) {
    void *pages;
    VS_TRY(vs_pages_map(l.size, VS_PAGES_LAZY, &pages));
    l.pages = pages;
    l.used = 0;
    l.is_full = false;
    l.is_first = true;
    (void)vs_loader_visit(add_one, &l);
    if (!l.is_full) status = visit_list(&l, visit, ctx);
    vs_pages_unmap(pages, l.size);
  }
  return status;
}

static int read_version(struct dl_phdr_info *info, size_t size, void *ctx) {
  if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
    *(uint64_t *)ctx = info->dlpi_adds + info->dlpi_subs;
  return 1; /* the counters are the same for all modules: stop at the first */
}

uint64_t vs_modules_version(void) {
  uint64_t version = 0;
  (void)vs_loader_visit(read_version, &version);
  return version;
}
