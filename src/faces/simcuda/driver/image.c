#include "faces/simcuda/driver/image.h"

#include "base/check.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
  MACHINE_CUDA = 190,
  USUAL_REGISTERS = 32,
  MOST_KERNEL_NAME = 4096,
};
#define FAT_MAGIC         UINT32_C(0xba55ed50) /* the bytes themselves */
#define FAT_WRAPPER_MAGIC UINT32_C(0x466243b1) /* the struct in which compilers wrap a pointer to them */
#define MOST_IMAGE        (UINT64_C(1) << 32)

/* ---- ELF */

/* Whether `size` bytes at `offset` are inside the image. */
static bool is_inside(const vs_image *image, uint64_t offset, uint64_t size) {
  return offset <= image->size && size <= image->size - offset;
}

static Elf64_Ehdr header_of(const uint8_t *bytes) {
  Elf64_Ehdr header;
  memcpy(&header, bytes, sizeof header);
  return header;
}

static bool section_at(const vs_image *image, uint32_t i, Elf64_Shdr *section) {
  VS_ASSERT(image->kind == VS_IMAGE_ELF && image->bytes != NULL);
  const Elf64_Ehdr header = header_of(image->bytes);
  const uint64_t offset = header.e_shoff + (uint64_t)i * sizeof *section;
  if (i >= header.e_shnum || !is_inside(image, offset, sizeof *section)) return false;
  memcpy(section, image->bytes + offset, sizeof *section);
  return true;
}

/* The string at `offset` of a string table; NULL if it is outside or not terminated. */
static const char *string_at(const vs_image *image, uint32_t table, uint32_t offset) {
  Elf64_Shdr section;
  if (!section_at(image, table, &section) || !is_inside(image, section.sh_offset, section.sh_size))
    return NULL;
  if (offset >= section.sh_size) return NULL;
  const char *text = (const char *)image->bytes + section.sh_offset + offset;
  return memchr(text, 0, section.sh_size - offset) == NULL ? NULL : text;
}

static const char *section_name(const vs_image *image, const Elf64_Shdr *section) {
  return string_at(image, header_of(image->bytes).e_shstrndx, section->sh_name);
}

/* The section called prefix + name. */
static bool section_find(const vs_image *image, const char *prefix, const char *name, size_t name_size,
                         Elf64_Shdr *section) {
  const size_t prefix_size = strlen(prefix);
  for (uint32_t i = 0; section_at(image, i, section); i++) {
    const char *is = section_name(image, section);
    if (is != NULL && strncmp(is, prefix, prefix_size) == 0 && strlen(is + prefix_size) == name_size &&
        memcmp(is + prefix_size, name, name_size) == 0)
      return true;
  }
  return false;
}

/* The length of a cubin by its own header: the end of the section table or of the last section. */
static uint64_t elf_size(const uint8_t *bytes) {
  const Elf64_Ehdr header = header_of(bytes);
  uint64_t end = header.e_shoff + (uint64_t)header.e_shnum * sizeof(Elf64_Shdr);
  const uint64_t segments = header.e_phoff + (uint64_t)header.e_phnum * header.e_phentsize;
  if (header.e_shoff > MOST_IMAGE || header.e_phoff > MOST_IMAGE) return 0;
  if (segments > end) end = segments;
  for (uint32_t i = 0; i < header.e_shnum; i++) {
    Elf64_Shdr section;
    memcpy(&section, bytes + header.e_shoff + i * sizeof section, sizeof section);
    if (section.sh_type == SHT_NOBITS) continue;
    if (section.sh_offset > MOST_IMAGE || section.sh_size > MOST_IMAGE) return 0;
    if (section.sh_offset + section.sh_size > end) end = section.sh_offset + section.sh_size;
  }
  return end;
}

static bool is_elf(const uint8_t *bytes) {
  if (memcmp(bytes, ELFMAG, SELFMAG) != 0 || bytes[EI_CLASS] != ELFCLASS64) return false;
  const Elf64_Ehdr header = header_of(bytes);
  return header.e_machine == MACHINE_CUDA &&
         (header.e_shnum == 0 || header.e_shentsize == sizeof(Elf64_Shdr));
}

/* A kernel is a code section with its name; the high byte of sh_info is its number of registers. */
static bool elf_kernel(const vs_image *image, const Elf64_Shdr *section, vs_image_kernel *kernel) {
  static const char prefix[] = ".text.";
  const char *name = section_name(image, section);
  if (name == NULL || section->sh_type != SHT_PROGBITS || strncmp(name, prefix, sizeof prefix - 1) != 0)
    return false;
  *kernel = (vs_image_kernel){.name = name + sizeof prefix - 1, .registers = section->sh_info >> 24};
  kernel->name_size = strlen(kernel->name);
  Elf64_Shdr shared;
  if (section_find(image, ".nv.shared.", kernel->name, kernel->name_size, &shared))
    kernel->shared_bytes = shared.sh_size;
  if (kernel->registers == 0) kernel->registers = USUAL_REGISTERS;
  VS_ASSERT(is_inside(image, (uint64_t)(kernel->name - (const char *)image->bytes), kernel->name_size));
  return true;
}

