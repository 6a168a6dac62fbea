#include "faces/simcuda/core/configuration.h"
#include "faces/simcuda/core/attributes.h"
#include <stdlib.h>
#include <unistd.h>

/* ---- entries of a list */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static vs_str trimmed(vs_str text) {
  while (text.size != 0 && is_blank(text.data[0])) text = (vs_str){text.data + 1, text.size - 1};
  while (text.size != 0 && is_blank(text.data[text.size - 1])) text.size--;
  return text;
}

/* Takes the first entry of `rest`, and moves `rest` behind its comma. false behind the last entry. */
static bool next_entry(vs_str *rest, vs_str *entry) {
  if (rest->data == NULL) return false;
  size_t size = 0;
  while (size < rest->size && rest->data[size] != ',') size++;
  *entry = (vs_str){rest->data, size};
  *rest = size == rest->size ? (vs_str){NULL, 0} : (vs_str){rest->data + size + 1, rest->size - size - 1};
  return true;
}

/* ---- the variables */

typedef struct vs_environment {
  vs_configuration *configuration;
  const char *(*get)(const char *name);
  char *problem; /* VS_CONFIGURATION_PROBLEM bytes */
} vs_environment;

static vs_str variable(const vs_environment *environment, const char *name) {
  const char *text = environment->get(name);
  return text == NULL ? (vs_str){"", 0} : trimmed(vs_str_from(text));
}

static bool complain(const vs_environment *environment, const char *name, const char *why) {
  vs_format(environment->problem, VS_CONFIGURATION_PROBLEM, "%s=%s: %s", name, environment->get(name), why);
  return false;
}

static bool read_cards(const vs_environment *environment) {
  vs_configuration *c = environment->configuration;
  vs_str text = variable(environment, "VRAMSCOPE_SIM_GPU");
  if (text.size == 0) text = VS_STR("H100");
  vs_error error;
  if (vs_sim_gpus_parse(text, c->gpus, VS_SIM_MAX_DEVICES, &c->gpu_count, &error) != VS_OK)
    return complain(environment, "VRAMSCOPE_SIM_GPU", error.text);
  const vs_str size = variable(environment, "VRAMSCOPE_SIM_CONTEXT");
  if (size.size == 0) return true;
  uint64_t bytes;
  if (!vs_sim_size_parse(size, &bytes))
    return complain(environment, "VRAMSCOPE_SIM_CONTEXT", "not a size; write 512MiB or 1.5GiB");
  for (uint32_t i = 0; i < c->gpu_count; i++) {
    c->gpus[i].context_bytes = bytes;
    c->gpus[i].has_context_bytes = true;
  }
  return true;
}

/* Finds the variable among `words`, separated by '|'. *index is unchanged if the variable is not set. */
static bool read_choice(const vs_environment *environment, const char *name, const char *words,
                        uint32_t *index) {
  const vs_str text = variable(environment, name);
  if (text.size == 0) return true;
  const char *word = words;
  for (uint32_t i = 0;; i++) {
    size_t size = 0;
    while (word[size] != 0 && word[size] != '|') size++;
    if (vs_str_equal(text, (vs_str){word, size})) {
      *index = i;
      return true;
    }
    if (word[size] == 0) break;
    word += size + 1;
  }
  char why[128];
  vs_format(why, sizeof why, "not one of %s", words);
  return complain(environment, name, why);
}

/* "alloc:3,event:1" into numbers[kind]. */
static bool read_kinds(const vs_environment *environment, const char *name,
                       uint64_t numbers[VS_SIM_FAULT_COUNT]) {
  vs_str rest = variable(environment, name), entry;
  if (rest.size == 0) return true;
  while (next_entry(&rest, &entry)) {
    vs_sim_fault kind;
    uint64_t number;
    vs_error error;
    if (vs_sim_fault_parse(trimmed(entry), &kind, &number, &error) != VS_OK)
      return complain(environment, name, error.text);
    numbers[kind] = number;
  }
  return true;
}

static bool read_node(const vs_environment *environment) {
  const char *path = environment->get("VRAMSCOPE_SIM_NODE");
  if (path == NULL) return true;
  if (strlen(path) >= VS_CONFIGURATION_PATH) return complain(environment, "VRAMSCOPE_SIM_NODE", "too long");
  memcpy(environment->configuration->node, path, strlen(path) + 1);
  return true;
}

static bool read_run(const vs_environment *environment) {
  char *run = environment->configuration->run;
  const char *path = environment->get("VRAMSCOPE_SIM_RUN");
  if (path == NULL || path[0] == 0) return true;
  char here[VS_CONFIGURATION_PATH] = "";
  if (path[0] != '/' && getcwd(here, sizeof here - 1) == NULL)
    return complain(environment, "VRAMSCOPE_SIM_RUN", "a relative path, and the current folder is unknown");
  if (strlen(here) + 1 + strlen(path) >= VS_CONFIGURATION_PATH)
    return complain(environment, "VRAMSCOPE_SIM_RUN", "too long");
  vs_format(run, VS_CONFIGURATION_PATH, "%s%s%s", here, path[0] == '/' ? "" : "/", path);
  return true;
}

/* The text is copied, because the program may change its environment. */
static bool read_values(const vs_environment *environment) {
  vs_configuration *c = environment->configuration;
  const vs_str text = variable(environment, "VRAMSCOPE_SIM_VALUES");
  vs_error error;
  if (text.size >= sizeof c->values) return complain(environment, "VRAMSCOPE_SIM_VALUES", "too long");
  memcpy(c->values, text.data, text.size);
  if (vs_given_values_parse((vs_str){c->values, text.size}, &c->given, &error) == VS_OK) return true;
  return complain(environment, "VRAMSCOPE_SIM_VALUES", error.text);
}

