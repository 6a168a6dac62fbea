/* The engine as a WebAssembly module: what a page or a worker can call, and the two functions that it gives.
 *
 * Bytes cross in one buffer. The page asks where it is (vs_web_buffer), writes there, and calls; replies come back through
 * the import `reply` in pieces, to be copied before it returns. Lengths are uint32_t. Every call but vs_web_buffer answers
 * with a vs_status (0 is success); vs_web_error then tells more.
 *
 *   init                              once
 *   buffer(n), feed(n)                the file, inflated, piece by piece
 *   buffer(n), load(n, ...)           its name; from here on it can be asked
 *   buffer(n), request(n)             a request as docs/formats/query.md has it
 *
 * The imports must not call back into the module. */
#ifndef VS_WEB_H
#define VS_WEB_H

#include <vramscope/base.h>

#if VS_FREESTANDING
#define VS_WEB_EXPORT(name) __attribute__((export_name(#name)))
#define VS_WEB_IMPORT(name) __attribute__((import_module("vs_host"), import_name(#name)))
#else
#define VS_WEB_EXPORT(name)
#define VS_WEB_IMPORT(name)
#endif

/* The page's side. `log` takes one line of text for its console. */
VS_WEB_IMPORT(reply) void vs_web_reply(const void *data, uint32_t size);
VS_WEB_IMPORT(log) void vs_web_log(const char *text, uint32_t size);

VS_WEB_EXPORT(vs_web_init) int32_t vs_web_init(void);

/* Where `size` bytes may be written: valid until the next call but vs_web_feed. 0: no memory. */
VS_WEB_EXPORT(vs_web_buffer) void *vs_web_buffer(uint32_t size);

/* Takes the first `size` bytes of the buffer as the next piece of the file. */
VS_WEB_EXPORT(vs_web_feed) int32_t vs_web_feed(uint32_t size);

/* Reads the file that was fed, which is gone then, whether that works or not. The buffer holds its name. `disk_bytes` is
 * its size before it was inflated. */
VS_WEB_EXPORT(vs_web_load)
int32_t vs_web_load(uint32_t name_size, uint32_t disk_bytes, uint32_t is_compressed);

/* Answers the request in the buffer by calls of `reply`. After a failure throw away what came. */
VS_WEB_EXPORT(vs_web_request) int32_t vs_web_request(uint32_t size);

/* Sends the sentence of the last failure by `reply`. Returns the byte of the input at which it happened, -1 where there is
 * none. */
VS_WEB_EXPORT(vs_web_error) double vs_web_error(void);

/* Bytes that the engine holds now, the file included. */
VS_WEB_EXPORT(vs_web_used) double vs_web_used(void);

#endif