static bool elf_kernel_at(const vs_image *image, uint32_t wanted, vs_image_kernel *kernel) {
  Elf64_Shdr section;
  for (uint32_t i = 0; section_at(image, i, &section); i++)
    if (elf_kernel(image, &section, kernel) && wanted-- == 0) return true;
  return false;
}

static bool elf_variable(const vs_image *image, const char *name, uint64_t *size) {
  Elf64_Shdr table;
  for (uint32_t i = 0; section_at(image, i, &table); i++) {
    if (table.sh_type != SHT_SYMTAB || !is_inside(image, table.sh_offset, table.sh_size)) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      memcpy(&symbol, image->bytes + table.sh_offset + at, sizeof symbol);
      const char *is = string_at(image, table.sh_link, symbol.st_name);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || is == NULL || strcmp(is, name) != 0) continue;
      *size = symbol.st_size;
      return symbol.st_size != 0;
    }
  }
  return false;
}

/* ---- PTX: begins with ".version", after comments and blanks */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static const char *skip_comments(const char *text) {
  for (;;) {
    while (is_blank(*text)) text++;
    if (text[0] == '/' && text[1] == '/') {
      while (*text != 0 && *text != '\n') text++;
    } else if (text[0] == '/' && text[1] == '*') {
      const char *end = strstr(text + 2, "*/");
      if (end == NULL) return text;
      text = end + 2;
    } else {
      return text;
    }
  }
}

static bool is_ptx(const char *text) { return strncmp(skip_comments(text), ".version", 8) == 0; }

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

static bool ptx_kernel_at(const vs_image *image, uint32_t wanted, vs_image_kernel *kernel) {
  static const char entry[] = ".entry";
  const char *at = (const char *)image->bytes;
  while ((at = strstr(at, entry)) != NULL) {
    at += sizeof entry - 1;
    if (!is_blank(*at)) continue;
    at = skip_comments(at);
    size_t size = 0;
    while (is_word(at[size])) size++;
    if (size == 0 || wanted-- != 0) continue;
    *kernel = (vs_image_kernel){.name = at, .name_size = size, .registers = USUAL_REGISTERS};
    return true;
  }
  return false;
}

/* ---- all kinds */

static uint32_t word_at(const void *data) {
  uint32_t word;
  memcpy(&word, data, sizeof word);
  return word;
}

static void keep(vs_image *image, vs_image_kind kind, const void *data, uint64_t size) {
  if (size == 0 || size > MOST_IMAGE) return;
  image->bytes = malloc(size);
  if (image->bytes == NULL) return;
  memcpy(image->bytes, data, size);
  image->size = size;
  image->kind = kind;
}

void vs_image_load(vs_image *image, const void *data, uint64_t size) {
  *image = (vs_image){.kind = VS_IMAGE_NONE};
  if (data == NULL || size < 16) return;
  const uint32_t magic = word_at(data);
  if (magic == FAT_MAGIC || magic == FAT_WRAPPER_MAGIC) {
    image->kind = VS_IMAGE_FAT;
  } else if (magic == word_at(ELFMAG)) {
    if (size < sizeof(Elf64_Ehdr) || !is_elf(data)) return;
    const Elf64_Ehdr header = header_of(data);
    if (size != UINT64_MAX &&
        (header.e_shoff > size || header.e_shnum * sizeof(Elf64_Shdr) > size - header.e_shoff))
      return;
    const uint64_t is = elf_size(data);
    if (is <= size) keep(image, VS_IMAGE_ELF, data, is);
  } else if (size != UINT64_MAX ? memchr(data, 0, size) != NULL && is_ptx(data) : is_ptx(data)) {
    keep(image, VS_IMAGE_PTX, data, strlen(data) + 1);
  }
}

void vs_image_free(vs_image *image) {
  free(image->bytes);
  *image = (vs_image){.kind = VS_IMAGE_NONE};
}

bool vs_image_kernel_at(const vs_image *image, uint32_t i, vs_image_kernel *kernel) {
  if (image->kind == VS_IMAGE_ELF) return elf_kernel_at(image, i, kernel);
  return image->kind == VS_IMAGE_PTX && ptx_kernel_at(image, i, kernel);
}

bool vs_image_kernel_find(const vs_image *image, const char *name, vs_image_kernel *kernel) {
  const size_t size = strlen(name);
  if (size == 0 || size > MOST_KERNEL_NAME) return false;
  if (image->kind == VS_IMAGE_FAT) {
    *kernel = (vs_image_kernel){.name = name, .name_size = size, .registers = USUAL_REGISTERS};
    return true;
  }
  for (uint32_t i = 0; vs_image_kernel_at(image, i, kernel); i++)
    if (kernel->name_size == size && memcmp(kernel->name, name, size) == 0) return true;
  return false;
}

bool vs_image_variable(const vs_image *image, const char *name, uint64_t *size) {
  return image->kind == VS_IMAGE_ELF && elf_variable(image, name, size);
}
