/* Whether two snapshots say the same: strings by their text, stacks by their frames, streams and pools by what they are.
 * Ids, the order of tables, and how a snapshot was stored do not matter.
 *
 * Nor does what writing changes, as docs/formats/snapshot.md tells: blocks get an address, a requested size and a list of
 * frames, JSON has no number that is not finite, and bytes that are no UTF-8 become surrogates or U+FFFD. */
#ifndef VS_TESTS_SNAPSHOT_EQUAL_H
#define VS_TESTS_SNAPSHOT_EQUAL_H

#include "snapshot/model.h"

/* false: *difference names what differs first. */
bool vs_snapshot_equal(const vs_snapshot *a, const vs_snapshot *b, const char **difference);

#endif
