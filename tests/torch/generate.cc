#include "generate.h"

#include <algorithm>
#include <deque>

namespace parity {
namespace {

constexpr uint64_t KIB = 1024, MIB = 1024 * KIB;

class Random { // xorshift64*, the same everywhere
public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 0x2545f4914f6cdd1d) {
    for (int i = 0; i < 4; i++) next();
  }
  uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1d;
  }
  uint64_t below(uint64_t bound) { return (next() >> 16) % bound; }
  bool once_in(uint64_t n) { return below(n) == 0; }
  uint64_t between(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  /* Every power of two as likely as the next. */
  uint64_t size(uint64_t low_bits, uint64_t high_bits) {
    const uint64_t bits = between(low_bits, high_bits);
    return (UINT64_C(1) << bits) + below(UINT64_C(1) << bits);
  }

private:
  uint64_t state_;
};

/* ---- settings */

constexpr const char *atoms[] = {
    "",
    "expandable_segments:True",
    "max_split_size_mb:20",
    "max_split_size_mb:64",
    "max_split_size_mb:200",
    "roundup_power2_divisions:4",
    "roundup_power2_divisions:[1:2,4:8,16:4,>:2]",
    "roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
    "garbage_collection_threshold:0.6",
    "garbage_collection_threshold:0.9",
    "per_process_memory_fraction:0.4",
    "throw_on_cudamalloc_oom:True",
    "release_lock_on_cudamalloc:True",
    "graph_capture_record_stream_reuse:True",
    "large_segment_size_mb:12",
    "large_segment_size_mb:40",
    "max_non_split_rounding_mb:100",
    "expandable_segments_reserve:0.25",
    "expandable_segments_reserve:1G",
    "expandable_segments_reserve_by_class:[a:0.3,b:1G]",
};

std::string key(const std::string &text) { return text.substr(0, text.find(':')); }
bool needs(const std::string &text, const char *what) { return text.find(what) != std::string::npos; }

/* Some do nothing without another one. */
std::string with_partner(const std::string &text) {
  if (needs(text, "garbage_collection") && !needs(text, "fraction"))
    return text + ",per_process_memory_fraction:0.5";
  if (needs(text, "throw_on") && !needs(text, "fraction")) return text + ",per_process_memory_fraction:0.5";
  if (needs(text, "segments_reserve") && !needs(text, "expandable_segments:"))
    return text + ",expandable_segments:True";
  if (needs(text, "non_split_rounding") && !needs(text, "max_split")) return text + ",max_split_size_mb:64";
  return text;
}

/* large_segment_size_mb is the least that two others may be. */
bool fit(const std::string &a, const std::string &b) {
  if (key(a) == key(b) || a.empty() || b.empty()) return false;
  const auto is_large = [](const std::string &t) { return t == "large_segment_size_mb:40"; };
  const auto is_less = [](const std::string &t) { return t == "max_split_size_mb:20"; };
  return !(is_large(a) && is_less(b)) && !(is_large(b) && is_less(a));
}

/* The settings without the keys that the text in front of them turns off. */
std::string without(const std::string &settings) {
  std::string kept;
  for (size_t at = 0; at < settings.size();) {
    size_t end = at, depth = 0;
    for (; end < settings.size() && (depth > 0 || settings[end] != ','); end++)
      depth += (settings[end] == '[') - static_cast<size_t>(settings[end] == ']');
    const std::string pair = settings.substr(at, end - at);
    if (pair.find(":True") == std::string::npos) kept += (kept.empty() ? "" : ",") + pair;
    at = end + 1;
  }
  return kept;
}

std::vector<Setting> make_settings() {
  std::vector<Setting> made;
  for (const char *atom : atoms) made.push_back({with_partner(atom), false});
  for (size_t a = 0; a < std::size(atoms); a++)
    for (size_t b = a + 1; b < std::size(atoms); b++)
      if (fit(atoms[a], atoms[b]))
        made.push_back({with_partner(std::string(atoms[a]) + "," + atoms[b]), true});
  return made;
}

/* ---- what all patterns need */

class Writer {
public:
  Writer(Case &made, uint64_t seed) : random(seed), made_(made) {
    for (uint16_t i = 0; i < PARITY_SLOTS; i++) spare_.push_back(i);
  }
  void add(Kind kind, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0) {
    made_.operations.push_back({kind, static_cast<uint16_t>(a), static_cast<uint16_t>(b), c});
  }
  uint16_t alloc(uint64_t bytes, uint64_t stream = 0) {
    const uint16_t slot = spare_.front();
    spare_.pop_front();
    add(ALLOC, slot, stream, bytes);
    return slot;
  }
  void free(uint16_t slot) {
    add(FREE, slot);
    spare_.push_back(slot);
  }
  bool has_room() const { return spare_.size() > 64; }
  size_t size() const { return made_.operations.size(); }
  Random random;

private:
  Case &made_;
  std::deque<uint16_t> spare_;
};

/* ---- training: a stack of layers, forward, backward, optimizer; `varies`: the length changes with each
 * step */

class Training {
public:
  Training(Writer &out, bool varies) : out_(out), random_(out.random), varies_(varies) {
    layers_ = random_.between(2, 12);
    width_ = 64 << random_.below(4);
    length_ = 64 << random_.below(4);
    batch_ = random_.between(1, 4);
  }

