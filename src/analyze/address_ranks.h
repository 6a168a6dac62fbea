/* The addresses of a trace's allocations in rising order. A rank stands for an address, so that neighbours by rank are
 * neighbours in memory (rankset.h). */
#ifndef VS_ANALYZE_ADDRESS_RANKS_H
#define VS_ANALYZE_ADDRESS_RANKS_H

#include "analyze/lifetimes.h"

/* Invariant: addresses rise; addresses[of_place[p]] = lifetimes->addresses[p]. */
typedef struct vs_address_ranks {
  VS_VEC(uint32_t) of_place;
  VS_VEC(uint64_t) addresses; /* by rank */
} vs_address_ranks;

VS_MUST_CHECK vs_status vs_address_ranks_build(const vs_host *host, const vs_lifetimes *lifetimes,
                                               vs_address_ranks *out);
void vs_address_ranks_deinit(const vs_host *host, vs_address_ranks *ranks);

/* The rank of the address of a row of lifetimes. */
static inline uint32_t vs_address_rank(const vs_address_ranks *ranks, const vs_lifetimes *lifetimes,
                                       uint32_t row) {
  VS_ASSERT(row < lifetimes->places.count && lifetimes->places.data[row] < ranks->of_place.count);
  return ranks->of_place.data[lifetimes->places.data[row]];
}

#endif
