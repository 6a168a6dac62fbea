/* Small files that a command reads as a whole: settings, baselines, replies of earlier runs. */
#ifndef VS_CLI_TEXTFILE_H
#define VS_CLI_TEXTFILE_H

#include "base/text.h"
#include "codec/json_doc.h"
#include "os/infile.h"

/* Appends the bytes of a file. Fails: VS_NOT_FOUND, VS_IO with a sentence; VS_LIMIT  it has more than `most` bytes; VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_textfile_read(const char *path, size_t most, vs_text *bytes, vs_error *error);

/* The same as a JSON document. Owner: the caller, if this returns VS_OK; otherwise `error` has a sentence. */
VS_MUST_CHECK vs_status vs_textfile_json(const vs_host *host, const char *path, size_t most,
                                         vs_json_doc *document, vs_error *error);

/* Whether the file is a reply of vramscope. A pipe is not looked into, because it can be read only once. */
bool vs_textfile_is_reply(const char *path);

#endif
