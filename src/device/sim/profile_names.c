/* A card has several names: its key, its aliases and its driver's name. Each consists of words: "NVIDIA H100 80GB HBM3" of nvidia,
 * h100, 80 and hbm3. What a user typed is compared without case and punctuation, cut into such words:
 *
 *   1. It is a card's name if it consists of all words of that name, in any order; words that say nothing (nvidia, geforce) may be
 *      there or not. No two cards have the same words in a name.
 *   2. Else it is a card whose words, of all its names, it consists of, with the model (h100) among them, if that is true of one
 *      card: "H100 SXM 80GB". If it is true of several cards, the text is ambiguous, and so it is where words of several cards
 *      are there without a model: "RTX 6000". */
#include "device/sim/profile_names.h"
#include "base/nearest.h"

enum { LONGEST_NAME = 80, MOST_WORDS = 12, MOST_NAMED = 4 };

static uint32_t smaller(uint32_t a, uint32_t b) { return a < b ? a : b; }

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* ---- letters ------------------------------------------------------------------------------------------- */

/* Small letters and digits only. */
typedef struct plain {
  char text[LONGEST_NAME];
  uint32_t size;
} plain;

/* The letter or digit in comparable form; 0 for anything else. */
static char plain_letter(char c) {
  if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
  return (c >= 'a' && c <= 'z') || is_digit(c) ? c : 0;
}

/* False if nothing is left, or if it is too long for the name of any card. */
static bool make_plain(vs_str text, plain *out) {
  out->size = 0;
  for (size_t i = 0; i < text.size; i++) {
    const char c = plain_letter(text.data[i]);
    if (c == 0) continue;
    if (out->size == LONGEST_NAME) return false;
    out->text[out->size++] = c;
  }
  return out->size > 0;
}

static vs_str view(const plain *name) { return (vs_str){name->text, name->size}; }

static bool begins_with(vs_str text, vs_str beginning) {
  return text.size >= beginning.size && memcmp(text.data, beginning.data, beginning.size) == 0;
}

static vs_str without(vs_str text, size_t count) {
  VS_ASSERT(count <= text.size);
  return (vs_str){text.data + count, text.size - count};
}

/* ---- words --------------------------------------------------------------------------------------------- */

/* Words that may be left out of any name, and added to it. */
static bool is_filler(vs_str word) {
  static const char *const fillers[] = {"nvidia", "geforce",   "tesla",   "quadro",
                                        "gpu",    "simulated", "edition", "generation"};
  for (size_t i = 0; i < sizeof fillers / sizeof *fillers; i++)
    if (vs_str_equal(word, vs_str_from(fillers[i]))) return true;
  return false;
}

/* The longest filler that the text begins with; 0 if there is none. */
static size_t filler_at(vs_str text) {
  size_t longest = 0;
  for (size_t size = 1; size <= text.size && size <= sizeof "generation"; size++)
    if (is_filler((vs_str){text.data, size})) longest = size;
  return longest;
}

/* Whether a word is a size of memory, "80" or "80GB"; *digits is the size of its number. */
static bool is_memory(vs_str word, size_t *digits) {
  *digits = 0;
  while (*digits < word.size && is_digit(word.data[*digits])) ++*digits;
  const vs_str unit = without(word, *digits);
  return *digits >= 1 && *digits <= 3 && (unit.size == 0 || vs_str_equal(unit, VS_STR("gb")));
}

/* The unit of memory in front of the text: g, gb, gib; 0 without one. */
static size_t unit_at(vs_str text) {
  static const char *const units[] = {"gib", "gb", "g"};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (begins_with(text, vs_str_from(units[i]))) return strlen(units[i]);
  return 0;
}

/* The size of the beginning of `text` that is the word; 0 if it begins otherwise. A size of memory has any unit or none. */
static size_t word_at(vs_str text, vs_str word) {
  size_t digits;
  if (!is_memory(word, &digits)) return begins_with(text, word) ? word.size : 0;
  if (!begins_with(text, (vs_str){word.data, digits})) return 0;
  return digits + unit_at(without(text, digits));
}

/* Removes the next word of a name from `rest`, in comparable form; false at the end. */
static bool next_word(vs_str *rest, plain *word) {
  word->size = 0;
  while (rest->size > 0 && plain_letter(rest->data[0]) == 0) *rest = without(*rest, 1);
  while (rest->size > 0 && plain_letter(rest->data[0]) != 0 && word->size < LONGEST_NAME) {
    word->text[word->size++] = plain_letter(rest->data[0]);
    *rest = without(*rest, 1);
  }
  return word->size > 0;
}

/* Removes the next alias from `rest`; false at the end. */
static bool next_alias(vs_str *rest, vs_str *alias) {
  while (rest->size > 0 && rest->data[0] == ' ') *rest = without(*rest, 1);
  size_t size = 0;
  while (size < rest->size && rest->data[size] != ' ') size++;
  *alias = (vs_str){rest->data, size};
  *rest = without(*rest, size);
  return size > 0;
}

