/* Is vs_alloc PyTorch's allocator, decision for decision? README.md says how this is found out.
 *
 *   parity [--operations N] [--length N] [--seed N] [--settings TEXT] [--pattern NAME]
 *          [--keep-going] [--shrink SECONDS] [--save FOLDER]      generated cases; settings "-": none
 *   parity [--trace] [--shrink SECONDS] --replay FILE             one case
 *
 * 0: all equal. 1: a difference, shrunk and printed. 2: wrong arguments. */
#include "generate.h"
#include "isolate.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

namespace {

using namespace parity;

struct Options {
  uint64_t operations = 100000, seed = 1, length = 4000;
  std::string settings, pattern, save, replay;
  bool has_settings = false, keeps_going = false, shrinks = false;
  unsigned shrink_seconds = 30;
};

struct Total {
  uint64_t cases = 0, different = 0;
  Tally sum{};
  void add(const Tally &tally) {
    cases++;
    different += tally.is_different;
    sum.operations += tally.operations;
    sum.events += tally.events;
    sum.allocations += tally.allocations;
    sum.ooms += tally.ooms;
    sum.rejections += tally.rejections;
    sum.refusals += tally.refusals;
    sum.retries += tally.retries;
    sum.captures += tally.captures;
    sum.snapshots += tally.snapshots;
    sum.maps += tally.maps;
    sum.broken += tally.broken;
  }
};

void print(const char *name, const Total &total) {
  const Tally &s = total.sum;
  std::printf(
      "%-10s %6" PRIu64 " cases %9" PRIu64 " operations %9" PRIu64 " events %9" PRIu64
      " allocations %7" PRIu64 " OOMs (%" PRIu64 " rejections) %6" PRIu64 " retries %7" PRIu64
      " refusals %6" PRIu64 " captures %6" PRIu64 " snapshots %7" PRIu64 " maps %4" PRIu64 " broken%s\n",
      name, total.cases, s.operations, s.events, s.allocations, s.ooms, s.rejections, s.retries, s.refusals,
      s.captures, s.snapshots, s.maps, s.broken, total.different == 0 ? "" : "  DIFFERENT");
}

/* Lines of '#' stand before what went wrong, so that the whole output can be replayed. */
void explain(const Case &which, const Tally &tally) {
  const bool is_end = tally.at >= which.operations.size();
  std::printf("# difference at operation %" PRIu64 ": %s\n", tally.at,
              is_end ? "when all is given back" : to_text(which.operations[tally.at]).c_str());
  std::istringstream lines(tally.what);
  for (std::string line; std::getline(lines, line);) std::printf("#%s\n", line.c_str());
}

void save(const std::string &path, const std::string &text) {
  std::ofstream file(path);
  if (!(file << text)) std::fprintf(stderr, "parity: cannot write %s\n", path.c_str());
}

void report(const Case &failing, Tally tally, const Options &options, const std::string &name) {
  explain(failing, tally);
  const Case small = shrink(failing, tally, options.shrink_seconds);
  std::printf("# shrunk from %zu to %zu operations\n", failing.operations.size(), small.operations.size());
  explain(small, tally);
  std::fputs(to_text(small).c_str(), stdout);
  std::fflush(stdout);
  if (!options.save.empty()) save(options.save + "/" + name + ".case", to_text(small));
}

int replay(const Options &options) {
  const std::string &path = options.replay;
  std::ifstream file(path);
  std::stringstream text;
  if (!(text << file.rdbuf())) {
    std::fprintf(stderr, "parity: cannot read %s\n", path.c_str());
    return 2;
  }
  const Case which = from_text(text.str());
  const Tally tally = run_isolated(which);
  if (tally.is_different && options.shrinks) report(which, tally, options, "shrunk");
  else if (tally.is_different) explain(which, tally);
  else std::printf("equal: %" PRIu64 " operations, %" PRIu64 " events\n", tally.operations, tally.events);
  return tally.is_different;
}

/* Patterns and settings by turns: the settings that stand alone come as often as the pairs. */
std::string settings_of(uint64_t number) {
  const auto &all = all_settings();
  uint64_t alone = 0;
  while (alone < all.size() && !all[alone].is_pair) alone++;
  if (number % 2 == 0) return all[number / 2 % alone].text;
  return all[alone + number / 2 % (all.size() - alone)].text;
}

int sweep(const Options &options) {
  std::map<std::string, Total> by_pattern, by_settings;
  std::map<std::string, uint64_t> broken;
  Total all;
  for (uint64_t number = 0; all.sum.operations < options.operations; number++) {
    const auto pattern = static_cast<Pattern>(std::min<uint64_t>(number % 8, 4)); // half are random
    if (!options.pattern.empty() && options.pattern != name_of(pattern)) {
      if (number > 64 && all.cases == 0) return 2;
      continue;
    }
    const std::string settings =
        options.has_settings ? options.settings : settings_of(number / 8 + number % 8 * 7);
    const Case which = generate(pattern, settings, options.seed + number, options.length);
    const Tally tally = run_isolated(which);
    all.add(tally);
    by_pattern[name_of(pattern)].add(tally);
    by_settings[settings].add(tally);
    if (tally.broken != 0) broken[std::string(tally.what).substr(0, 100)]++;
    if (!tally.is_different) continue;
    std::printf("# %s, seed %" PRIu64 ", settings '%s'\n", name_of(pattern), options.seed + number,
                settings.c_str());
    report(which, tally, options,
           std::string(name_of(pattern)) + "-" + std::to_string(options.seed + number));
    if (!options.keeps_going) break;
  }
  for (const auto &[name, total] : by_pattern) print(name.c_str(), total);
  if (all.different > 0)
    for (const auto &[name, total] : by_settings)
      if (total.different > 0)
        std::printf("different: %" PRIu64 " of %" PRIu64 " cases with '%s'\n", total.different, total.cases,
                    name.c_str());
  for (const auto &[why, count] : broken) std::printf("given up %" PRIu64 " times: %s\n", count, why.c_str());
  print("all", all);
  std::printf("%zu settings\n", by_settings.size());
  return all.different > 0;
}

bool parse(int count, char **words, Options &options) {
  for (int i = 1; i < count; i++) {
    const std::string name = words[i];
    if (name == "--keep-going" || name == "--trace") {
      (name == "--trace" ? is_tracing : options.keeps_going) = true;
      continue;
    }
    if (i + 1 == count) return false;
    const std::string value = words[++i];
    if (name == "--operations") options.operations = std::stoull(value);
    else if (name == "--seed") options.seed = std::stoull(value);
    else if (name == "--length") options.length = std::stoull(value);
    else if (name == "--shrink")
      options.shrink_seconds = static_cast<unsigned>(std::stoul(value)), options.shrinks = true;
    else if (name == "--settings") options.settings = value == "-" ? "" : value, options.has_settings = true;
    else if (name == "--pattern") options.pattern = value;
    else if (name == "--save") options.save = value;
    else if (name == "--replay") options.replay = value;
    else return false;
  }
  return true;
}

} // namespace

int main(int count, char **words) {
  Options options;
  try {
    if (!parse(count, words, options)) {
      std::fputs("parity: wrong arguments; the head of parity.cc lists them\n", stderr);
      return 2;
    }
    return options.replay.empty() ? sweep(options) : replay(options);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "parity: %s\n", error.what());
    return 2;
  }
}
