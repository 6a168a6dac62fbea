/* vramscope files: opening a snapshot or a recording by its path, and writing replies to a C stream.
 *
 *   vs_engine *engine;
 *   vs_error error;
 *   if (vs_engine_create(NULL, &engine) != VS_OK) ...
 *   if (vs_engine_open(engine, "run.pickle.gz", &error) != VS_OK) fprintf(stderr, "%s\n", error.text);
 *
 * Then ask: vs_engine_summarize of <vramscope/summary.h> has answers as C structs, vs_engine_ask of <vramscope/query.h> has
 * them as JSON.
 *
 * zlib     libvramscope links the C library and nothing else. gzip files and compacted recordings are decompressed by
 *          libz.so.1, which is loaded when a file is opened and closed again; without it they are refused, with a sentence
 *          that says so, and all other files are read.
 * Names    Frames of native code in a recording show as library and offset. A program that can name them, by elfutils for
 *          example, uses vs_engine_load with its own `name` function.
 */
#ifndef VRAMSCOPE_FILES_H
#define VRAMSCOPE_FILES_H

#include <stdio.h>
#include <vramscope/query.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the file at `path` to its end; "-" is standard input. What kind of file it is, its content says and not its name: a
 * PyTorch pickle of any protocol, its JSON form, a recording (.vram), also a compacted one, and each of them compressed with
 * gzip. It replaces the file that the engine had; after a failure there is none.
 *
 * Fails: VS_IO  there is no such file, or it cannot be read; VS_UNSUPPORTED  a file of another kind, or zlib would be needed
 *        and is not there; VS_BAD_ARGUMENT  standard input is a terminal; and as vs_engine_load does. `error`, which may be
 *        NULL, has the sentence and, for malformed input, the byte offset. */
VS_API VS_MUST_CHECK vs_status vs_engine_open(vs_engine *engine, const char *path, vs_error *error);

/* A destination of bytes that writes to `file`, which stays the caller's and is not flushed. Its writes fail with VS_IO. */
VS_API vs_writer vs_file_writer(FILE *file);

#ifdef __cplusplus
}
#endif
#endif
