/* The names of files without what differs between machines, environments and checkouts. Names are compared in this form only.
 *
 *   library  what is behind the folder of packages: "torch/nn/modules/linear.py", "threading.py" of the interpreter
 *   user     what is below the folder that all files of the user have in common: "train.py", "models/gpt.py"
 *   C++      the path of a source file as recorded; a library or program without lines has no file
 * Slashes separate parts. */
#ifndef VS_DIFF_FILES_H
#define VS_DIFF_FILES_H

#include "base/interned_strings.h"
#include "base/text.h"
#include "diff/side.h"

/* The folder, with its slash at the end, that all files of the user have in common; empty if there is none. Borrowed from the
 * side. */
vs_str vs_files_root(const vs_side *side);

/* Appends a frame's file in that form; nothing if it has none. `root`: of its side. */
void vs_files_put(vs_text *text, vs_str root, const vs_side_frame *frame);

/* Its string id; VS_STRING_EMPTY if it has none. */
VS_MUST_CHECK vs_status vs_files_intern(const vs_host *host, vs_strings *strings, vs_str root,
                                        const vs_side_frame *frame, uint32_t *id);

#endif
