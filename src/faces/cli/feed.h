/* The bytes of the file that was named on the command line: opened, told by content, inflated where gzip packed them, and
 * counted for the progress line.
 *
 * Refused by content, with what to do instead: other compressions, zip archives, web pages, pointers to large files. A
 * gzip stream may grow to VS_GROWTH_BASE + VS_GROWTH_FACTOR x its compressed bytes: one that grows further was made to
 * fill the memory of whoever opens it. */
#ifndef VS_CLI_FEED_H
#define VS_CLI_FEED_H

#include "codec/foreign.h"
#include "faces/cli/say.h"
#include "os/infile.h"

enum { VS_GROWTH_BASE = 32 * 1024 * 1024, VS_GROWTH_FACTOR = 256 };

/* The beginning of a stream, looked at before it is used. */
typedef struct vs_head {
  vs_reader reader; /* the rest */
  uint8_t bytes[VS_FOREIGN_HEAD];
  size_t count, at;
} vs_head;

typedef struct vs_feed {
  const vs_host *host;
  vs_infile file;
  vs_progress *progress;
  uint64_t bytes_read; /* from the file, compressed or not */
  bool is_compressed;
  vs_head raw, plain;         /* before and behind inflation */
  struct vs_inflate *inflate; /* NULL where nothing is inflated */
  vs_error error;             /* why the reader failed, if it did */
} vs_feed;

/* Opens `name`, "-" being standard input, and looks at its beginning. Fails with a sentence in `error`. */
VS_MUST_CHECK vs_status vs_feed_open(vs_feed *feed, const vs_host *host, const char *name,
                                     vs_progress *progress, vs_error *error);
void vs_feed_close(vs_feed *feed);

/* Valid as long as the feed, which must not move. */
vs_reader vs_feed_reader(vs_feed *feed);

#endif
