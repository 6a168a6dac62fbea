/* What the program marks with PyTorch's record_function, as annotations: also what PyTorch marks so itself, such as the steps of its
 * optimizers and of its profiler.
 *
 * PyTorch has a list of functions that it calls at the beginning and at the end of each range of a kind (at::addGlobalCallback). Ours are
 * for ranges of the user only (at::RecordScope::USER_SCOPE), so an operator calls nothing more than before. But as long as the list is not
 * empty, each node of a backward pass copies it, which costs a training step some percent. A range takes the functions that it will call out
 * of the list when it is made. So ours are in the list only while a range of the user is made: the calls of its constructor are led here.
 * Where that cannot be, they stay in the list.
 *
 * The list is an interface of C++, whose objects are made here as its compiler lays them out. So it is asked back what it would call: ours
 * has to be among those for a range of the user, and not among those for an operator. Else no range is watched, and the recording says that
 * annotations are missing (VS_DOUBT_ANNOTATIONS). */
#ifndef VS_PRELOAD_RECORD_FUNCTION_H
#define VS_PRELOAD_RECORD_FUNCTION_H

#include <vramscope/base.h>

/* at::RecordFunction::RecordFunction(at::RecordScope): makes a range that has not begun. */
#define VS_RANGE_BEGIN _ZN2at14RecordFunctionC1ENS_11RecordScopeE
typedef void vs_range_function(void *range, uint8_t scope);

/* Watches ranges from now on; does nothing where it does already, or where PyTorch is not loaded yet. `ours` is what PyTorch's calls of
 * VS_RANGE_BEGIN are led to; it calls vs_record_function_make. Takes locks of the loader and of PyTorch's list, none of Python's or of the
 * allocator's. */
void vs_record_function_watch(vs_range_function *ours);

/* A range is made, by `next`: with our functions, if it is one that is watched. Any thread. */
void vs_record_function_make(void *range, uint8_t scope, vs_range_function *next);

/* Whether there is nothing left to do for vs_record_function_watch. */
bool vs_record_function_is_settled(void);

/* Ranges that are made from now on are not watched. Those that are open still tell their end. */
void vs_record_function_leave(void);

#endif