  void run(uint64_t count) {
    for (uint64_t l = 0; l < layers_; l++)
      for (uint64_t factor : {3, 1, 4, 4}) weights_.push_back(out_.alloc(4 * factor * width_ * width_));
    for (uint64_t step = 0; out_.size() < count; step++) {
      forward();
      backward();
      optimize(step == 0);
      if (step % 8 == 3) out_.add(RESET_PEAK);
      if (step % 8 == 5) out_.add(EMPTY);
    }
  }

private:
  uint64_t tokens() const { return batch_ * now_; }

  void temporary(uint64_t bytes) { out_.free(out_.alloc(bytes)); }

  void forward() {
    now_ = varies_ ? random_.between(length_ / 2, length_ * 2) : length_;
    for (uint64_t l = 0; l < layers_; l++) {
      const uint64_t row = 2 * tokens() * width_;
      kept_.push_back(out_.alloc(row));              // norm
      kept_.push_back(out_.alloc(3 * row));          // q, k, v
      temporary(2 * batch_ * 8 * now_ * now_);       // scores
      kept_.push_back(out_.alloc(row));              // attention
      kept_.push_back(out_.alloc(4 * tokens() * 8)); // log sum
      kept_.push_back(out_.alloc(4 * row));          // inner
      temporary(4 * row);
      if (random_.once_in(4)) out_.add(RECORD, kept_.back(), 1);
    }
    kept_.push_back(out_.alloc(4 * tokens() * 1000)); // logits
  }

  void backward() {
    uint16_t flowing = out_.alloc(2 * tokens() * width_);
    for (size_t w = weights_.size(); !kept_.empty(); w--) {
      const uint16_t next = out_.alloc(2 * tokens() * width_);
      if (w > 0 && w <= weights_.size()) gradients_.push_back(out_.alloc(4 * width_ * width_));
      out_.free(flowing);
      flowing = next;
      out_.free(kept_.back());
      kept_.pop_back();
      if (w == 0) w = 1;
      if (gradients_.size() % 6 == 5) bucket();
    }
    out_.free(flowing);
  }

  /* Gradients go out on another stream while the next ones are computed. */
  void bucket() {
    const uint16_t buffer = out_.alloc(6 * 4 * width_ * width_);
    out_.add(RECORD, buffer, 2);
    out_.add(WORK, 0, 2);
    out_.free(buffer);
    if (random_.once_in(3)) out_.add(SYNC, 0, 2);
  }

  void optimize(bool is_first) {
    for (size_t i = 0; is_first && i < weights_.size(); i++) {
      out_.alloc(4 * width_ * width_); // moments, for ever
      out_.alloc(4 * width_ * width_);
    }
    for (size_t i = 0; i < gradients_.size(); i++) temporary(4 * width_ * width_);
    for (uint16_t gradient : gradients_) out_.free(gradient);
    gradients_.clear();
  }

