/* Comparisons, each answering with the first difference in words; "" where there is none. */
#ifndef PARITY_COMPARE_H
#define PARITY_COMPARE_H

#include "side.h"

#include <string>

namespace parity {

std::string compare_events(const parity_event *peer, uint64_t peer_count, const parity_event *ours,
                           uint64_t our_count);
std::string compare_statistics(const parity_statistics &peer, const parity_statistics &ours);
std::string compare_rows(const parity_row *peer, uint64_t peer_count, const parity_row *ours,
                         uint64_t our_count);

std::string to_text(const parity_event &event);
std::string to_text(const parity_row &row);

} // namespace parity

#endif