/* The words that a typed text was cut into. Each may be there once. */
typedef struct cut {
  vs_str words[MOST_WORDS];
  uint32_t count;
} cut;

static bool has_word(const cut *c, vs_str word) {
  for (uint32_t i = 0; i < c->count; i++)
    if (vs_str_equal(c->words[i], word)) return true;
  return false;
}

/* The longest word of the name that the text begins with; 0 if there is none. */
static size_t longest_at(vs_str text, vs_str name) {
  size_t longest = 0;
  plain word;
  while (next_word(&name, &word)) {
    const size_t size = word_at(text, view(&word));
    longest = size > longest ? size : longest;
  }
  return longest;
}

/* Cuts off a word of `size`; a filler, which is not kept, if there is no other word. False if the text begins with neither. */
static bool cut_off(cut *c, vs_str *text, size_t size) {
  const size_t filler = filler_at(*text);
  const vs_str word = {text->data, size};
  if (size <= filler && filler != 0) {
    *text = without(*text, filler);
    return true;
  }
  if (size == 0 || c->count == MOST_WORDS || has_word(c, word)) return false;
  c->words[c->count++] = word;
  *text = without(*text, size);
  return true;
}

/* ---- rule 1: all words of one name --------------------------------------------------------------------- */

/* Whether the word, without the unit of a size of memory, is among those that were typed. */
static bool was_typed(const cut *c, vs_str word) {
  for (uint32_t i = 0; i < c->count; i++)
    if (word_at(c->words[i], word) == c->words[i].size) return true;
  return false;
}

static bool is_whole_name(const plain *typed, vs_str name) {
  cut c = {.count = 0};
  vs_str rest = view(typed);
  while (rest.size > 0)
    if (!cut_off(&c, &rest, longest_at(rest, name))) return false;
  uint32_t needed = 0;
  plain word;
  while (next_word(&name, &word)) {
    if (is_filler(view(&word))) continue;
    if (!was_typed(&c, view(&word))) return false;
    needed++;
  }
  return needed != 0 && needed == c.count;
}

static bool is_called(const vs_sim_profile *profile, const plain *typed) {
  vs_str rest = vs_str_from(profile->aliases), alias;
  if (is_whole_name(typed, vs_str_from(profile->key)) || is_whole_name(typed, vs_str_from(profile->name)))
    return true;
  while (next_alias(&rest, &alias))
    if (is_whole_name(typed, alias)) return true;
  return false;
}

/* ---- rule 2: words of one card ------------------------------------------------------------------------- */

/* The model of a card is its key up to the first '-', without RTX: h100, 4090, 6000ada. */
static void model_of(const vs_sim_profile *profile, plain *model) {
  vs_str key = vs_str_from(profile->key);
  (void)next_word(&key, model);
  VS_ASSERT(model->size != 0);
  if (!begins_with(view(model), VS_STR("rtx"))) return;
  model->size -= 3;
  memmove(model->text, model->text + 3, model->size);
}

typedef enum kinship {
  STRANGER,   /* something was typed that is no word of the card */
  OF_ITS_KIN, /* only words of the card, but not its model */
  NAMESAKE    /* only words of the card, and its model */
} kinship;

static kinship kinship_of(const vs_sim_profile *profile, const plain *typed) {
  const vs_str names[] = {vs_str_from(profile->key), vs_str_from(profile->aliases),
                          vs_str_from(profile->name), vs_str_from(profile->architecture)};
  cut c = {.count = 0};
  for (vs_str rest = view(typed); rest.size > 0;) {
    size_t longest = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      const size_t size = longest_at(rest, names[i]);
      longest = size > longest ? size : longest;
    }
    if (!cut_off(&c, &rest, longest)) return STRANGER;
  }
  plain model;
  model_of(profile, &model);
  for (uint32_t i = 0; i < c.count; i++)
    if (vs_str_contains(c.words[i], view(&model))) return NAMESAKE;
  return c.count != 0 ? OF_ITS_KIN : STRANGER;
}

/* ---- lists of cards ------------------------------------------------------------------------------------ */

/* Some cards of the table: their number, and the first of them. */
typedef struct selection {
  const vs_sim_profile *first[MOST_NAMED];
  uint32_t count;
  bool is_namesake; /* of find_kin */
} selection;

static void add(selection *s, const vs_sim_profile *profile) {
  if (s->count < MOST_NAMED) s->first[s->count] = profile;
  s->count++;
}

/* Replaces *found by the cards that have the typed model, or by those that have only the words. */
static void find_kin(selection *found, const plain *typed) {
  kinship best = OF_ITS_KIN;
  found->count = 0;
  for (uint32_t i = 0; i < vs_sim_profile_count(); i++) {
    const kinship own = kinship_of(vs_sim_profile_at(i), typed);
    if (own < best) continue;
    if (own > best) found->count = 0;
    best = own;
    add(found, vs_sim_profile_at(i));
  }
  found->is_namesake = best == NAMESAKE;
}

