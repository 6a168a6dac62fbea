/* vramscope files: opens a snapshot or a recording by its path, and writes replies to a C stream.
 *
 *   vs_engine *engine;
 *   vs_error error;
 *   if (vs_engine_create(NULL, &engine) != VS_OK) ...
 *   if (vs_engine_open(engine, "run.pickle.gz", &error) != VS_OK) fprintf(stderr, "%s\n", error.text);
 *
 * vs_engine_summarize of <vramscope/summary.h> then returns answers as C structs, vs_engine_ask of <vramscope/query.h> as JSON.
 *
 * zlib     libvramscope links only the C library. libz.so.1, which is loaded while a file is being opened, decompresses gzip files
 *          and compacted recordings; without it these are refused with a sentence, and all other files are read.
 * Names    Native frames in a recording are shown as library and offset. A program that can name them, for example with elfutils,
 *          uses vs_engine_load with its own `name` function.
 */
#ifndef VRAMSCOPE_FILES_H
#define VRAMSCOPE_FILES_H

#include <stdio.h>
#include <vramscope/query.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the file at `path` to its end; "-" is standard input. Its kind is recognized by content, not by name: a PyTorch pickle of
 * any protocol, its JSON form, a recording (.vram), also a compacted one, and each of these compressed with gzip. It replaces the
 * engine's previous file; after a failure the engine has none.
 *
 * Fails: VS_IO  there is no such file, or it cannot be read; VS_UNSUPPORTED  a file of another kind, or zlib is needed and
 *        missing; VS_BAD_ARGUMENT  standard input is a terminal; and as vs_engine_load does. `error`, which may be
 *        NULL, has the sentence and, for malformed input, the byte offset. */
VS_API VS_MUST_CHECK vs_status vs_engine_open(vs_engine *engine, const char *path, vs_error *error);

/* A writer to `file`, which the caller still owns and flushes. Its writes fail with VS_IO. */
VS_API vs_writer vs_file_writer(FILE *file);

#ifdef __cplusplus
}
#endif
#endif
