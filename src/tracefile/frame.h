/* A frame: about 64 KiB of records after a header. The header makes it possible to find, date and check the frame
 * without the others.
 *
 *   offset  bytes
 *        0      8  magic: 89 56 52 41 4d 0d 0a 1a ("\x89VRAM\r\n\x1a")
 *        8      8  checksum: XXH3 (64 bits, no seed) of byte 16 to the end of the stored bytes; 0: the frame is open
 *       16      2  version of the format: 1
 *       18      1  packing: 0 as it is, 1 raw deflate
 *       19      1  0
 *       20      4  size: from here to the next frame
 *       24      4  stored bytes of records
 *       28      4  plain bytes of records
 *       32      4  process that wrote it
 *       36      4  flags: 1 its records begin with a checkpoint
 *       40      8  sequence number of the frame, from 0
 *       48      8  events before this frame
 *       56      8  base time
 *       64      8  base address
 *       72      8  events in this frame
 *       80         records
 *
 * In an open frame (it is being written, or its writer was killed) stored, plain and events are not valid: its
 * records end at the first zero where a record would begin. */
#ifndef VS_TRACEFILE_FRAME_H
#define VS_TRACEFILE_FRAME_H

#include "tracefile/bytes.h"

enum {
  VS_FRAME_HEADER = 80,
  VS_FRAME_CHECKED_FROM = 16,
  VS_FRAME_VERSION = 1,
  VS_FRAME_MOST_RATIO = 64, /* plain bytes for each stored one: see docs/formats/vram.md */
  VS_FRAME_MOST_EXTRA = 4096,
};

typedef enum vs_frame_packing { VS_FRAME_RAW, VS_FRAME_DEFLATE } vs_frame_packing;
enum { VS_FRAME_HAS_CHECKPOINT = 1 };

#define VS_FRAME_MAGIC      "\x89VRAM\r\n\x1a"
#define VS_FRAME_MAGIC_SIZE 8

typedef struct vs_frame_header {
  uint64_t checksum;
  uint64_t sequence, events_before, base_address, events;
  int64_t base_time;
  uint32_t size, stored, plain, process, flags;
  uint16_t version;
  uint8_t packing;
} vs_frame_header;

/* Writes all fields except magic and checksum, which are written last: see below. `to` has VS_FRAME_HEADER bytes. */
void vs_frame_header_put(uint8_t *to, const vs_frame_header *header);
/* Reads VS_FRAME_HEADER bytes, whatever they are. */
void vs_frame_header_get(const uint8_t *from, vs_frame_header *header);

/* The checksum of a frame with `stored` bytes; never 0. */
uint64_t vs_frame_checksum(const uint8_t *frame, size_t stored);

/* Publish a frame: open writes the magic of a new frame, seal the checksum of a complete one. */
void vs_frame_open(uint8_t *frame);
void vs_frame_seal(uint8_t *frame, size_t stored);

static inline bool vs_frame_begins(const uint8_t *at) {
  return memcmp(at, VS_FRAME_MAGIC, VS_FRAME_MAGIC_SIZE) == 0;
}

#endif
