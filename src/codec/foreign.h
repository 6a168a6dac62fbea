/* Files that people hand in by mistake, told by how they begin, with what to do instead. */
#ifndef VS_CODEC_FOREIGN_H
#define VS_CODEC_FOREIGN_H

#include <vramscope/base.h>

enum { VS_FOREIGN_HEAD = 512 }; /* more of the beginning need not be looked at */

/* A sentence about what begins with `head`, NULL if that may be a file of ours. gzip is not among them: see below. */
const char *vs_foreign_sentence(const void *head, size_t size);

bool vs_begins_as_gzip(const void *head, size_t size);

#endif
