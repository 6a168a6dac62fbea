/* The files, functions and lines of one side, each once, and what they are told by. */
#ifndef VS_DIFF_PLACES_H
#define VS_DIFF_PLACES_H

#include "diff/features.h"
#include "diff/files.h"

typedef struct vs_place_file {
  uint32_t name; /* string id; VS_STRING_EMPTY for C++ code without lines */
  bool is_user;
} vs_place_file;

typedef struct vs_place_function {
  uint32_t file, name; /* index in files, string id */
} vs_place_function;

typedef struct vs_place {
  uint32_t function; /* index in functions */
  int64_t line;      /* VS_SIDE_NO_LINE: it has none */
} vs_place;

/* Invariant: file_of[i] is functions[function_of[i]].file, and function_of[i] is places[place_of[i]].function; `order` has every
 * place once, by function, then by line. */
typedef struct vs_places {
  VS_VEC(vs_place_file) files;
  VS_VEC(vs_place_function) functions;
  VS_VEC(vs_place) places;
  VS_VEC(uint32_t) place_of; /* by frame */
  VS_VEC(uint32_t) order;
  vs_map by_file;     /* string id -> file */
  vs_map by_function; /* file << 32 | string id -> function */
  vs_map by_place;    /* hash of function and line -> place */
  vs_features names;  /* of files: the names of their functions */
  vs_features kin;    /* of functions: the names of their callers and callees */
} vs_places;

/* `strings` is that of both sides, so that their ids can be compared. */
VS_MUST_CHECK vs_status vs_places_build(const vs_host *host, const vs_side *side, vs_strings *strings,
                                        vs_places *out);
void vs_places_deinit(const vs_host *host, vs_places *places);

/* What the places call, by the numbers that functions have on both sides, and the sizes that they allocate or own. numbers[i]: of
 * function i. */
VS_MUST_CHECK vs_status vs_places_calls(const vs_host *host, const vs_side *side, const vs_places *places,
                                        const uint32_t *numbers, vs_features *calls);

#define VS_PLACES_NONE UINT32_MAX

/* VS_PLACES_NONE if there is none. */
uint32_t vs_places_find_file(const vs_places *places, uint32_t name);
uint32_t vs_places_find_function(const vs_places *places, uint32_t file, uint32_t name);

#endif
