#include "faces/preload/nvtx_search.h"
#include "os/loader.h"
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
  WORD = 8,
  WORDS = sizeof(nvtx_globals) / WORD,
  CALLBACKS = offsetof(nvtx_globals, callbacks) / WORD,
  VERSION = offsetof(nvtx_globals, version) / WORD,
  FUNCTIONS = offsetof(nvtx_globals, functions) / WORD,
  TABLES = offsetof(nvtx_globals, tables) / WORD,
  COPIED = 1024, /* words of memory that are searched at a time */
};
_Static_assert(sizeof(void *) != WORD || (WORDS == 146 && FUNCTIONS == 6 && TABLES == 70), "NVTX 3's layout");

/* ---- what NVTX's globals look like */

static bool lies_in(uint64_t address, uint64_t size, const vs_nvtx_part *parts, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (address >= parts[i].start && address < parts[i].end && size <= parts[i].end - address) return true;
  return false;
}

static bool is_code(uint64_t address, const vs_nvtx_library *library) {
  return lies_in(address, 1, library->code, library->code_count);
}

/* The tables have the addresses of the functions, one after the other. */
static bool has_tables(const uint64_t *tables, uint64_t function) {
  static const uint8_t entries[NVTX_MODULES] = {NVTX_CORE,   NVTX_CUDA,    NVTX_OPENCL,
                                                NVTX_CUDART, NVTX_DOMAINS, NVTX_SYNC};
  for (size_t module = 0; module < NVTX_MODULES; module++) {
    if (*tables++ != 0) return false;
    for (size_t i = 1; i < entries[module]; i++, function += WORD)
      if (*tables++ != function) return false;
    if (*tables++ != 0) return false;
  }
  return true;
}

/* `words` are a copy of the memory at `address`. */
static bool is_nvtx(const uint64_t *words, uint64_t address, const vs_nvtx_library *library) {
  return words[CALLBACKS] == sizeof(nvtx_callbacks) && words[VERSION] == sizeof(nvtx_version) &&
         words[VERSION + 1] == NVTX_VERSION_3 && (uint32_t)words[0] <= NVTX_COMPLETE &&
         is_code(words[CALLBACKS + 1], library) && is_code(words[VERSION + 2], library) &&
         has_tables(words + TABLES, address + FUNCTIONS * WORD);
}

/* ---- memory */

static void *pointer_to(uint64_t address) {
  void *pointer;
  memcpy(&pointer, &address, sizeof pointer);
  return pointer;
}

/* How many words could be read; below 0: none, and no others either. */
static ptrdiff_t read_words(uint64_t *words, uint64_t address, size_t count) {
  const struct iovec here = {words, count * WORD}, there = {pointer_to(address), count * WORD};
  const ssize_t bytes = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
  if (bytes < 0) return errno == EPERM || errno == ENOSYS ? -1 : 0;
  return (ptrdiff_t)((size_t)bytes / WORD);
}

static uint64_t next_page(uint64_t address) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return (address / page + 1) * page;
}

/* A part is read in pieces, each of which begins before the end of the last one, so that the globals are whole in one of them. */
static bool search_part(const vs_nvtx_library *library, const vs_nvtx_part *part, vs_nvtx_found *found,
                        void *ctx) {
  uint64_t words[COPIED], at = (part->start + WORD - 1) / WORD * WORD;
  while (at < part->end && part->end - at >= sizeof(nvtx_globals)) {
    const uint64_t left = (part->end - at) / WORD;
    const ptrdiff_t count = read_words(words, at, left < COPIED ? (size_t)left : COPIED);
    if (count < 0) return false;
    if (count < WORDS) {
      at = next_page(at + (uint64_t)count * WORD);
      continue;
    }
    for (ptrdiff_t i = 0; i + WORDS <= count; i++)
      if (is_nvtx(words + i, at + (uint64_t)i * WORD, library))
        found(ctx, library, pointer_to(at + (uint64_t)i * WORD));
    at += (uint64_t)(count - WORDS + 1) * WORD;
  }
  return true;
}

