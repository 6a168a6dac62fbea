/* The dictionaries of a recording, in the order of writing: each refers only to earlier ones. */
#ifndef VS_TRACEFILE_DICTIONARIES_H
#define VS_TRACEFILE_DICTIONARIES_H

#include <stdint.h>

typedef enum vs_dictionary {
  VS_DICT_STRINGS,
  VS_DICT_TEXTS,
  VS_DICT_MODULES,
  VS_DICT_FRAMES,
  VS_DICT_STACKS,
  VS_DICT_COUNT,
} vs_dictionary;

/* Strings, texts and stacks begin with two entries that are never written: none and empty. */
static inline uint32_t vs_dictionary_first(vs_dictionary dictionary) {
  return dictionary <= VS_DICT_TEXTS || dictionary == VS_DICT_STACKS ? 2 : 0;
}

#endif
