#include "drive.h"

#include "compare.h"
#include "event/kinds.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <memory>

namespace parity {

bool is_tracing = false;

namespace {

constexpr uint16_t POOLS = 8; // that operations name; each may be made again, with a new id
constexpr uint32_t JOINING_MARK = PARITY_MARKS - 1;
constexpr uint64_t LOOK_CLOSER = 512; // operations between two comparisons of the whole state
constexpr const char *classes[] = {"", "a", "b", "unknown"};
constexpr int32_t ALL_STREAMS = -1, CAPTURED_STREAMS = -2;

struct Slot {
  bool is_live = false, is_hoarded = false;
  uint32_t recorded = 0, recorded_in_capture = 0; /* a bit for each stream */
  uint16_t stream = 0;
  uint64_t address = 0;
  uint64_t pool = 0; /* its number, 0 for the default pool */
};

struct Pool {
  uint64_t id[2] = {0, 0};
  int64_t users = 0;
  bool is_routed = false, lends = false;
  int32_t captured = -1; // the stream whose capture it serves
};

struct Mark {
  bool is_recorded = false;
  uint64_t capture = 0;
};

/* What the callbacks of both free, in the same order. */
struct Hoard {
  uint16_t mode = 0;
  std::vector<uint16_t> slots;
  size_t peer = 0, ours = 0; // how many each has freed in this operation
} hoard;

class Driver {
public:
  Driver(const Case &which, Tally &tally) : case_(which), tally_(tally) {}

  void run() {
    const parity_start start = case_.start();
    most_split_ = max_split_of(case_.settings);
    is_async_ = case_.settings.find("cudaMallocAsync") != std::string::npos;
    parity_peer.begin(&start);
    parity_ours.begin(&start);
    compare_memory();
    compare_state();
    for (size_t i = 0; i < case_.operations.size() && !is_over(); i++) {
      tally_.at = i;
      step(case_.operations[i]);
    }
    if (!is_over()) end();
  }

private:
  bool is_over() const { return tally_.is_different || tally_.broken != 0; }

  /* ---- comparing */

  void differ(const std::string &what) {
    if (is_over() || what.empty()) return;
    tally_.is_different = true;
    std::snprintf(tally_.what, sizeof tally_.what, "%s", what.c_str());
  }

  /* Both are asked, the peer first. */
  template <typename F> bool both(F &&call) {
    hoard.peer = hoard.ours = 0;
    const parity_result peer = call(parity_peer), ours = call(parity_ours);
    tally_.operations++;
    tally_.ooms += peer == PARITY_OOM;
    tally_.refusals += peer == PARITY_REFUSED;
    static constexpr const char *names[] = {"done", "out of memory", "refused"};
    if (peer == PARITY_REFUSED && is_broken(parity_peer.message())) {
      give_up(parity_peer.message());
      return false;
    }
    forget_hoarded();
    if (peer != ours)
      differ(std::string("  result: PyTorch ") + names[peer] +
             (peer == PARITY_DONE ? "" : std::string(" (") + parity_peer.message() + ")") + ", vs_alloc " +
             names[ours] + (ours == PARITY_DONE ? "" : std::string(" (") + parity_ours.message() + ")") +
             "\n");
    if (peer == PARITY_OOM && ours == PARITY_OOM) compare_messages();
    compare_told();
    compare_counts();
    return peer == PARITY_DONE && !is_over();
  }

  /* An assertion of PyTorch's own fails. */
  static bool is_broken(const std::string &message) {
    return message.find("INTERNAL ASSERT FAILED") != std::string::npos;
  }

  void give_up(const char *why) {
    tally_.broken = 1;
    std::snprintf(tally_.what, sizeof tally_.what, "%s", why);
  }
  void give_up(const std::string &why) { give_up(why.c_str()); }

  void compare_messages() {
    const std::string peer = parity_peer.message(), ours = parity_ours.message();
    tally_.rejections += peer.find("preemptively") != std::string::npos;
    if (peer != ours) differ("  message\n   PyTorch:  " + peer + "\n   vs_alloc: " + ours + "\n");
  }

