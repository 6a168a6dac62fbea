/* The walks that a thread made before, each with what its caller noted. Private to os.
 *
 * A walk is a function of the registers at its beginning and of the words of the stack that it read. So a walk that begins with the registers
 * of an earlier one, and would read words that are unchanged, is that one: it is found by comparing the words, without the rules that the walk
 * needed. A loop that comes to the same functions again, as the threads of autograd do, makes few different walks.
 *
 * One thread uses one of these; no locks. All words are read from the thread's own stack. */
#ifndef VS_OS_PAST_WALKS_H
#define VS_OS_PAST_WALKS_H

#include "os/stackwalk.h"

typedef struct vs_past_walks vs_past_walks;

/* NULL: no memory. Takes memory for the walks that are kept, 576 KiB at most. */
vs_past_walks *vs_past_walks_create(void);
void vs_past_walks_destroy(vs_past_walks *walks); /* does nothing for NULL */

/* The note of the kept walk that a walk would be which begins at `first`, on the stack that ends at `high`, by the rules `version`; 0: none. */
uint64_t vs_past_walks_find(const vs_past_walks *walks, const vs_stackwalk_frame *first, uint64_t high,
                            uint32_t version);

/* Keeps a complete walk, `frames` outermost first, instead of the same one, or of an older one with the same beginning. A walk of too many words, or
 * one that read words which are not known any more, is not kept. `note` is not 0. */
void vs_past_walks_keep(vs_past_walks *walks, const vs_stackwalk_frame *frames, uint32_t count, uint64_t high,
                        uint32_t version, uint64_t note);

#endif