  Writer &out_;
  Random &random_;
  bool varies_;
  uint64_t layers_, width_, length_, batch_, now_ = 0;
  std::vector<uint16_t> weights_, kept_, gradients_;
};

/* ---- serving: requests come, grow by blocks, and go in any order */

void serve(Writer &out, uint64_t count) {
  Random &random = out.random;
  struct Request {
    std::vector<uint16_t> blocks;
    uint64_t stream, left;
  };
  std::vector<Request> live;
  const uint64_t block = UINT64_C(64) * KIB << random.below(6), most = random.between(4, 48);
  while (out.size() < count) {
    if (live.size() < most && random.once_in(3)) {
      live.push_back({{}, random.below(4), random.between(1, 40)});
      const uint64_t prompt = out.alloc(random.size(12, 22), live.back().stream);
      out.add(WORK, 0, live.back().stream);
      out.free(static_cast<uint16_t>(prompt));
    }
    if (live.empty()) continue;
    Request &request = live[random.below(live.size())];
    if (request.left-- > 0 && out.has_room()) {
      request.blocks.push_back(out.alloc(random.once_in(8) ? random.size(9, 24) : block, request.stream));
      out.free(out.alloc(random.between(1, 40) * 4 * KIB, request.stream));
    } else {
      for (uint16_t slot : request.blocks) {
        if (random.once_in(16)) out.add(RECORD, slot, random.below(4));
        out.free(slot);
      }
      std::swap(request, live.back());
      live.pop_back();
    }
    if (random.once_in(200)) out.add(SYNC, 0, random.below(4));
    if (random.once_in(1000)) out.add(EMPTY);
  }
}

/* ---- graphs: work on several streams is captured, with memory that goes from one to the other; between
 * captures the program goes on */

void capture_work(Writer &out, std::vector<uint16_t> &live, uint64_t steps) {
  Random &random = out.random;
  for (uint64_t i = 0; i < steps; i++) {
    const uint64_t stream = random.between(1, 3), other = random.between(1, 3);
    switch (random.below(8)) {
      case 0: out.add(WORK, 0, stream); break;
      case 1:
      case 2: out.add(MARK, 0, stream), out.add(WAIT, 0, other); break;
      case 3:
        if (!live.empty()) out.add(RECORD, live[random.below(live.size())], stream);
        break;
      case 4:
      case 5: live.push_back(out.alloc(random.size(9, 23), stream)); break;
      default:
        if (live.empty()) break;
        std::swap(live[random.below(live.size())], live.back());
        out.free(live.back());
        live.pop_back();
    }
  }
}

void graphs(Writer &out, uint64_t count) {
  Random &random = out.random;
  std::vector<uint16_t> kept, live;
  while (out.size() < count) {
    const uint64_t pool = random.between(1, 3);
    if (random.once_in(3)) out.add(DROP, pool);
    if (random.once_in(2)) out.add(random.once_in(2) ? SYNC_ALL : EMPTY);
    out.add(CAPTURE, pool, 1);
    capture_work(out, live, random.between(3, 60));
    if (random.once_in(4)) out.free(out.alloc(random.size(9, 23), 5)); // another stream, meanwhile
    out.add(END_CAPTURE, pool);
    for (size_t i = 0; i < live.size(); i++)
      if (random.once_in(4)) kept.push_back(live[i]);
      else out.free(live[i]);
    live.clear();
    while (kept.size() > 32) out.free(kept.back()), kept.pop_back();
    for (uint64_t i = random.below(20); i > 0; i--) out.free(out.alloc(random.size(9, 24), random.below(4)));
  }
}

/* ---- random: everything, in any order. How likely each is changes from case to case, as do the sizes. */

class Chaos {
public:
  Chaos(Writer &out, Case &made) : out_(out), random_(out.random), made_(made) {
    most_live_ = UINT64_C(4) << random_.below(11);
    streams_ = random_.between(1, PARITY_STREAMS);
    high_bits_ = random_.between(16, 28);
    for (uint64_t &rare : rare_) rare = random_.once_in(3) ? 0 : random_.size(3, 9);
    for (int i = 0; i < 8; i++) usual_.push_back(random_.size(6, high_bits_));
  }

  void run(uint64_t count) {
    while (out_.size() < count) {
      for (size_t i = 0; i < std::size(rare_); i++)
        if (rare_[i] != 0 && random_.once_in(rare_[i])) seldom(i);
      const bool grows = live_.size() < most_live_ && random_.below(100) < 55;
      if (grows || live_.empty()) alloc();
      else give_back();
    }
  }

private:
  uint64_t bytes() {
    static constexpr uint64_t edges[] = {
        1,        511,          512,      513,          MIB - 1,  MIB,
        MIB + 1,  10 * MIB - 1, 10 * MIB, 10 * MIB + 1, 12 * MIB, 20 * MIB - 1,
        20 * MIB, 20 * MIB + 1, 64 * MIB, 40 * MIB,     2 * MIB,  0};
    switch (random_.below(8)) {
      case 0: return edges[random_.below(std::size(edges))];
      case 1:
      case 2:
      case 3: return usual_[random_.below(usual_.size())];
      default: return random_.size(6, high_bits_);
    }
  }

  uint64_t stream() { return random_.below(streams_); }
  uint64_t pool() { return random_.between(1, 4); }
  uint16_t any() { return live_[random_.below(live_.size())]; }

  void alloc() {
    if (out_.has_room()) live_.push_back(out_.alloc(bytes(), stream()));
  }

  void give_back() {
    const size_t which = random_.once_in(3) ? live_.size() - 1 : random_.below(live_.size());
    out_.free(live_[which]);
    live_[which] = live_.back();
    live_.pop_back();
  }

