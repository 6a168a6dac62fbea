/* vramscope query: one entry for every question about a snapshot file.
 *
 * Load a file (vs_engine_open of <vramscope/files.h> takes its path), then send requests and get replies, both as bytes. A
 * request is JSON, a method and its parameters; a reply is JSON too, or binary columns for the methods that "methods" says so
 * of, or, for the method "export", the bytes of another program's format:
 *
 *   vs_buffer reply = {0};
 *   if (vs_engine_ask(engine, "report", "{\"device\": 0, \"top\": 5}", &reply, &error) == VS_OK) puts(reply.data);
 *   vs_buffer_deinit(&reply);
 *
 * The answers that programs want most are there as C structs, too: <vramscope/summary.h>.
 *
 * The method "methods" lists them all with their parameters; docs/formats/query.md has the shapes of the replies. The
 * command line, the web page and every language binding send these very bytes and get these very replies, so a new
 * question never needs a new function here.
 *
 * Stable: vs_source and vs_load_options may get more members at their ends; vs_engine_load is inline and passes their size.
 *
 * Threads: one engine is used by one thread at a time; different engines have nothing in common.
 */
#ifndef VRAMSCOPE_QUERY_H
#define VRAMSCOPE_QUERY_H

#include <vramscope/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vs_engine vs_engine;

#define VS_BYTES_UNKNOWN UINT64_MAX

/* What only the caller knows of the file. */
typedef struct vs_source {
  vs_str name;        /* as the user wrote it; quoted in replies */
  uint64_t bytes;     /* on disk; VS_BYTES_UNKNOWN: what was read of it, as long as it is not compressed */
  bool is_compressed; /* the reader inflates what lies on disk */
} vs_source;

/* What only the caller can do; each function may be NULL. */
typedef struct vs_load_options {
  /* Called every few hundred kilobytes with the (inflated) bytes read so far; false cancels. */
  bool (*progress)(void *ctx, uint64_t bytes_read);
  void *progress_ctx;
  /* Inflates a frame of a compacted recording (raw deflate, RFC 1951): fills all of `to`, or VS_BAD_FORMAT. NULL: compacted
   * recordings are refused with VS_UNSUPPORTED. */
  vs_status (*inflate)(void *ctx, const void *from, size_t from_size, void *to, size_t to_size);
  void *inflate_ctx;
  /* Names the place of a return address, `offset` of a library that a recording names by path and build id (the bytes of its
   * note, or none): innermost first, where calls were inlined. Returns how many names it stored, at most
   * VS_MOST_PLACE_NAMES; 0: unknown. They are borrowed until the next call. NULL: such places show as library and offset. */
  size_t (*name)(void *ctx, vs_str path, vs_str build_id, uint64_t offset, vs_place_name *names);
  void *name_ctx;
} vs_load_options;

/* An engine without a file: it answers "methods" and refuses the rest with VS_NOT_FOUND.
 *
 * Owner: the caller, vs_engine_destroy (which accepts NULL). `host` outlives it; NULL means vs_host_default(), where
 *        there is a C library.
 * Fails: VS_NO_MEMORY   VS_BAD_ARGUMENT  no host, in a build that has no default */
VS_API VS_MUST_CHECK vs_status vs_engine_create(const vs_host *host, vs_engine **engine);
VS_API void vs_engine_destroy(vs_engine *engine);

/* Where its memory comes from. */
VS_API const vs_host *vs_engine_host(const vs_engine *engine);

/* Forgets the file, if there is one, and gives its memory back. */
VS_API void vs_engine_unload(vs_engine *engine);

/* Reads a snapshot to its end: a PyTorch pickle of any protocol, its JSON form, or a recording (.vram), told by content. It replaces the file
 * that the engine had; after a failure there is none.
 *
 * `source` is copied after the last byte was read, so that a reader may fill it in while it reads. `options` may be NULL.
 *
 * Fails: the statuses of malformed input, with a sentence and the byte offset in `error` (which may be NULL);
 *        VS_NO_MEMORY, VS_LIMIT, VS_CANCELLED, and what the reader fails with */
VS_API VS_MUST_CHECK vs_status vs_engine_load_sized(vs_engine *engine, vs_reader reader,
                                                    const vs_source *source, size_t source_size,
                                                    const vs_load_options *options, size_t options_size,
                                                    vs_error *error);
__attribute__((unused)) static inline VS_MUST_CHECK vs_status vs_engine_load(vs_engine *engine,
                                                                             vs_reader reader,
                                                                             const vs_source *source,
                                                                             const vs_load_options *options,
                                                                             vs_error *error) {
  return vs_engine_load_sized(engine, reader, source, sizeof *source, options, sizeof *options, error);
}

/* Answers one request and writes the reply, which is complete when this returns VS_OK.
 *
 * A reply is built in memory and written only when it is whole, so a failure writes nothing. Methods that "methods" calls
 * streamed (long lists, exports) are written as they are made: after a failure what was written is to be thrown away.
 * Equal requests about equal files get equal bytes, on every platform.
 *
 * Fails: VS_BAD_ARGUMENT  not JSON (`error` has the offset), an unknown method or parameter ("did you mean ...?"), a
 *                         value out of range, settings that make no sense (`error` has the offset in their text)
 *        VS_NOT_FOUND     no file is loaded; the device, event or moment asked for is not in it
 *        VS_NO_MEMORY, and what the writer fails with */
VS_API VS_MUST_CHECK vs_status vs_engine_request(vs_engine *engine, vs_str request, vs_writer reply,
                                                 vs_error *error);

/* The same with the reply in memory: `reply` has it alone, what was in it before goes. After a failure it is empty.
 *
 * method  a name that the method "methods" lists, such as "report"
 * params  its parameters as a JSON object; NULL: the defaults
 * Fails: as vs_engine_request does, and VS_BAD_ARGUMENT  `params` is no JSON object; the offset in `error` is in `params` */
VS_API VS_MUST_CHECK vs_status vs_engine_ask(vs_engine *engine, const char *method, const char *params,
                                             vs_buffer *reply, vs_error *error);

#ifdef __cplusplus
}
#endif
#endif