bool vs_nvtx_search(const vs_nvtx_library *library, vs_nvtx_found *found, void *ctx) {
  for (size_t i = 0; i < library->data_count; i++)
    if (!search_part(library, &library->data[i], found, ctx)) return false;
  return true;
}

/* ---- loaded libraries */

static void add_part(vs_nvtx_part *parts, size_t *count, uint64_t start, uint64_t end) {
  if (start < end && *count < VS_NVTX_MOST_PARTS) parts[(*count)++] = (vs_nvtx_part){start, end};
}

/* The loader makes the beginning of the data read-only once it has relocated it. */
static void describe(const struct dl_phdr_info *info, vs_nvtx_library *library) {
  uint64_t constant_start = 0, constant_end = 0;
  *library = (vs_nvtx_library){.name = info->dlpi_name == NULL ? "" : info->dlpi_name};
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type != PT_GNU_RELRO) continue;
    constant_start = info->dlpi_addr + header->p_vaddr;
    constant_end = constant_start + header->p_memsz;
  }
  for (size_t i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    uint64_t start = info->dlpi_addr + header->p_vaddr;
    const uint64_t end = start + header->p_filesz;
    if (header->p_type != PT_LOAD || (header->p_flags & PF_R) == 0) continue;
    if ((header->p_flags & PF_X) != 0) add_part(library->code, &library->code_count, start, end);
    if (start == constant_start) start = constant_end;
    if ((header->p_flags & PF_W) != 0) add_part(library->data, &library->data_count, start, end);
  }
}

typedef struct visit {
  vs_nvtx_found *found;
  void *ctx;
  uint64_t searched; /* by an earlier visit */
  uint32_t count;    /* libraries that this one has come to */
  uint64_t now;      /* what the next visit may leave out */
  bool is_refused;
} visit;

/* New libraries come behind the others, as long as none is unloaded. So what was searched is a number of unloaded and one of loaded ones. */
static int search_one(struct dl_phdr_info *info, size_t size, void *ctx) {
  const bool is_told = size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs;
  const uint32_t unloaded = is_told ? (uint32_t)info->dlpi_subs : 0;
  visit *v = ctx;
  vs_nvtx_library library;
  const bool is_new = !is_told || v->searched >> 32 != unloaded || v->count >= (uint32_t)v->searched;
  v->count++;
  v->now = (uint64_t)unloaded << 32 | v->count;
  if (!is_new) return 0;
  describe(info, &library);
  v->is_refused = !vs_nvtx_search(&library, v->found, v->ctx);
  return v->is_refused;
}

bool vs_nvtx_search_all(vs_nvtx_found *found, void *ctx, uint64_t *searched) {
  visit v = {.found = found, .ctx = ctx, .searched = searched == NULL ? 0 : *searched};
  (void)vs_loader_visit(search_one, &v);
  if (searched != NULL) *searched = v.now;
  return !v.is_refused;
}

typedef struct confirmation {
  uint64_t address;
  vs_nvtx_initialize *initialize;
  bool is_there;
} confirmation;

static int confirm(struct dl_phdr_info *info, size_t size, void *ctx) {
  confirmation *c = ctx;
  uint64_t words[WORDS];
  vs_nvtx_library library;
  (void)size;
  describe(info, &library);
  if (!lies_in(c->address, sizeof words, library.data, library.data_count)) return 0;
  c->is_there = read_words(words, c->address, WORDS) == WORDS && is_nvtx(words, c->address, &library);
  if (c->is_there && is_code(words[FUNCTIONS + NVTX_INITIALIZE], &library))
    memcpy(&c->initialize, &words[FUNCTIONS + NVTX_INITIALIZE], sizeof c->initialize);
  return 1;
}

bool vs_nvtx_confirm(const nvtx_globals *globals, vs_nvtx_initialize **initialize) {
  confirmation c = {.address = (uint64_t)(uintptr_t)globals};
  (void)vs_loader_visit(confirm, &c);
  *initialize = c.initialize;
  return c.is_there;
}
