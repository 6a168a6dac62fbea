/* Files of ranks by their names: the order in which they are shown, the number of the rank, and which file of one folder is the
 * same rank as which of another folder. */
#ifndef VS_DIFF_RANK_NAMES_H
#define VS_DIFF_RANK_NAMES_H

#include "base/sort.h"
#include "base/text.h"

/* Numbers in names are compared as numbers: rank2 is before rank10. Less than, equal to or greater than 0. */
int vs_rank_names_compare(vs_str a, vs_str b);

/* The number of the rank that a file is of, by its path; false if there is none. It is, of the name of the file,
 *
 *   the number behind the word "rank": rank3_memory_snapshot.pickle, mem-rank_3.pickle; of several the last one, and a local rank
 *                                      (local_rank0) only if there is no other
 *   else the last number:              snapshot_3.pickle
 *
 * and of a file without a number in its name that behind "rank" in the name of the nearest folder with one: rank3/snapshot.pickle. */
bool vs_rank_number(vs_str path, uint64_t *number);

/* Whether no two numbers are equal, so that "rank 3" names one file. Sorts them. Fails: VS_NO_MEMORY */
VS_MUST_CHECK vs_status vs_rank_numbers_differ(const vs_host *host, vs_sort_pair *numbers, size_t count,
                                               bool *differ);

#define VS_RANK_ALONE UINT32_MAX

/* mates[i]: the file of `b` that is the same rank as file i of `a`, VS_RANK_ALONE if there is none; count_a of them. Files are
 * paired by their numbers. A file without a number, or with one that another file of its side has, too, is paired with the file
 * of the same name, without its folder. Fails: VS_NO_MEMORY, VS_LIMIT */
VS_MUST_CHECK vs_status vs_rank_names_pair(const vs_host *host, const vs_str *a, size_t count_a,
                                           const vs_str *b, size_t count_b, uint32_t *mates);

#endif
