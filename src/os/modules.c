#include "os/modules.h"
#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

typedef struct visit_state {
  vs_status (*visit)(void *ctx, const vs_module *module);
  void *ctx;
  vs_status status;
  bool is_first; /* the program itself, which the loader lists without a name */
  char program[4096];
} visit_state;

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

static int visit_one(struct dl_phdr_info *info, size_t size, void *ctx) {
  (void)size;
  visit_state *state = ctx;
  const char *name = info->dlpi_name == NULL ? "" : info->dlpi_name;
  vs_module module = {.path = state->is_first && *name == 0 ? state->program : name, .base = info->dlpi_addr};
  if (*module.path != '/' && !state->is_first) module.path = ""; /* linux-vdso.so.1 */
  state->is_first = false;
  read_headers(info, &module);
  if (module.end == 0) return 0;
  state->status = state->visit(state->ctx, &module);
  return state->status != VS_OK;
}

vs_status vs_modules_visit(vs_status (*visit)(void *ctx, const vs_module *module), void *ctx) {
  visit_state state = {.visit = visit, .ctx = ctx, .is_first = true};
  const ssize_t size = readlink("/proc/self/exe", state.program, sizeof state.program - 1);
  state.program[size < 0 ? 0 : size] = 0;
  (void)dl_iterate_phdr(visit_one, &state);
  return state.status;
}

static int read_version(struct dl_phdr_info *info, size_t size, void *ctx) {
  if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
    *(uint64_t *)ctx = info->dlpi_adds + info->dlpi_subs;
  return 1; /* the counters are the same for all modules: stop at the first */
}

uint64_t vs_modules_version(void) {
  uint64_t version = 0;
  (void)dl_iterate_phdr(read_version, &version);
  return version;
}
