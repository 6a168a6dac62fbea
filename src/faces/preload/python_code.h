/* CPython's objects as they lie in memory: code, text, the table of lines. The layout is that of one version. */
#ifndef VS_PRELOAD_PYTHON_CODE_H
#define VS_PRELOAD_PYTHON_CODE_H

#include <string.h>
#include <vramscope/base.h>

typedef struct vs_python_layout {
  int major, minor;
  int thread_frames, current_frame;
  int frame_code, frame_tags, frame_outside, frame_instruction, frame_owner;
  int code_first_line, code_file, code_name, code_lines, code_first_traceable, code_instructions;
  int ascii_size, text_size;
} vs_python_layout;

/* Offsets that all versions have. */
enum {
  PYTHON_TYPE = 8,        /* of an object */
  PYTHON_LENGTH = 16,     /* of code in instructions, of bytes, and of text */
  PYTHON_TEXT_STATE = 32, /* of text: its form */
  PYTHON_BYTES = 32,      /* of bytes: the first one */
  PYTHON_INSTRUCTION = 2, /* bytes of one */
  PYTHON_OWNER_GENERATOR = 1,
};

static inline uint64_t vs_python_word(uint64_t object, int offset) {
  uint64_t word;
  memcpy(&word, (const void *)(uintptr_t)(object + (uint64_t)(int64_t)offset), sizeof word);
  return word;
}

static inline int32_t vs_python_int(uint64_t object, int offset) {
  int32_t value;
  memcpy(&value, (const void *)(uintptr_t)(object + (uint64_t)(int64_t)offset), sizeof value);
  return value;
}

/* The line of the instruction `at` (in bytes) of a code object; -1: it has none, or the table is not one. */
int vs_python_line(const vs_python_layout *layout, uint64_t code, uint64_t at);

/* Text as UTF-8, truncated to whole characters: bytes written, at most `capacity`. */
size_t vs_python_text(const vs_python_layout *layout, uint64_t text, char *to, size_t capacity);

/* Whether the text has a form that vs_python_text reads. */
bool vs_python_is_text(uint64_t text);

/* The form of text: bytes of a character, whether it stands behind its header, whether it is ASCII. */
enum { PYTHON_KIND_SHIFT = 2, PYTHON_KIND = 7, PYTHON_COMPACT = 1 << 5, PYTHON_ASCII = 1 << 6 };

/* Hashes of all characters, and of all bytes. */
uint64_t vs_python_text_hash(const vs_python_layout *layout, uint64_t text);
uint64_t vs_python_bytes_hash(uint64_t bytes);

#endif