const vs_sim_profile *vs_sim_profile_find(vs_str text) {
  plain typed;
  if (!make_plain(text, &typed)) return NULL;
  for (uint32_t i = 0; i < vs_sim_profile_count(); i++)
    if (is_called(vs_sim_profile_at(i), &typed)) return vs_sim_profile_at(i);
  selection kin;
  find_kin(&kin, &typed);
  return kin.is_namesake && kin.count == 1 ? kin.first[0] : NULL;
}

/* ---- what was probably meant --------------------------------------------------------------------------- */

/* A name without the fillers around it, which change the distance between two names and not their meaning. */
static bool make_core(vs_str text, plain *out) {
  if (!make_plain(text, out)) return false;
  for (size_t size = filler_at(view(out)); size != 0 && size < out->size; size = filler_at(view(out))) {
    out->size -= (uint32_t)size;
    memmove(out->text, out->text + size, out->size);
  }
  if (out->size > 2 && memcmp(out->text + out->size - 2, "gb", 2) == 0) out->size -= 2;
  return true;
}

/* The size of the card's model if it is somewhere in the text, else 0. */
static uint32_t model_in(const plain *typed, const vs_sim_profile *profile) {
  plain model;
  model_of(profile, &model);
  return vs_str_contains(view(typed), view(&model)) ? model.size : 0;
}

/* Replaces *meant by the card with the most similar name. Where a whole model was typed, only cards of that model count, and they
 * are all meant if no name is similar. None if nothing is. */
static void find_meant(selection *meant, vs_str text) {
  selection of_model = {.count = 0};
  plain typed, name;
  uint32_t longest = 0;
  if (!make_core(text, &typed)) return;
  vs_nearest search = vs_nearest_to(view(&typed));
  for (uint32_t i = 0; i < vs_sim_profile_count(); i++)
    if (model_in(&typed, vs_sim_profile_at(i)) > longest) longest = model_in(&typed, vs_sim_profile_at(i));
  for (uint32_t i = 0; i < vs_sim_profile_count(); i++) {
    const vs_sim_profile *profile = vs_sim_profile_at(i);
    const uint32_t distance = search.distance;
    vs_str rest = vs_str_from(profile->aliases), alias = vs_str_from(profile->key);
    if (model_in(&typed, profile) != longest) continue;
    add(&of_model, profile);
    do
      if (make_plain(alias, &name)) vs_nearest_offer(&search, view(&name));
    while (next_alias(&rest, &alias));
    if (search.distance == distance) continue;
    meant->count = 0;
    add(meant, profile);
  }
  if (meant->count == 0 && longest != 0) *meant = of_model;
}

/* ---- errors -------------------------------------------------------------------------------------------- */

enum { MOST_IN_MESSAGE = 48, LIST_SIZE = MOST_NAMED * 32 + 32 };

static vs_str for_message(vs_str text) {
  return (vs_str){text.data, text.size > MOST_IN_MESSAGE ? MOST_IN_MESSAGE : text.size};
}

/* "A100-80, A100-40 or A100-PCIE-80". */
static void write_list(char list[static LIST_SIZE], const selection *s) {
  const uint32_t named = smaller(s->count, MOST_NAMED), more = s->count - named;
  size_t at = 0;
  VS_ASSERT(s->count != 0);
  for (uint32_t i = 0; i < named; i++) {
    const char *before = i == 0 ? "" : i + 1 == named && more == 0 ? " or " : ", ";
    vs_format(list + at, LIST_SIZE - at, "%s%s", before, s->first[i]->key);
    at += strlen(list + at);
  }
  if (more != 0) vs_format(list + at, LIST_SIZE - at, " or %u more", more);
}

static bool is_number(vs_str text) {
  for (size_t i = 0; i < text.size; i++)
    if (!is_digit(text.data[i])) return false;
  return text.size != 0;
}

vs_status vs_sim_profile_unknown(vs_str name, uint64_t offset, vs_error *error) {
  selection meant = {.count = 0};
  plain typed;
  char list[LIST_SIZE];
  if (name.size == 0) return vs_fail(error, VS_BAD_ARGUMENT, offset, "the name of a GPU is missing");
  if (is_number(name) && name.size <= 3)
    return vs_fail(error, VS_BAD_ARGUMENT, offset, "unknown GPU '%S'; a size needs its unit: %SGiB", name,
                   name);
  if (make_plain(name, &typed)) find_kin(&meant, &typed);
  const bool is_ambiguous = meant.count > 1;
  if (meant.count == 0) find_meant(&meant, name);
  if (meant.count == 0)
    return vs_fail(error, VS_BAD_ARGUMENT, offset, "unknown GPU '%S'; a size such as 24GiB also works",
                   for_message(name));
  write_list(list, &meant);
  return vs_fail(error, VS_BAD_ARGUMENT, offset,
                 is_ambiguous ? "ambiguous GPU '%S': which of %s?" : "unknown GPU '%S': did you mean %s?",
                 for_message(name), list);
}
