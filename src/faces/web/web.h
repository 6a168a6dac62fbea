/* The engine as a WebAssembly module: what a page or a worker can call, and the four functions that it gives.
 *
 * Bytes cross in one buffer. The page asks where it is (vs_web_buffer), writes there, and calls; replies come back through
 * the import `reply` in pieces, to be copied before it returns. Lengths are uint32_t. Every call but vs_web_buffer answers
 * with a vs_status (0 is success); vs_web_error then tells more.
 *
 *   init                              once
 *   buffer(n), load(n, ...)           a name; reads the file through the import `read`; from here on it can be asked
 *   buffer(n), request(n)             a request as docs/formats/query.md has it
 *
 * `read` and `inflate` may suspend a load where the page's engine can do that (WebAssembly.Suspending and promising); a
 * page that cannot has the bytes before it calls. Either way the file is never held in this module, and the page counts
 * what was read and may end the load by VS_CANCELLED. Until a load is done, no other call is made, nor does an import make
 * one. */
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

enum {
  VS_WEB_COMPRESSED = 1,  /* what `read` gives was inflated */
  VS_WEB_CAN_INFLATE = 2, /* there is an `inflate` that answers */
};

/* The page's side. `log` takes one line of text for its console. */
VS_WEB_IMPORT(reply) void vs_web_reply(const void *data, uint32_t size);
VS_WEB_IMPORT(log) void vs_web_log(const char *text, uint32_t size);

/* Stores the next bytes of the file, at most `capacity`. Returns how many, 0 at the end, or a vs_status, whose
 * reason the page knows itself. */
VS_WEB_IMPORT(read) int32_t vs_web_read(void *to, uint32_t capacity);

/* A frame of a compacted recording, raw deflate: fills all of `to`. Returns a vs_status. */
VS_WEB_IMPORT(inflate)
int32_t vs_web_inflate(const void *from, uint32_t from_size, void *to, uint32_t to_size);

VS_WEB_EXPORT(vs_web_init) int32_t vs_web_init(void);

/* Where `size` bytes may be written: valid until the next call. 0: no memory. */
VS_WEB_EXPORT(vs_web_buffer) void *vs_web_buffer(uint32_t size);

/* Reads a file, in the place of the one before. The buffer holds its name; `disk_bytes` is its size before it was inflated,
 * a whole number; `flags` are those above. */
VS_WEB_EXPORT(vs_web_load) int32_t vs_web_load(uint32_t name_size, double disk_bytes, uint32_t flags);

/* Answers the request in the buffer by calls of `reply`. After a failure throw away what came. */
VS_WEB_EXPORT(vs_web_request) int32_t vs_web_request(uint32_t size);

/* Sends the sentence of the last failure by `reply`. Returns the byte of the input at which it happened, -1 where there is
 * none. */
VS_WEB_EXPORT(vs_web_error) double vs_web_error(void);

/* Bytes that the engine holds now. */
VS_WEB_EXPORT(vs_web_used) double vs_web_used(void);

#endif