  void compare_told() {
    const parity_event *peer = nullptr, *ours = nullptr;
    const uint64_t peer_count = parity_peer.events(&peer), our_count = parity_ours.events(&ours);
    if (is_async_) return; // PyTorch tells nothing there
    tally_.events += peer_count;
    for (uint64_t i = 0; is_tracing && i < peer_count; i++)
      std::printf("%6" PRIu64 "  %s\n", tally_.at, to_text(peer[i]).c_str());
    differ(compare_events(peer, peer_count, ours, our_count));
    for (uint64_t i = 0; i < peer_count; i++) {
      if (peer[i].kind == VS_EVENT_FREE_COMPLETED && peer[i].address == deferred_) {
        deferred_ = 0;
        is_muddled_ |= captures_ > 0;
      }
      tally_.maps += peer[i].kind == VS_EVENT_SEGMENT_MAP;
      if (peer[i].kind == VS_EVENT_ALLOC) last_pool_ = peer[i].pool[0] + peer[i].pool[1];
    }
  }

  void compare_counts() {
    parity_peer.statistics(&peer_statistics_);
    parity_ours.statistics(&our_statistics_);
    tally_.retries = static_cast<uint64_t>(std::max<int64_t>(peer_statistics_.counter[0], 0));
    differ(compare_statistics(peer_statistics_, our_statistics_));
  }

  void compare_memory() {
    uint64_t peer[2], ours[2];
    parity_peer.memory(&peer[0], &peer[1]);
    parity_ours.memory(&ours[0], &ours[1]);
    if (peer[0] != ours[0] || peer[1] != ours[1])
      differ("  device memory (free, total): PyTorch's " + std::to_string(peer[0]) + ", " +
             std::to_string(peer[1]) + "; ours " + std::to_string(ours[0]) + ", " + std::to_string(ours[1]) +
             "\n");
  }

  void compare_snapshot(const Pool &pool) {
    const parity_row *peer = nullptr, *ours = nullptr;
    uint64_t peer_count = 0, our_count = 0;
    if (both([&](const parity_side &side) {
          return &side == &parity_peer ? side.snapshot(pool.id, &peer, &peer_count)
                                       : side.snapshot(pool.id, &ours, &our_count);
        }))
      differ(compare_rows(peer, peer_count, ours, our_count));
    for (uint64_t i = 0; is_tracing && i < peer_count; i++)
      std::printf("        %s\n", to_text(peer[i]).c_str());
    tally_.snapshots++;
  }

  void compare_state() {
    if (is_async_) return compare_memory(); // no snapshots
    compare_snapshot(Pool{});
    compare_memory();
    const char *broken = parity_ours.check();
    if (broken != nullptr) differ(std::string("  an invariant of vs_alloc: ") + broken + "\n");
  }

  /* ---- blocks */

  /* Slots that the callbacks gave back; both must have freed the same ones. */
  void forget_hoarded() {
    if (hoard.peer != hoard.ours)
      differ("  the callback: PyTorch freed " + std::to_string(hoard.peer) + ", vs_alloc " +
             std::to_string(hoard.ours) + "\n");
    for (size_t i = 0; i < hoard.peer; i++) slots_[hoard.slots[i]] = Slot{};
    hoard.slots.erase(hoard.slots.begin(), hoard.slots.begin() + static_cast<ptrdiff_t>(hoard.peer));
    hoard.peer = hoard.ours = 0;
  }

  /* What the caller's stream, that of the last allocation, has to do with captures decides. */
  bool is_deferring() const { return capture_of_[current_] != 0; }

  bool is_captured(uint32_t streams) const {
    for (uint16_t s = 0; s < PARITY_STREAMS; s++)
      if ((streams >> s & 1) != 0 && capture_of_[s] != 0) return true;
    return false;
  }

  /* Taking pages away synchronises the stream that they belong to, which a capture does not survive. */
  bool spoils_captures() const { return captures_ > 0 && tally_.maps > 0; }

