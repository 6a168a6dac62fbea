#include "faces/simcuda/cudart/fatbinary.h"

#define CONTAINER_MAGIC UINT32_C(0xba55ed50)

enum {
  KIND_PTX = 1,
  KIND_CUBIN = 2,
  ENTRY_HEAD_SIZE = 64, /* at least */
  EXACT_ARCHITECTURE = 1 << 20,
  FAMILY_OF_ARCHITECTURE = 1 << 21,
};

static uint64_t read_number(const uint8_t *bytes, unsigned count) {
  uint64_t value = 0;
  for (unsigned i = 0; i < count; i++) value |= (uint64_t)bytes[i] << (8 * i);
  return value;
}

uint64_t vs_fatbinary_size(const void *head) {
  const uint8_t *bytes = head;
  uint64_t size;
  if (read_number(bytes, 4) != CONTAINER_MAGIC) return 0;
  const uint64_t head_size = read_number(bytes + 6, 2);
  if (head_size < VS_FATBINARY_HEAD_SIZE || !vs_add_u64(head_size, read_number(bytes + 8, 8), &size))
    return 0;
  return size;
}

typedef struct fat_device {
  uint32_t major, minor;
} fat_device;

typedef struct fat_entry {
  uint64_t kind, flags;
  uint32_t architecture;
} fat_entry;

static bool code_fits(const fat_entry *code, fat_device on) {
  const uint32_t major = code->architecture / 10, minor = code->architecture % 10;
  const bool is_older = major < on.major || (major == on.major && minor <= on.minor);
  if ((code->flags & EXACT_ARCHITECTURE) != 0) return major == on.major && minor == on.minor;
  if (code->kind == KIND_CUBIN || (code->flags & FAMILY_OF_ARCHITECTURE) != 0)
    return major == on.major && minor <= on.minor;
  return is_older;
}

/* Reads the entry at *at and moves *at to the next one; false if there is no valid entry. */
static bool read_entry(const uint8_t *bytes, uint64_t size, uint64_t *at, fat_entry *code) {
  uint64_t next;
  if (size - *at < ENTRY_HEAD_SIZE) return false;
  const uint8_t *head = bytes + *at;
  const uint64_t head_size = read_number(head + 4, 4);
  if (head_size < ENTRY_HEAD_SIZE || !vs_add_u64(*at, head_size, &next)) return false;
  if (!vs_add_u64(next, read_number(head + 8, 8), &next) || next > size) return false;
  *code = (fat_entry){.kind = read_number(head, 2),
                      .flags = read_number(head + 40, 8),
                      .architecture = (uint32_t)read_number(head + 28, 4)};
  *at = next;
  return true;
}

vs_fatbinary_result vs_fatbinary_choose(const void *data, uint64_t size, uint32_t major, uint32_t minor,
                                        vs_fatbinary_choice *choice) {
  if (size < VS_FATBINARY_HEAD_SIZE || vs_fatbinary_size(data) == 0) return VS_FATBINARY_UNREADABLE;
  size = vs_min_u64(size, vs_fatbinary_size(data));
  uint64_t at = read_number((const uint8_t *)data + 6, 2);
  uint32_t cubin = 0, ptx = 0, seen = 0;
  fat_entry code;
  if (at > size) return VS_FATBINARY_UNREADABLE;
  while (at < size && read_entry(data, size, &at, &code)) {
    if (code.kind != KIND_CUBIN && code.kind != KIND_PTX) continue;
    seen++;
    if (!code_fits(&code, (fat_device){major, minor})) continue;
    uint32_t *best = code.kind == KIND_CUBIN ? &cubin : &ptx;
    if (code.architecture > *best) *best = code.architecture;
  }
  if (cubin != 0) *choice = (vs_fatbinary_choice){.ptx = cubin, .binary = cubin};
  else if (ptx != 0) *choice = (vs_fatbinary_choice){.ptx = ptx, .binary = 10 * major + minor};
  else return seen != 0 && at == size ? VS_FATBINARY_NOTHING_FITS : VS_FATBINARY_UNREADABLE;
  return VS_FATBINARY_CHOSEN;
}
