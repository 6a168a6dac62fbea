/* Files of other formats that users open by mistake: recognised by their first bytes, with advice what to do. */
#ifndef VS_CODEC_FOREIGN_H
#define VS_CODEC_FOREIGN_H

#include <vramscope/base.h>

enum { VS_FOREIGN_HEAD = 512 }; /* first bytes of a file that are enough */

/* A sentence about the format that begins with `head`; NULL if it may be one of ours, or is gzip. */
const char *vs_foreign_sentence(const void *head, size_t size);

bool vs_begins_as_gzip(const void *head, size_t size);

/* The header of an SQLite database, with its zero byte (sqlite.org/fileformat2.html). It has a sentence, too, for those who
 * do not read databases. */
bool vs_begins_as_sqlite(const void *head, size_t size);

#endif
