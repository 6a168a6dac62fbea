/* vramscope base: the few types that every other header uses.
 *
 * Conventions of the whole library
 *   sizes and addresses   uint64_t bytes; GPU quantities never use size_t (it is 32 bits in WebAssembly)
 *   errors                a vs_status that must be checked; parsers also fill a vs_error with the byte offset
 *   ownership             create/destroy a heap object, init/deinit the caller's storage; a returned vs_str is borrowed
 *   threads               no hidden globals: different objects may be used from different threads, one object by one at a time
 */
#ifndef VRAMSCOPE_BASE_H
#define VRAMSCOPE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VS_API        __attribute__((visibility("default")))
#define VS_MUST_CHECK __attribute__((warn_unused_result))
#define VS_PRINTF_LIKE(format_index, first_argument) \
  __attribute__((format(printf, format_index, first_argument)))

#define VS_VERSION_MAJOR 0
#define VS_VERSION_MINOR 1
#define VS_VERSION_PATCH 0
#define VS_VERSION_TEXT  "0.1.0"

typedef enum vs_status {
#define VS_STATUS(name, value, text) VS_##name = (value),
#include <vramscope/status.def>
#undef VS_STATUS
} vs_status;

/* The identifier of a status ("NO_MEMORY") and its sentence ("out of memory"); "?" for a value that is none. */
VS_API const char *vs_status_name(vs_status status);
VS_API const char *vs_status_text(vs_status status);

/* "0.1.0": the version of the library that is linked (VS_VERSION_TEXT is that of the header). */
VS_API const char *vs_version_text(void);

/* Bytes or UTF-8 text, not NUL terminated, borrowed from its owner. */
typedef struct vs_str {
  const char *data;
  size_t size;
} vs_str;

#define VS_ERROR_TEXT_SIZE 384
#define VS_NO_OFFSET       UINT64_MAX

/* What went wrong and where. `text` is one line without a final full stop and may quote input: faces escape it. */
typedef struct vs_error {
  vs_status status;
  uint64_t offset; /* byte in the (inflated) input, VS_NO_OFFSET where there is none */
  char text[VS_ERROR_TEXT_SIZE];
} vs_error;

/* The world as the library sees it. Everything the library allocates comes from `resize`, so a caller can count,
 * bound or fail it.
 *
 * resize(ctx, old, old_size, new_size): allocate (old NULL, old_size 0), grow, shrink, or free (new_size 0, returns
 * NULL). NULL for a non-zero new_size means "no memory" and leaves `old` as it was. Memory is not cleared. */
typedef struct vs_host {
  void *ctx;
  void *(*resize)(void *ctx, void *old, size_t old_size, size_t new_size);
} vs_host;

/* realloc and free of the C library; not there in a freestanding build. */
VS_API const vs_host *vs_host_default(void);

/* A source of bytes. read() fills up to `capacity` bytes and stores how many; 0 means the end. */
typedef struct vs_reader {
  void *ctx;
  vs_status (*read)(void *ctx, void *data, size_t capacity, size_t *count);
} vs_reader;

/* A destination of bytes: write() takes all of them or fails. */
typedef struct vs_writer {
  void *ctx;
  vs_status (*write)(void *ctx, const void *data, size_t size);
} vs_writer;

/* Bytes in memory that grow as they are written. All zero is an empty buffer. */
typedef struct vs_buffer {
  const vs_host *host; /* where its memory comes from; NULL: vs_host_default() */
  char *data;          /* `size` bytes and a NUL behind them; NULL while nothing was written */
  size_t size, capacity;
} vs_buffer;

/* A destination of bytes that are added to the buffer, which stays where it is. Its writes fail with VS_NO_MEMORY. */
VS_API vs_writer vs_buffer_writer(vs_buffer *buffer);
/* Gives the memory back; the buffer is empty again and may be used on. */
VS_API void vs_buffer_deinit(vs_buffer *buffer);

/* One name of a place in a program. */
typedef struct vs_place_name {
  vs_str name, file;
  int64_t line; /* 0: unknown */
} vs_place_name;

#define VS_MOST_PLACE_NAMES 16

/* A reader over bytes in memory; `state` is the caller's and lives as long as the reader. */
typedef struct vs_memory_reader {
  vs_str rest;
} vs_memory_reader;
VS_API vs_reader vs_reader_from_bytes(vs_memory_reader *state, const void *data, size_t size);

#ifdef __cplusplus
}
#endif
#endif