  void seldom(size_t what) {
    switch (what) {
      case 0:
        if (!live_.empty()) out_.add(RECORD, any(), stream());
        break;
      case 1: out_.add(WORK, 0, stream()); break;
      case 2: out_.add(MARK, random_.below(7), stream()); break;
      case 3: out_.add(WAIT, random_.below(7), stream()); break;
      case 4: out_.add(SYNC, 0, stream()); break;
      case 5: out_.add(EMPTY, random_.once_in(2) ? 0 : pool()); break;
      case 6: out_.add(POOL, pool(), 0, random_.once_in(3) ? random_.size(22, 28) : 0); break;
      case 7: out_.add(DROP, pool()); break;
      case 8: out_.add(ROUTE, pool(), random_.below(streams_ + 1)); break;
      case 9: out_.add(UNROUTE, pool()); break;
      case 10: out_.add(CAPTURE, pool(), stream()); break;
      case 11: out_.add(END_CAPTURE, pool()); break;
      case 12: out_.add(LEND, pool(), random_.below(3)); break;
      case 13:
        if (random_.once_in(4)) out_.add(NO_SPLIT, pool());
        break;
      case 14:
        out_.add(random_.once_in(3) ? WEIGH : UNWEIGH, random_.below(PARITY_WEIGHTS), 0,
                 random_.size(20, 30));
        break;
      case 15:
        if (!live_.empty()) out_.add(random_.once_in(2) ? HOARD : BASE, any());
        break;
      case 16: out_.add(CALLBACK, random_.below(3)); break;
      case 17:
        if (random_.once_in(4)) out_.add(SETTINGS, random_.below(made_.texts.size()));
        break;
      case 18:
        if (random_.once_in(4))
          out_.add(FRACTION, 0, 0,
                   random_.once_in(2) ? 1000000 : random_.between(random_.once_in(4) ? 0 : 100000, 1000000));
        break;
      case 19: out_.add(random_.once_in(2) ? RESET_PEAK : RESET_TOTALS); break;
      case 20: out_.add(SNAPSHOT, random_.once_in(2) ? 0 : pool()); break;
      case 21: out_.add(CLASS, random_.below(4), stream()); break;
      case 22: out_.add(KEEP, pool()); break;
      case 23:
        if (random_.once_in(8))
          out_.free(out_.alloc(random_.once_in(6) ? random_.size(55, 62) : random_.size(28, 40), stream()));
        break;
      case 24: out_.add(SYNC_ALL); break;
      default: break;
    }
  }

  Writer &out_;
  Random &random_;
  Case &made_;
  uint64_t most_live_, streams_, high_bits_, rare_[25];
  std::vector<uint64_t> usual_;
  std::vector<uint16_t> live_;
};

} // namespace

const char *name_of(Pattern pattern) {
  static constexpr const char *names[] = {"train", "varying", "serve", "graphs", "random"};
  return names[static_cast<size_t>(pattern)];
}

const std::vector<Setting> &all_settings() {
  static const std::vector<Setting> settings = make_settings();
  return settings;
}

Case generate(Pattern pattern, const std::string &settings, uint64_t seed, uint64_t count) {
  static constexpr const char *gpus[] = {"RTX4090:1GiB", "RTX4090:2GiB", "RTX4090:4GiB", "RTX4090"};
  Case made;
  made.settings = settings;
  Writer out(made, seed * 8 + static_cast<uint64_t>(pattern));
  Random &random = out.random;
  made.gpu = gpus[random.below(std::size(gpus))];
  made.events_at_sync = random.once_in(2);
  made.contexts = static_cast<parity_contexts>(random.below(3));
  for (int i = 0; i < 4; i++) {
    const auto &all = all_settings();
    const std::string &text = all[random.below(all.size())].text;
    made.texts.push_back(text);
  }
  static constexpr const char *off[] = {"expandable_segments:False",
                                        "graph_capture_record_stream_reuse:False",
                                        "throw_on_cudamalloc_oom:False"};
  made.texts.push_back(off[random.below(std::size(off))] +
                       (without(settings).empty() ? "" : "," + without(settings)));
  made.texts.push_back(settings);
  switch (pattern) {
    case Pattern::TRAIN: Training(out, false).run(count); break;
    case Pattern::VARYING: Training(out, true).run(count); break;
    case Pattern::SERVE: serve(out, count); break;
    case Pattern::GRAPHS: graphs(out, count); break;
    default: Chaos(out, made).run(count); break;
  }
  return made;
}

} // namespace parity