  /* PyTorch would record an event on a captured stream, to ask it later, and be broken by the answer: so no
   * program does this here. */
  bool asks_captured_event() const { return deferred_ != 0 && is_captured(deferred_streams_); }

  void alloc(const Operation &op) {
    Slot &slot = slots_[op.a];
    if (slot.is_live || (is_async_ && op.c >> 40 != 0)) return; // no card has so much
    uint64_t address[2] = {0, 0};
    if (capture_of_[op.b] == 0 && asks_captured_event()) return;
    current_ = op.b;
    if (!is_deferring() && op.c != 0) deferred_ = 0; // they are looked at first
    const bool is_done = both([&](const parity_side &side) {
      return side.alloc(op.a, op.c, op.b, &address[&side == &parity_ours]);
    });
    tally_.allocations++;
    if (address[0] != address[1])
      differ("  address: PyTorch " + std::to_string(address[0]) + ", vs_alloc " + std::to_string(address[1]) +
             "\n");
    if (is_done && address[0] != 0) slot = Slot{true, false, 0, 0, op.b, address[0], last_pool_};
  }

  /* PyTorch keeps blocks that were freed during a capture in a table by the addresses of its own objects:
   * in which order it looks at two of them is chance. So there is never more than one.
   *
   * In another such table it keeps which streams were recorded in a capture, and does not always forget: a
   * later block in the same object is then free too early, where it was recorded before a capture and freed
   * in one. So this is left out once the table can be wrong. */
  void free(uint16_t which) {
    Slot &slot = slots_[which];
    if (!slot.is_live || slot.is_hoarded) return;
    const bool defers = slot.recorded != 0 && is_deferring();
    const uint32_t before = slot.recorded & ~slot.recorded_in_capture;
    if ((defers && deferred_ != 0) || (!defers && is_captured(slot.recorded))) return;
    if (defers && before != 0 && is_muddled_) return;
    is_muddled_ |= !defers && slot.recorded_in_capture != 0;
    if (defers) deferred_ = slot.address, deferred_streams_ = before;
    both([&](const parity_side &side) { return side.free(which); });
    slot = Slot{};
  }

  void record(const Operation &op) {
    Slot &slot = slots_[op.a];
    if (!slot.is_live || slot.is_hoarded) return;
    if (slot.stream != op.b) {
      const uint32_t bit = UINT32_C(1) << op.b;
      if (is_deferring()) slot.recorded_in_capture |= bit;
      slot.recorded |= bit;
    }
    both([&](const parity_side &side) { return side.record(op.a, op.b); });
  }

  void base(uint16_t which) {
    if (!slots_[which].is_live) return;
    uint64_t begins[2] = {0, 0}, size[2] = {0, 0};
    bool answers = true;
    both([&](const parity_side &side) {
      const size_t i = &side == &parity_ours;
      const parity_result result = side.base(which, &begins[i], &size[i]);
      if (i == 0) answers = result == PARITY_DONE; /* PyTorch refuses for expandable segments */
      return answers ? result : PARITY_REFUSED;
    });
    if (answers && (begins[0] != begins[1] || size[0] != size[1]))
      differ("  base allocation: PyTorch " + std::to_string(begins[0]) + " + " + std::to_string(size[0]) +
             ", vs_alloc " + std::to_string(begins[1]) + " + " + std::to_string(size[1]) + "\n");
  }

  void keep_for_callback(uint16_t which) {
    Slot &slot = slots_[which];
    if (!slot.is_live || slot.recorded != 0 || slot.is_hoarded) return;
    slot.is_hoarded = true;
    hoard.slots.push_back(which);
  }

  /* ---- pools */

  bool make(Pool &pool, bool by_capture) {
    if (next_pool_ == PARITY_POOLS) return false;
    pool = Pool{};
    pool.id[by_capture ? 0 : 1] = next_pool_++;
    return true;
  }

