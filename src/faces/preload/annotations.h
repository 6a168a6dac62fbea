/* The named ranges of the program that are open, and their beginnings and ends as annotations of the recording.
 *
 *   record_function.h ──┐
 *                       ├──▶ open ranges ──▶ vs_record_annotation
 *   nvtx.h ─────────────┘
 *
 * A range is kept from its beginning to its end, also before the recording has a file. So a file that is opened inside of a range has
 * the beginning of it, with its time; and an end is recorded only where the beginning was, for the same name and device.
 *
 * Invariants, under the lock
 *   open      at most VS_ANNOTATIONS_MOST_OPEN, in the order in which they began; of more the oldest are given up: their ends are
 *             not recorded
 *   written   the first so many of them have their beginning in the current recording
 *   era       that of the recording (recording.h) to which all of them belong: the ranges of a parent are not those of its child, nor are
 *             those that were open when a recording ended
 *
 * Threads: any. No function waits for PyTorch, for Python or for the GPU. */
#ifndef VS_PRELOAD_ANNOTATIONS_H
#define VS_PRELOAD_ANNOTATIONS_H

#include <vramscope/base.h>

enum {
  VS_ANNOTATIONS_MOST_OPEN = 1024,
  VS_ANNOTATIONS_NAME = 256, /* bytes; of a longer name the first ones, up to the end of a character */
};

typedef enum vs_range_kind {
  VS_RANGE_FUNCTION, /* id: any number that no other open one has; it may end on another thread */
  VS_RANGE_STARTED,  /* likewise */
  VS_RANGE_PUSHED,   /* id: of a stack; the thread's last one of that stack ends first */
} vs_range_kind;

typedef struct vs_range_key {
  vs_range_kind kind;
  uint64_t id;
} vs_range_key;

/* A range begins. `domain` is "" for none, else the name is "domain: name". Does nothing where nothing is to be recorded. */
void vs_annotations_begin(const vs_range_key *key, vs_str domain, vs_str name);

/* The last one that has this key ends; does nothing if none is open. */
void vs_annotations_end(const vs_range_key *key);

struct vs_recorder;

/* A recording is opened: it gets the beginnings of all ranges that are open. */
void vs_annotations_open(struct vs_recorder *recorder);

/* The same where another recording goes on, and the lock is held. */
void vs_annotations_repeat(struct vs_recorder *recorder);

/* No thread uses the recorder for an annotation between these. */
void vs_annotations_enter(void);
void vs_annotations_leave(void);

#endif
