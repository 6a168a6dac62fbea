/* What the program marks with PyTorch's record_function, as annotations: also what PyTorch marks so itself, such as the steps of its
 * optimizers and of its profiler.
 *
 * PyTorch has a list of functions that it calls at the beginning and at the end of each range of a kind (at::addGlobalCallback). Ours is
 * for ranges of the user only (at::RecordScope::USER_SCOPE), so an operator calls nothing more than before.
 *
 * The list is an interface of C++, whose objects are made here as its compiler lays them out. So it is asked back what it would call: ours
 * has to be among those for a range of the user, and not among those for an operator. Else it is taken out again at once, and the recording
 * says that annotations are missing (VS_DOUBT_ANNOTATIONS). */
#ifndef VS_PRELOAD_RECORD_FUNCTION_H
#define VS_PRELOAD_RECORD_FUNCTION_H

#include <vramscope/base.h>

/* Has PyTorch call us from now on; does nothing where it does already, or where PyTorch is not loaded yet. Takes locks of the loader and of
 * PyTorch's list, none of Python's or of the allocator's. */
void vs_record_function_watch(void);

/* Whether there is nothing left to do for vs_record_function_watch. */
bool vs_record_function_is_settled(void);

/* PyTorch does not call us any more, but for the ends of ranges that are open. */
void vs_record_function_leave(void);

#endif
