/* The memory account of another program, gathered entry by entry and turned into columns.
 *
 * An account lists allocations and frees with addresses and sizes. It has no segments, so the columns lack them
 * (VS_LACKS_SEGMENTS); a free is what the program requested, because completions are not listed. What is allocated at the end
 * follows from the entries: a free ends the block at its address, and so does another allocation there.
 *
 * Memory from before the first entry is known in two ways: as frees of blocks that were not allocated, and as a total that
 * the program stated. What the total has beyond those blocks is one block per device without an address of its own and
 * without a stack (VS_BLOCK_HAS_ADDRESS is not set): it is live from the beginning to the end. */
#ifndef VS_SNAPSHOT_ACCOUNT_H
#define VS_SNAPSHOT_ACCOUNT_H

#include "snapshot/model.h"

typedef struct vs_account_entry {
  uint64_t address;
  uint64_t size;
  int64_t time_ns; /* since 1970; VS_NO_TIME: unknown */
  uint32_t stack;
  uint32_t stream; /* index into streams */
  int32_t device;  /* 0 .. VS_MAX_DEVICES - 1 */
  uint8_t kind;    /* VS_EVENT_ALLOC, VS_EVENT_FREE_REQUESTED or VS_EVENT_OOM, which has no address */
} vs_account_entry;

typedef struct vs_account {
  const vs_host *host;
  vs_snapshot *s;
  VS_VEC(vs_account_entry) entries;
  /* By device: bytes that were allocated before its first entry, as the program says; may be shorter than the devices. */
  VS_VEC(uint64_t) stated;
} vs_account;

/* An empty account, whose snapshot has the default stream as stream 0. On failure, too, the caller calls deinit. */
VS_MUST_CHECK vs_status vs_account_init(const vs_host *host, vs_account *account);
void vs_account_deinit(vs_account *account);

VS_MUST_CHECK vs_status vs_account_add(vs_account *account, const vs_account_entry *entry);

/* Makes room for so many blocks, or for as many as a snapshot can have: memory that is not there is then missed at once.
 * Fails: VS_NO_MEMORY; VS_LIMIT: it has as many as it can */
VS_MUST_CHECK vs_status vs_account_reserve_blocks(vs_account *account, uint64_t count);

/* Adds a block that is live at the end to the snapshot, and the row that contains it. `has`: VS_BLOCK_HAS_... A device's blocks may
 * come in any order. */
VS_MUST_CHECK vs_status vs_account_block(vs_account *account, const vs_account_entry *entry, uint8_t has);

/* Sorts the entries by time where `by_time`, else keeps their order, and makes the snapshot of them. On success the caller owns
 * *out. Fails: VS_NO_MEMORY, VS_LIMIT */
VS_MUST_CHECK vs_status vs_account_finish(vs_account *account, bool by_time, vs_snapshot **out);

#endif