  void count_users(Pool &pool) {
    const int64_t peer = parity_peer.users(pool.id), ours = parity_ours.users(pool.id);
    if (peer != ours)
      differ("  users of the pool: PyTorch " + std::to_string(peer) + ", vs_alloc " + std::to_string(ours) +
             "\n");
  }

  void retain(Pool &pool, uint64_t bytes) {
    if (both([&](const parity_side &side) { return side.pool_retain(pool.id, bytes); })) pool.users++;
    count_users(pool);
  }

  /* PyTorch forgets a pool without users while blocks of its expandable segments are live, and goes on
   * using it. */
  bool is_in_use(const Pool &pool) const {
    return std::any_of(slots_.begin(), slots_.end(), [&](const Slot &slot) {
      return slot.is_live && slot.pool == pool.id[0] + pool.id[1];
    });
  }

  void drop(Pool &pool) {
    if (pool.users == 0 || (pool.users == 1 && pool.is_routed)) return;
    if (pool.users == 1 && tally_.maps > 0 && is_in_use(pool)) return;
    if (pool.users == 1) lend(pool, false); /* PyTorch asks a pool that is gone for memory, and fails */
    if (both([&](const parity_side &side) { return side.pool_release(pool.id); })) pool.users--;
    count_users(pool);
  }

  void route(Pool &pool, int32_t only) {
    if (pool.is_routed || pool.lends) return;
    if (pool.users == 0 && !make(pool, only == CAPTURED_STREAMS)) return;
    if (!both([&](const parity_side &side) { return side.route_begin(pool.id, only); })) return;
    pool.is_routed = true;
    pool.users++;
    count_users(pool);
  }

  /* PyTorch routes to a pool that lends when it looks there, which it cannot where a route is. */
  void lend(Pool &pool, bool on) {
    if (pool.users == 0 || pool.is_routed || pool.lends == on) return;
    if (both([&](const parity_side &side) { return side.lend(pool.id, on); })) pool.lends = on;
  }

  void unroute(Pool &pool) {
    if (!pool.is_routed || pool.captured >= 0 || asks_captured_event()) return;
    both([&](const parity_side &side) { return side.route_end(pool.id); });
    pool.is_routed = false;
  }

  /* ---- captures */

  void capture(Pool &pool, uint16_t stream) {
    if (stream == 0 || capture_of_[stream] != 0 || pool.is_routed || captures_ == 2) return;
    route(pool, CAPTURED_STREAMS);
    if (!pool.is_routed) return;
    if (!both([&](const parity_side &side) { return side.capture_begin(stream); })) return;
    pool.captured = stream;
    capture_of_[stream] = ++last_capture_;
    captures_++;
    tally_.captures++;
  }

  /* Streams that joined are joined back first, as a program must. */
  void end_capture(Pool &pool) {
    if (pool.captured < 0) return;
    const auto origin = static_cast<uint16_t>(pool.captured);
    const uint64_t capture = capture_of_[origin];
    for (uint16_t s = 0; s < PARITY_STREAMS; s++) {
      if (s == origin || capture_of_[s] != capture) continue;
      mark(JOINING_MARK, s);
      wait(JOINING_MARK, origin);
      capture_of_[s] = 0;
    }
    both([&](const parity_side &side) { return side.capture_end(origin); });
    capture_of_[origin] = 0;
    captures_--;
    pool.captured = -1;
    unroute(pool);
  }

  void mark(uint32_t which, uint16_t stream) {
    if (both([&](const parity_side &side) { return side.mark(which, stream); }))
      marks_[which] = Mark{true, capture_of_[stream]};
  }

  bool is_running(uint64_t capture) const {
    return std::find(std::begin(capture_of_), std::end(capture_of_), capture) != std::end(capture_of_);
  }

