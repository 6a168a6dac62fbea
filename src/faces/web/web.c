#include "faces/web/web.h"
#include "base/text.h"
#include "faces/web/heap.h"
#include <vramscope/query.h>

#if !VS_FREESTANDING
#error "the web face is for WebAssembly"
#endif

/* A piece of the file that waits to be read. */
typedef struct piece {
  struct piece *next;
  size_t size;
  char data[];
} piece;

/* The one engine of the module. A module is one thread's. */
static struct {
  vs_heap heap;
  vs_host host;
  vs_engine *engine;
  VS_VEC(char) buffer;
  piece *first, *last; /* fed and not read yet */
  size_t read;         /* bytes of `first` that were read */
  vs_error error;
} web;

static bool grow_memory(void *ctx, size_t bytes) {
  (void)ctx;
  return __builtin_wasm_memory_grow(0, bytes / VS_HEAP_PAGE) != SIZE_MAX;
}

/* A failure of this file's own, which web.error knows nothing of yet. */
static int32_t failed(vs_status status) {
  return vs_fail(&web.error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
}

int32_t vs_web_init(void) {
  if (web.engine != NULL) return VS_OK;
  /* Whatever the linker laid into the first pages, the heap begins behind them. */
  vs_heap_init(&web.heap, (void *)(__builtin_wasm_memory_size(0) * VS_HEAP_PAGE), grow_memory, NULL);
  web.host = vs_heap_host(&web.heap);
  static const char hello[] = "vramscope " VS_VERSION_TEXT;
  vs_web_log(hello, sizeof hello - 1);
  const vs_status status = vs_engine_create(&web.host, &web.engine);
  return status == VS_OK ? VS_OK : failed(status);
}

void *vs_web_buffer(uint32_t size) {
  web.buffer.count = 0;
  if (vs_vec_reserve(&web.host, &web.buffer, size == 0 ? 1 : size) != VS_OK) return NULL;
  return web.buffer.data;
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

static void drop_first(void) {
  piece *gone = web.first;
  web.first = gone->next;
  web.read = 0;
  if (web.first == NULL) web.last = NULL;
  vs_host_free(&web.host, gone, sizeof *gone + gone->size);
}

int32_t vs_web_feed(uint32_t size) {
  if (size == 0) return VS_OK;
  if (size > web.buffer.capacity) return failed(VS_BAD_ARGUMENT);
  piece *next = size <= SIZE_MAX - sizeof *next ? vs_host_alloc(&web.host, sizeof *next + size) : NULL;
  if (next == NULL) return failed(VS_NO_MEMORY);
  *next = (piece){.size = size};
  memcpy(next->data, web.buffer.data, size);
  if (web.last == NULL) web.first = next;
  else web.last->next = next;
  web.last = next;
  return VS_OK;
}

/* Pieces go as soon as they are read, so that what is built of them can take their place. */
static vs_status read_pieces(void *ctx, void *data, size_t capacity, size_t *count) {
  (void)ctx;
  *count = 0;
  while (*count < capacity && web.first != NULL) {
    const size_t there = web.first->size - web.read;
    const size_t part = capacity - *count < there ? capacity - *count : there;
    memcpy((char *)data + *count, web.first->data + web.read, part);
    *count += part;
    web.read += part;
    if (web.read == web.first->size) drop_first();
  }
  return VS_OK;
}

int32_t vs_web_load(uint32_t name_size, uint32_t disk_bytes, uint32_t is_compressed) {
  if (name_size > web.buffer.capacity) return failed(VS_BAD_ARGUMENT);
  const vs_source source = {
      .name = {web.buffer.data, name_size}, .bytes = disk_bytes, .is_compressed = is_compressed != 0};
  const vs_reader reader = {.ctx = NULL, .read = read_pieces};
  const vs_status status = vs_engine_load(web.engine, reader, &source, NULL, &web.error);
  while (web.first != NULL) drop_first();
  return status;
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

static vs_status write_reply(void *ctx, const void *data, size_t size) {
  (void)ctx;
  vs_web_reply(data, (uint32_t)size);
  return VS_OK;
}

int32_t vs_web_request(uint32_t size) {
  if (size > web.buffer.capacity) return failed(VS_BAD_ARGUMENT);
  const vs_writer reply = {.ctx = NULL, .write = write_reply};
  return vs_engine_request(web.engine, (vs_str){web.buffer.data, size}, reply, &web.error);
}

double vs_web_error(void) {
  vs_web_reply(web.error.text, (uint32_t)strlen(web.error.text));
  return web.error.offset == VS_NO_OFFSET ? -1 : (double)web.error.offset;
}

double vs_web_used(void) { return (double)web.heap.used; }
