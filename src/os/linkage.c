/* The parts of loaded libraries, and their linkage tables: the words through which a library calls functions of others. */
#include "os/library.h"
#include "os/loader.h"
#include <elf.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { CALL_SLOT = R_X86_64_JUMP_SLOT, DATA_SLOT = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { CALL_SLOT = R_AARCH64_JUMP_SLOT, DATA_SLOT = R_AARCH64_GLOB_DAT };
#else
enum { CALL_SLOT = -1, DATA_SLOT = -1 };
#endif

typedef struct linkage {
  uint64_t inside;
  const char *name;
  const void *function;
  vs_library_slots *slots; /* may be NULL */
  size_t changed;
  /* of the library */
  uint64_t base, relro, relro_end;
  const ElfW(Sym) * symbols;
  const char *strings;
  const ElfW(Rela) * tables[2];
  size_t bytes[2];
} linkage;

/* glibc has made the addresses in the dynamic section absolute already; others leave them relative. */
static uint64_t absolute(const linkage *l, uint64_t address) {
  return address < l->base ? address + l->base : address;
}

static void read_dynamic(linkage *l, const ElfW(Dyn) * entry) {
  bool is_rela = true;
  for (; entry->d_tag != DT_NULL; entry++) {
    const uint64_t address = absolute(l, entry->d_un.d_ptr);
    switch (entry->d_tag) {
      case DT_SYMTAB: l->symbols = (const ElfW(Sym) *)address; break;
      case DT_STRTAB: l->strings = (const char *)address; break;
      case DT_JMPREL: l->tables[0] = (const ElfW(Rela) *)address; break;
      case DT_PLTRELSZ: l->bytes[0] = entry->d_un.d_val; break;
      case DT_PLTREL: is_rela = entry->d_un.d_val == DT_RELA; break;
      case DT_RELA: l->tables[1] = (const ElfW(Rela) *)address; break;
      case DT_RELASZ: l->bytes[1] = entry->d_un.d_val; break;
      default: break;
    }
  }
  if (!is_rela) l->tables[0] = NULL;
}

static bool store(const vs_library_slot *slot, const void *value) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = (uint64_t)(uintptr_t)slot->at & ~(page - 1);
  void *memory;
  memcpy(&memory, &start, sizeof memory);
  if (slot->is_read_only && mprotect(memory, page, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store(slot->at, (void **)&value, __ATOMIC_RELEASE);
  if (slot->is_read_only) (void)mprotect(memory, page, PROT_READ);
  return true;
}

/* The loader makes some pages read-only once it has relocated them. */
static bool change(const linkage *l, uint64_t address) {
  vs_library_slots *kept = l->slots;
  vs_library_slot slot = {.function = l->function,
                          .is_read_only = address >= l->relro && address < l->relro_end};
  memcpy(&slot.at, &address, sizeof slot.at);
  slot.before = __atomic_load_n(slot.at, __ATOMIC_ACQUIRE);
  if (kept != NULL && kept->count == VS_LIBRARY_MOST_SLOTS) return false;
  if (!store(&slot, l->function)) return false;
  if (kept != NULL) kept->slots[kept->count++] = slot;
  return true;
}

static void change_table(linkage *l, const ElfW(Rela) * rows, size_t bytes) {
  for (size_t i = 0; rows != NULL && i < bytes / sizeof *rows; i++) {
    const int type = (int)ELF64_R_TYPE(rows[i].r_info);
    if (type != CALL_SLOT && type != DATA_SLOT) continue;
    const ElfW(Sym) *symbol = &l->symbols[ELF64_R_SYM(rows[i].r_info)];
    if (strcmp(l->strings + symbol->st_name, l->name) == 0 && change(l, l->base + rows[i].r_offset))
      l->changed++;
  }
}

/* The bytes from `address` to the end of the loaded part that contains it; 0: none does. */
static uint64_t bytes_from(const struct dl_phdr_info *info, uint64_t address) {
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    const uint64_t start = info->dlpi_addr + header->p_vaddr;
    if (header->p_type == PT_LOAD && (header->p_flags & PF_R) != 0 && address >= start &&
        address - start < header->p_memsz)
      return header->p_memsz - (address - start);
  }
  return 0;
}

static int visit(struct dl_phdr_info *info, size_t size, void *ctx) {
  linkage *l = ctx;
  (void)size;
  if (bytes_from(info, l->inside) == 0) return 0;
  const ElfW(Dyn) *dynamic = NULL;
  l->base = info->dlpi_addr;
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type == PT_DYNAMIC) dynamic = (const ElfW(Dyn) *)(l->base + header->p_vaddr);
    if (header->p_type != PT_GNU_RELRO) continue;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    l->relro = (l->base + header->p_vaddr) & ~(page - 1);
    l->relro_end = (l->base + header->p_vaddr + header->p_memsz) & ~(page - 1);
  }
  if (dynamic != NULL) read_dynamic(l, dynamic);
  if (l->symbols == NULL || l->strings == NULL) return 1;
  for (size_t i = 0; i < 2; i++) change_table(l, l->tables[i], l->bytes[i]);
  return 1;
}

size_t vs_library_redirect(const void *inside, const char *name, const void *function,
                           vs_library_slots *changed) {
  linkage l = {.inside = (uint64_t)(uintptr_t)inside, .name = name, .function = function, .slots = changed};
  (void)vs_loader_visit(visit, &l);
  return l.changed;
}

bool vs_library_restore(vs_library_slots *changed) {
  size_t left = 0;
  for (size_t i = 0; i < changed->count; i++) {
    const vs_library_slot *slot = &changed->slots[i];
    const bool is_ours = __atomic_load_n(slot->at, __ATOMIC_ACQUIRE) == slot->function;
    if (!is_ours || !store(slot, slot->before)) changed->slots[left++] = *slot;
  }
  changed->count = left;
  return left == 0;
}

/* ---- where libraries are */

typedef struct search {
  const char *file;
  const void *inside;
} search;

static int look(struct dl_phdr_info *info, size_t size, void *ctx) {
  search *s = ctx;
  const char *slash = info->dlpi_name == NULL ? NULL : strrchr(info->dlpi_name, '/');
  (void)size;
  if (slash == NULL || strcmp(slash + 1, s->file) != 0) return 0;
  for (size_t i = 0; i < info->dlpi_phnum && s->inside == NULL; i++) {
    const uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type == PT_LOAD) memcpy(&s->inside, &start, sizeof s->inside);
  }
  return s->inside != NULL;
}

const void *vs_library_inside(const char *file) {
  search s = {.file = file};
  (void)vs_loader_visit(look, &s);
  return s.inside;
}

typedef struct extent {
  uint64_t address, bytes;
} extent;

static int measure(struct dl_phdr_info *info, size_t size, void *ctx) {
  extent *e = ctx;
  (void)size;
  e->bytes = bytes_from(info, e->address);
  return e->bytes != 0;
}

size_t vs_library_bytes_from(const void *address) {
  extent e = {.address = (uint64_t)(uintptr_t)address};
  (void)vs_loader_visit(measure, &e);
  return (size_t)e.bytes;
}
