#include "compare.h"

#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace parity {
namespace {

constexpr const char *kinds[] = {
#define VS_EVENT_KIND(name, action, words) action,
#include "event/kinds.def"
#undef VS_EVENT_KIND
};
constexpr const char *groups[] = {
#define VS_ALLOC_GROUP(name, text, is_bytes, words) text,
#include "alloc/groups.def"
#undef VS_ALLOC_GROUP
};
constexpr const char *parts[] = {"all", "small_pool", "large_pool"};
constexpr const char *oversize[] = {"oversize_allocations", "oversize_segments"};
constexpr const char *counters[] = {"num_alloc_retries", "num_ooms",        "num_sync_all_streams",
                                    "num_device_alloc",  "num_device_free", "num_oom_rejections",
                                    "max_split_size"};

[[gnu::format(printf, 1, 2)]] std::string text(const char *format, ...) {
  char out[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(out, sizeof out, format, arguments);
  va_end(arguments);
  return out;
}

bool is_equal(const parity_event &a, const parity_event &b) {
  return a.kind == b.kind && a.address == b.address && a.size == b.size && a.stream == b.stream &&
         a.pool[0] == b.pool[0] && a.pool[1] == b.pool[1] && a.context == b.context;
}

std::string listing(const parity_event *events, uint64_t count, uint64_t around) {
  std::string out;
  for (uint64_t i = around > 3 ? around - 3 : 0; i < count && i < around + 4; i++)
    out += text("    %c %" PRIu64 " ", i == around ? '>' : ' ', i) + to_text(events[i]) + "\n";
  if (around >= count) out += "    > nothing more\n";
  return out;
}

/* Both are rows of int64_t. */
std::string compare_stat(const std::string &name, const parity_stat &peer, const parity_stat &ours) {
  if (std::memcmp(&peer, &ours, sizeof peer) == 0) return "";
  const auto all = [](const parity_stat &s) {
    return text("%" PRId64 "/%" PRId64 "/%" PRId64 "/%" PRId64, s.current, s.peak, s.allocated, s.freed);
  };
  return "  " + name + " (current/peak/allocated/freed): PyTorch " + all(peer) + ", vs_alloc " + all(ours) +
         "\n";
}

std::string compare_pools(const parity_statistics &peer, const parity_statistics &ours) {
  std::string out;
  for (uint32_t i = 0; i < peer.pool_count || i < ours.pool_count; i++) {
    if (i >= peer.pool_count || i >= ours.pool_count)
      return out + text("  private pools: PyTorch has %" PRIu32 ", vs_alloc %" PRIu32 "\n", peer.pool_count,
                        ours.pool_count);
    const parity_private &a = peer.pool[i], &b = ours.pool[i];
    if (a.pool[0] != b.pool[0] || a.pool[1] != b.pool[1])
      return out + text("  private pool %" PRIu32 ": PyTorch (%" PRIu64 ",%" PRIu64 "), vs_alloc (%" PRIu64
                        ",%" PRIu64 ")\n",
                        i, a.pool[0], a.pool[1], b.pool[0], b.pool[1]);
    for (int p = 0; p < PARITY_PARTS; p++)
      out += compare_stat(
          text("reserved_bytes_by_private_pools.%" PRIu64 "_%" PRIu64 ".%s", a.pool[0], a.pool[1], parts[p]),
          a.part[p], b.part[p]);
  }
  return out;
}

bool is_equal(const parity_row &a, const parity_row &b) {
  return a.is_segment == b.is_segment && a.address == b.address && a.size == b.size &&
         a.requested == b.requested && a.state == b.state && a.context == b.context &&
         a.allocated == b.allocated && a.active == b.active && a.stream == b.stream &&
         a.pool[0] == b.pool[0] && a.pool[1] == b.pool[1] && a.is_small == b.is_small &&
         a.is_expandable == b.is_expandable && a.registration == b.registration;
}

} // namespace

std::string to_text(const parity_event &event) {
  return text("%s %" PRIx64 " size %" PRIu64 " stream %" PRIx64 " pool (%" PRIu64 ",%" PRIu64
              ") context %" PRId32,
              event.kind < sizeof kinds / sizeof *kinds ? kinds[event.kind] : "?", event.address, event.size,
              event.stream, event.pool[0], event.pool[1], static_cast<int32_t>(event.context));
}

std::string to_text(const parity_row &row) {
  if (!row.is_segment)
    return text("  block %" PRIx64 " size %" PRIu64 " requested %" PRIu64 " state %s context %" PRId32,
                row.address, row.size, row.requested,
                row.state == 0   ? "allocated"
                : row.state == 1 ? "pending"
                                 : "free",
                static_cast<int32_t>(row.context));
  return text("segment %" PRIx64 " size %" PRIu64 " allocated %" PRIu64 " active %" PRIu64
              " requested %" PRIu64 " stream %" PRIx64 " pool (%" PRIu64 ",%" PRIu64 ") %s%s context %" PRId32
              " registration %" PRId64,
              row.address, row.size, row.allocated, row.active, row.requested, row.stream, row.pool[0],
              row.pool[1], row.is_small ? "small" : "large", row.is_expandable ? " expandable" : "",
              static_cast<int32_t>(row.context), row.registration);
}

std::string compare_events(const parity_event *peer, uint64_t peer_count, const parity_event *ours,
                           uint64_t our_count) {
  uint64_t i = 0;
  while (i < peer_count && i < our_count && is_equal(peer[i], ours[i])) i++;
  if (i == peer_count && i == our_count) return "";
  return text("  event %" PRIu64 " of this operation (PyTorch tells %" PRIu64 ", vs_alloc %" PRIu64 ")\n", i,
              peer_count, our_count) +
         "   PyTorch\n" + listing(peer, peer_count, i) + "   vs_alloc\n" + listing(ours, our_count, i);
}

std::string compare_statistics(const parity_statistics &peer, const parity_statistics &ours) {
  std::string out;
  if (std::memcmp(peer.group, ours.group, sizeof peer.group) != 0)
    for (int g = 0; g < PARITY_GROUPS; g++)
      for (int p = 0; p < PARITY_PARTS; p++)
        out += compare_stat(std::string(groups[g]) + "." + parts[p], peer.group[g][p], ours.group[g][p]);
  for (int i = 0; i < 2; i++) out += compare_stat(oversize[i], peer.oversize[i], ours.oversize[i]);
  for (int i = 0; i < PARITY_COUNTERS; i++)
    if (peer.counter[i] != ours.counter[i])
      out += text("  %s: PyTorch %" PRId64 ", vs_alloc %" PRId64 "\n", counters[i], peer.counter[i],
                  ours.counter[i]);
  return out + compare_pools(peer, ours);
}

std::string compare_rows(const parity_row *peer, uint64_t peer_count, const parity_row *ours,
                         uint64_t our_count) {
  uint64_t i = 0;
  while (i < peer_count && i < our_count && is_equal(peer[i], ours[i])) i++;
  if (i == peer_count && i == our_count) return "";
  const auto at = [i](const parity_row *rows, uint64_t count) {
    return i < count ? to_text(rows[i]) : std::string("nothing more");
  };
  return text("  row %" PRIu64 " of the snapshot (%" PRIu64 " and %" PRIu64 " rows)\n", i, peer_count,
              our_count) +
         "    PyTorch:  " + at(peer, peer_count) + "\n    vs_alloc: " + at(ours, our_count) + "\n";
}

} // namespace parity