static bool is_switched(const vs_environment *environment, const char *name, bool otherwise) {
  const vs_str text = variable(environment, name);
  return text.size == 0 ? otherwise : !vs_str_equal(text, VS_STR("0"));
}

bool vs_configuration_read(vs_configuration *configuration, const char *(*get)(const char *name),
                           char problem[static VS_CONFIGURATION_PROBLEM]) {
  const vs_environment environment = {configuration, get, problem};
  *configuration = (vs_configuration){0};
  uint32_t events = VS_SIM_EVENTS_AT_ONCE;
  if (!read_cards(&environment) || !read_node(&environment) || !read_run(&environment) ||
      !read_values(&environment) ||
      !read_choice(&environment, "VRAMSCOPE_SIM_EVENTS", "at-once|at-sync", &events) ||
      !read_kinds(&environment, "VRAMSCOPE_SIM_FAULT", configuration->fail_at) ||
      !read_kinds(&environment, "VRAMSCOPE_SIM_DELAY", configuration->delay_us))
    return false;
  configuration->events = (vs_sim_event_rule)events;
  configuration->asks_stacks = is_switched(&environment, "VRAMSCOPE_SIM_STACKS", true);
  configuration->is_verbose = is_switched(&environment, "VRAMSCOPE_SIM_VERBOSE", false);
  return true;
}

/* ---- CUDA_VISIBLE_DEVICES */

void vs_card_uuid_text(uint32_t card, char text[static VS_CARD_UUID_TEXT]) {
  static const char digits[] = "0123456789abcdef";
  uint8_t uuid[16];
  vs_card_uuid(card, uuid);
  char *at = text;
  memcpy(at, "GPU-", 4);
  at += 4;
  for (uint32_t i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *at++ = '-';
    *at++ = digits[uuid[i] >> 4];
    *at++ = digits[uuid[i] & 15];
  }
  *at = 0;
  VS_ASSERT(at == text + VS_CARD_UUID_TEXT - 1);
}

enum { NO_CARD = UINT32_MAX };

/* The card whose UUID begins with this entry; NO_CARD if none or several do. */
static uint32_t card_of_uuid(vs_str entry, uint32_t card_count) {
  uint32_t found = NO_CARD;
  for (uint32_t card = 0; card < card_count; card++) {
    char text[VS_CARD_UUID_TEXT];
    vs_card_uuid_text(card, text);
    if (!vs_str_starts(vs_str_from(text), entry)) continue;
    if (found != NO_CARD) return NO_CARD;
    found = card;
  }
  return found;
}

/* The number at the start of an entry, with or without a sign; NO_CARD for none, and for a negative one. */
static uint32_t number_of(vs_str entry) {
  entry = trimmed(entry);
  bool is_negative = false;
  if (entry.size != 0 && (entry.data[0] == '+' || entry.data[0] == '-')) {
    is_negative = entry.data[0] == '-';
    entry = (vs_str){entry.data + 1, entry.size - 1};
  }
  uint32_t number = 0;
  size_t digits = 0;
  for (; digits < entry.size && entry.data[digits] >= '0' && entry.data[digits] <= '9'; digits++)
    if (number < NO_CARD / 10 - 1) number = number * 10 + (uint32_t)(entry.data[digits] - '0');
  return digits == 0 || (is_negative && number != 0) ? NO_CARD : number;
}

/* Whether two entries of a list of numbers or of UUIDs are equal. */
static bool is_repeated(vs_str a, vs_str b, bool is_uuid) {
  return is_uuid ? vs_str_equal(a, b) : number_of(a) == number_of(b);
}

/* Whether an entry is of the list's kind; the first one that is not ends the list. */
static bool is_of_kind(vs_str entry, bool is_uuid) {
  return is_uuid ? vs_str_starts(entry, VS_STR("GPU-")) : number_of(entry) != NO_CARD;
}

uint32_t vs_visible_cards(const char *list, uint32_t card_count, uint32_t cards[static VS_SIM_MAX_DEVICES]) {
  enum { MOST = 64 }; /* the most entries that are read: more than any machine has cards */
  VS_ASSERT(card_count <= VS_SIM_MAX_DEVICES);
  uint32_t count = 0;
  if (list == NULL)
    for (; count < card_count; count++) cards[count] = count;
  if (list == NULL || list[0] == 0) return count;

  vs_str rest = vs_str_from(list), entries[MOST];
  const bool is_uuid = vs_str_starts(rest, VS_STR("GPU-"));
  uint32_t entry_count = 0;
  while (entry_count < MOST && next_entry(&rest, &entries[entry_count]) &&
         is_of_kind(entries[entry_count], is_uuid)) {
    for (uint32_t i = 0; i < entry_count; i++)
      if (is_repeated(entries[i], entries[entry_count], is_uuid)) return 0;
    entry_count++;
  }
  for (uint32_t i = 0; i < entry_count; i++) {
    const uint32_t card = is_uuid ? card_of_uuid(entries[i], card_count) : number_of(entries[i]);
    if (card >= card_count) break;
    for (uint32_t k = 0; k < count; k++) /* the same card by two prefixes of its UUID */
      if (cards[k] == card) return 0;
    VS_ASSERT(count < card_count); /* the entries before are other cards */
    cards[count++] = card;
  }
  return count;
}
