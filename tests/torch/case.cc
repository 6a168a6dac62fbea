#include "case.h"

#include <sstream>
#include <stdexcept>

namespace parity {
namespace {

struct Word {
  const char *word, *a, *b, *c;
};
constexpr Word words[] = {
#define PARITY_OPERATION(name, word, a, b, c) {word, a, b, c},
#include "operations.def"
#undef PARITY_OPERATION
};

constexpr const char *levels[] = {"never", "alloc", "all"};

void add(std::string &text, const char *name, uint64_t value) {
  if (std::string("-") != name) text += std::string(" ") + name + "=" + std::to_string(value);
}

[[noreturn]] void refuse(const std::string &line) { throw std::runtime_error("no such line: " + line); }

uint64_t number(const std::string &text, const std::string &line) {
  size_t used = 0;
  uint64_t value = 0;
  try {
    value = std::stoull(text, &used);
  } catch (const std::exception &) {
    refuse(line);
  }
  if (used != text.size()) refuse(line);
  return value;
}

Operation operation(const std::string &word, std::istringstream &rest, const std::string &line) {
  for (uint16_t kind = 0; kind < KINDS; kind++) {
    if (word != words[kind].word) continue;
    Operation found{static_cast<Kind>(kind)};
    for (std::string part; rest >> part;) {
      const size_t equals = part.find('=');
      if (equals == std::string::npos) refuse(line);
      const std::string name = part.substr(0, equals);
      const uint64_t value = number(part.substr(equals + 1), line);
      if (name == words[kind].a) found.a = static_cast<uint16_t>(value);
      else if (name == words[kind].b) found.b = static_cast<uint16_t>(value);
      else if (name == words[kind].c) found.c = value;
      else refuse(line);
    }
    return found;
  }
  refuse(line);
}

} // namespace

std::string to_text(const Operation &operation) {
  const Word &word = words[operation.kind];
  std::string text = word.word;
  add(text, word.a, operation.a);
  add(text, word.b, operation.b);
  add(text, word.c, operation.c);
  return text;
}

std::string to_text(const Case &which) {
  std::string text = "gpu " + which.gpu + "\n";
  text += std::string("events ") + (which.events_at_sync ? "at-sync" : "at-once") + "\n";
  text += std::string("contexts ") + levels[which.contexts] + "\n";
  text += "settings " + which.settings + "\n";
  for (size_t i = 0; i < which.texts.size(); i++)
    text += "text " + std::to_string(i) + " " + which.texts[i] + "\n";
  for (const Operation &each : which.operations) text += to_text(each) + "\n";
  return text;
}

Case from_text(const std::string &text) {
  Case made;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream parts(line.substr(0, line.find('#')));
    std::string word, value;
    if (!(parts >> word)) continue;
    const bool is_header = word == "gpu" || word == "events" || word == "contexts" || word == "text" ||
                           (word == "settings" && line.find("text=") == std::string::npos);
    if (!is_header) {
      made.operations.push_back(operation(word, parts, line));
      continue;
    }
    parts >> value;
    if (word == "gpu") made.gpu = value;
    else if (word == "events") made.events_at_sync = value == "at-sync";
    else if (word == "contexts") {
      int level = 0;
      while (level < 3 && value != levels[level]) level++;
      if (level == 3) refuse(line);
      made.contexts = static_cast<parity_contexts>(level);
    } else if (word == "settings") made.settings = value;
    else {
      const uint64_t which = number(value, line);
      std::string settings;
      parts >> settings;
      if (which > 64) refuse(line);
      if (made.texts.size() <= which) made.texts.resize(which + 1);
      made.texts[which] = settings;
    }
  }
  return made;
}

} // namespace parity