  /* Only what a right program does: a capture is waited for while it lasts, by its own streams and those
   * that join. */
  void wait(uint32_t which, uint16_t stream) {
    const Mark &mark = marks_[which];
    if (!mark.is_recorded || (mark.capture != 0 && (!is_running(mark.capture) || stream == 0))) return;
    if (capture_of_[stream] != 0 && capture_of_[stream] != mark.capture) return;
    if (both([&](const parity_side &side) { return side.wait(stream, which); }) && mark.capture != 0)
      capture_of_[stream] = mark.capture;
  }

  /* ---- the rest */

  /* Where max_split_size_mb falls at run time, PyTorch takes parts of segments for whole ones and frees the
   * memory of others with them: so here it only rises. */
  static uint64_t max_split_of(const std::string &text) {
    static const std::string key = "max_split_size_mb:";
    const size_t at = text.find(key);
    return at == std::string::npos ? UINT64_MAX : std::stoull(text.substr(at + key.size()));
  }

  /* A text that PyTorch refuses has half of its keys applied there, and none here: nothing to compare
   * behind it. */
  void settings(uint16_t which) {
    if (which >= case_.texts.size() || max_split_of(case_.texts[which]) < most_split_) return;
    most_split_ = max_split_of(case_.texts[which]);
    if (!both([&](const parity_side &side) { return side.settings(case_.texts[which].c_str()); }) &&
        !is_over())
      give_up(std::string("settings: ") + parity_peer.message());
  }

  void weigh(uint16_t which, uint64_t size) {
    if (which >= PARITY_WEIGHTS || weighs_[which] || size == 0) return;
    weighs_[which] = both([&](const parity_side &side) { return side.weigh(which, size); });
  }

  void unweigh(uint16_t which) {
    if (which >= PARITY_WEIGHTS || !weighs_[which]) return;
    both([&](const parity_side &side) { return side.unweigh(which); });
    weighs_[which] = false;
  }

  /* What the asynchronous back ends do alike. PyTorch lets the driver wait for recorded streams, ours asks events. */
  static bool is_for_async(const Operation &op) {
    static constexpr Kind known[] = {ALLOC, FREE, EMPTY,    FRACTION, RESET_PEAK,
                                     WORK,  SYNC, SYNC_ALL, WEIGH,    UNWEIGH};
    const bool is_known = std::find(std::begin(known), std::end(known), op.kind) != std::end(known);
    return is_known && (op.kind != EMPTY || op.a == 0);
  }

  void step(Operation op) {
    if (is_over() || (is_async_ && !is_for_async(op))) return;
    parity_peer.context(static_cast<uint32_t>(tally_.at));
    parity_ours.context(static_cast<uint32_t>(tally_.at));
    op.b %= op.kind == ROUTE ? PARITY_STREAMS + 1 : PARITY_STREAMS;
    const bool names_slot =
        op.kind == ALLOC || op.kind == FREE || op.kind == RECORD || op.kind == BASE || op.kind == HOARD;
    if (names_slot) op.a %= PARITY_SLOTS;
    Pool &pool = pools_[op.a % POOLS];
    const bool is_private = op.a % POOLS != 0;
    switch (op.kind) {
      case ALLOC: alloc(op); break;
      case FREE: free(op.a); break;
      case RECORD: record(op); break;
      case BASE: base(op.a); break;
      case EMPTY:
        if (!asks_captured_event() && !(is_private && is_deferring()) && !spoils_captures())
          both([&](const parity_side &side) { return side.empty(pool.id); });
        break;
      case FRACTION:
        both([&](const parity_side &side) {
          return side.fraction(static_cast<double>(op.c % 1000001) / 1e6);
        });
        break;
      case SETTINGS: settings(op.a); break;
      case CLASS:
        both([&](const parity_side &side) { return side.stream_class(op.b, classes[op.a % 4]); });
        break;
      case RESET_PEAK: both([](const parity_side &side) { return side.reset_peak(), PARITY_DONE; }); break;
      case RESET_TOTALS:
        both([](const parity_side &side) { return side.reset_totals(), PARITY_DONE; });
        break;
      case POOL:
        if (is_private && pool.users == 0 && !pool.is_routed && make(pool, false)) retain(pool, op.c);
        break;
      case KEEP:
        if (is_private && pool.users > 0) retain(pool, 0);
        break;
      case DROP:
        if (is_private) drop(pool);
        break;
      case LEND:
        if (is_private) lend(pool, op.b != 0);
        break;
      case NO_SPLIT:
        if (is_private && pool.users > 0)
          both([&](const parity_side &side) { return side.no_split(pool.id); });
        break;
      case ROUTE:
        if (is_private) route(pool, op.b == 0 ? ALL_STREAMS : op.b - 1);
        break;
      case UNROUTE:
        if (is_private) unroute(pool);
        break;
      case CAPTURE:
        if (is_private) capture(pool, op.b);
        break;
      case END_CAPTURE:
        if (is_private) end_capture(pool);
        break;
      case WORK: both([&](const parity_side &side) { return side.work(op.b); }); break;
      case MARK: mark(op.a % JOINING_MARK, op.b); break;
      case WAIT: wait(op.a % JOINING_MARK, op.b); break;
      case SYNC:
        if (capture_of_[op.b] == 0 && captures_ == 0)
          both([&](const parity_side &side) { return side.synchronize(op.b); });
        break;
      case SYNC_ALL:
        if (captures_ == 0) both([](const parity_side &side) { return side.synchronize(-1); });
        break;
      case WEIGH: weigh(op.a, op.c); break;
      case UNWEIGH: unweigh(op.a); break;
      case HOARD: keep_for_callback(op.a); break;
      case CALLBACK: hoard.mode = op.a % 3; break;
      case SNAPSHOT: compare_snapshot(pool); break;
      default: break;
    }
    if (tally_.at % LOOK_CLOSER == LOOK_CLOSER - 1 && !is_over()) compare_state();
  }

