/* vramscope query: one function for all questions about a snapshot file.
 *
 * Load a file (vs_engine_open of <vramscope/files.h> takes its path), then send requests and get replies, both as
 * bytes. A request is JSON, a method and its parameters. A reply is JSON, too, or binary columns (the method "methods"
 * says which methods have those), or, for the method "export", the bytes of another program's format:
 *
 *   vs_buffer reply = {0};
 *   if (vs_engine_ask(engine, "report", "{\"device\": 0, \"top\": 5}", &reply, &error) == VS_OK) puts(reply.data);
 *   vs_buffer_deinit(&reply);
 *
 * The most common answers are also available as C structs: <vramscope/summary.h>.
 *
 * The method "methods" lists all methods with their parameters; docs/formats/query.md has the shapes of the replies.
 * The command line, the web page and the language bindings send the same requests and get the same replies.
 *
 * Stable: vs_source and vs_load_options may get more members at their ends; vs_engine_load is inline and passes their
 * size.
 *
 * Threads: one thread at a time may use an engine; different engines share nothing.
 */
#ifndef VRAMSCOPE_QUERY_H
#define VRAMSCOPE_QUERY_H

#include <vramscope/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vs_engine vs_engine;

#define VS_BYTES_UNKNOWN UINT64_MAX

/* The properties of the file that only the caller knows. */
typedef struct vs_source {
  vs_str name;        /* as the user wrote it; quoted in replies */
  uint64_t bytes;     /* on disk; VS_BYTES_UNKNOWN: the bytes that were read, unless it is compressed */
  bool is_compressed; /* the reader inflates the file */
} vs_source;

/* Functions that only the caller can provide; each may be NULL. */
typedef struct vs_load_options {
  /* Called every few hundred kilobytes with the (inflated) bytes read so far; false cancels. */
  bool (*progress)(void *ctx, uint64_t bytes_read);
  void *progress_ctx;
  /* Inflates a frame of a compacted recording (raw deflate, RFC 1951): fills all of `to`, or VS_BAD_FORMAT. NULL:
   * compacted recordings are refused with VS_UNSUPPORTED. */
  vs_status (*inflate)(void *ctx, const void *from, size_t from_size, void *to, size_t to_size);
  void *inflate_ctx;
  /* Names the place of a return address: `offset` in a library, which a recording identifies by path and build id
   * (the bytes of its note, or empty). Innermost first, if calls were inlined. Returns the number of names that it
   * stored, at most VS_MOST_PLACE_NAMES; 0: unknown. The names are borrowed until the next call. NULL: such places
   * are shown as library and offset. */
  size_t (*name)(void *ctx, vs_str path, vs_str build_id, uint64_t offset, vs_place_name *names);
  void *name_ctx;
} vs_load_options;

/* An engine without a file: it answers "methods" and "settings", and refuses the other methods with VS_NOT_FOUND.
 *
 * Owner: the caller, vs_engine_destroy (which accepts NULL). `host` must outlive the engine; NULL means
 * vs_host_default(),
 *        in builds with a C library.
 * Fails: VS_NO_MEMORY; VS_BAD_ARGUMENT if there is no host, in a build without a default */
VS_API VS_MUST_CHECK vs_status vs_engine_create(const vs_host *host, vs_engine **engine);
VS_API void vs_engine_destroy(vs_engine *engine);

/* The host from which its memory is allocated. */
VS_API const vs_host *vs_engine_host(const vs_engine *engine);

/* Unloads the file, if there is one, and frees its memory. */
VS_API void vs_engine_unload(vs_engine *engine);

/* Reads a snapshot to its end: a PyTorch pickle of any protocol, its JSON form, or a recording (.vram); the format is
 * recognized by content. It replaces the engine's file; after a failure the engine has none.
 *
 * `source` is copied after the last byte was read, so a reader may fill it in while it reads. `options` may be NULL.
 *
 * Fails: the statuses of malformed input, with a sentence and the byte offset in `error` (which may be NULL);
 *        VS_NO_MEMORY, VS_LIMIT, VS_CANCELLED, and the failures of the reader */
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
 * A reply is built in memory and written only when it is complete, so a failure writes nothing. Replies of methods that
 * "methods" calls streamed (long lists, exports) are written in parts: after a failure the caller discards them. Equal
 * requests about equal files get equal bytes on every platform.
 *
 * Fails: VS_BAD_ARGUMENT  not JSON (`error` has the offset), an unknown method or parameter ("did you mean ...?"), a
 *                         value out of range, invalid settings (`error` has the offset in their text)
 *        VS_NOT_FOUND     no file is loaded, or it does not have the requested device, event or moment
 *        VS_NO_MEMORY, and the failures of the writer */
VS_API VS_MUST_CHECK vs_status vs_engine_request(vs_engine *engine, vs_str request, vs_writer reply,
                                                 vs_error *error);

/* The same with the reply in memory: it replaces the contents of `reply`, which is empty after a failure.
 *
 * method  a name that the method "methods" lists, such as "report"
 * params  its parameters as a JSON object; NULL: the defaults
 * Fails:  as vs_engine_request, and VS_BAD_ARGUMENT if `params` is not a JSON object; the offset in `error` is then in
 *         `params` */
VS_API VS_MUST_CHECK vs_status vs_engine_ask(vs_engine *engine, const char *method, const char *params,
                                             vs_buffer *reply, vs_error *error);

#ifdef __cplusplus
}
#endif
#endif
