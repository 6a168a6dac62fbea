#include "faces/web/web.h"
#include "base/text.h"
#include "faces/web/heap.h"
#include "query/engine.h"

#if !VS_FREESTANDING
#error "the web face is for WebAssembly"
#endif

/* What the module can do: what the viewer asks, unless the build says vs_handlers. */
#ifndef VS_WEB_HANDLERS
#define VS_WEB_HANDLERS vs_handlers_of_page
#endif

/* The one engine of the module. A module is one thread's. */
static struct {
  vs_heap heap;
  vs_host host;
  vs_engine *engine;
  VS_VEC(char) buffer;
  vs_error error;
} web;

static bool grow_memory(void *ctx, size_t bytes) {
  (void)ctx;
  return __builtin_wasm_memory_grow(0, bytes / VS_HEAP_PAGE) != SIZE_MAX;
}

/* Stores a failure of this file in web.error. */
static int32_t failed(vs_status status) {
  return vs_fail(&web.error, status, VS_NO_OFFSET, "%s", vs_status_text(status));
}

int32_t vs_web_init(void) {
  if (web.engine != NULL) return VS_OK;
  /* The heap begins behind the pages that the linker filled. */
  vs_heap_init(&web.heap, (void *)(__builtin_wasm_memory_size(0) * VS_HEAP_PAGE), grow_memory, NULL);
  web.host = vs_heap_host(&web.heap);
  static const char hello[] = "vramscope " VS_VERSION_TEXT;
  vs_web_log(hello, sizeof hello - 1);
  const vs_status status = vs_engine_create_with(&web.host, &VS_WEB_HANDLERS, &web.engine);
  return status == VS_OK ? VS_OK : failed(status);
}

void *vs_web_buffer(uint32_t size) {
  web.buffer.count = 0;
  if (vs_vec_reserve(&web.host, &web.buffer, size == 0 ? 1 : size) != VS_OK) return NULL;
  return web.buffer.data;
}

/* ---- the file -------------------------------------------------------------------------------------------------- */

static vs_status read_file(void *ctx, void *data, size_t capacity, size_t *count) {
  (void)ctx;
  const uint32_t most = capacity > INT32_MAX ? INT32_MAX : (uint32_t)capacity;
  const int32_t answer = vs_web_read(data, most);
  *count = answer < 0 ? 0 : (size_t)answer;
  return answer < 0 ? (vs_status)answer : VS_OK;
}

static vs_status inflate_frame(void *ctx, const void *from, size_t from_size, void *to, size_t to_size) {
  (void)ctx;
  return (vs_status)vs_web_inflate(from, (uint32_t)from_size, to, (uint32_t)to_size);
}

int32_t vs_web_load(uint32_t name_size, double disk_bytes, uint32_t flags) {
  if (name_size > web.buffer.capacity || !(disk_bytes >= 0 && disk_bytes <= 0x1p53))
    return failed(VS_BAD_ARGUMENT);
  const vs_source source = {.name = {web.buffer.data, name_size},
                            .bytes = (uint64_t)disk_bytes,
                            .is_compressed = (flags & VS_WEB_COMPRESSED) != 0};
  const vs_load_options options = {.inflate = (flags & VS_WEB_CAN_INFLATE) != 0 ? inflate_frame : NULL};
  const vs_reader reader = {.ctx = NULL, .read = read_file};
  return vs_engine_load(web.engine, reader, &source, &options, &web.error);
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