  /* All is given back, and looked at once more. */
  void end() {
    tally_.at = case_.operations.size();
    compare_state();
    for (uint16_t p = 1; p < POOLS; p++) step({END_CAPTURE, p});
    for (uint16_t p = 1; p < POOLS; p++) step({UNROUTE, p});
    for (uint32_t s = 0; s < PARITY_SLOTS && !is_over(); s++) {
      slots_[s].is_hoarded = false;
      if (slots_[s].is_live) step({FREE, static_cast<uint16_t>(s)});
    }
    hoard.slots.clear();
    step({SYNC_ALL});
    for (uint16_t p = 1; p < POOLS; p++)
      while (pools_[p].users > 0 && !is_over()) step({DROP, p});
    step({ALLOC, 0, 0, 512});
    step({FREE, 0});
    step({EMPTY});
    if (!is_over()) compare_state();
  }

  const Case &case_;
  Tally &tally_;
  std::array<Slot, PARITY_SLOTS> slots_{};
  std::array<Pool, POOLS> pools_{};
  std::array<Mark, PARITY_MARKS> marks_{};
  std::array<uint64_t, PARITY_STREAMS> capture_of_{}; // the capture that a stream takes part in
  std::array<bool, PARITY_WEIGHTS> weighs_{};
  uint16_t current_ = 0;
  bool is_async_ = false;
  bool is_muddled_ = false;
  uint64_t most_split_ = 0; /* max_split_size_mb */
  uint64_t next_pool_ = 1, last_pool_ = 0, last_capture_ = 0;
  uint64_t deferred_ = 0; /* the block that is, by its address; the streams that it needs events of */
  uint32_t deferred_streams_ = 0;
  int captures_ = 0;
  parity_statistics peer_statistics_{}, our_statistics_{};
};

} // namespace

void drive(const Case &which, Tally &tally) { std::make_unique<Driver>(which, tally)->run(); }

} // namespace parity

bool parity_free_memory(const parity_side *side) {
  using parity::hoard;
  if (hoard.mode != 1) return hoard.mode == 2;
  size_t &next = side == &parity_peer ? hoard.peer : hoard.ours;
  if (next >= hoard.slots.size()) return false;
  return side->free(hoard.slots[next++]) == PARITY_DONE;
}
