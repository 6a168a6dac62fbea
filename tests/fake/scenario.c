#include "scenario.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading */

typedef struct place {
  const char *path;
  unsigned line;
} place;

static _Noreturn void wrong(const place *at, const char *what) {
  fprintf(stderr, "fake NVML: %s:%u: %s\n", at->path, at->line, what);
  _Exit(70);
}

static char *trim(char *text) {
  while (isspace((unsigned char)*text)) text++;
  size_t size = strlen(text);
  while (size > 0 && isspace((unsigned char)text[size - 1])) text[--size] = 0;
  return text;
}

static void copy(const place *at, char *to, size_t capacity, const char *from) {
  if (strlen(from) >= capacity) wrong(at, "too long");
  memcpy(to, from, strlen(from) + 1);
}

static uint64_t number_of(const char *text, bool *is_number) {
  if (strcmp(text, "unknown") == 0) return *is_number = true, UINT64_MAX;
  char *end = NULL;
  const bool is_negative = *text == '-';
  uint64_t number = is_negative ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
  *is_number = end != text;
  if (*end == 0) return number;
  if (strcmp(end, "KiB") == 0) return number << 10;
  if (strcmp(end, "MiB") == 0) return number << 20;
  if (strcmp(end, "GiB") == 0) return number << 30;
  *is_number = false;
  return 0;
}

static uint64_t need_number(const place *at, const char *text) {
  bool is_number = false;
  const uint64_t number = text == NULL ? 0 : number_of(text, &is_number);
  if (!is_number) wrong(at, "a number is expected");
  return number;
}

static void set(const place *at, fake_card *card, const char *key, const char *text) {
  uint32_t i = 0;
  while (i < card->value_count && strcmp(card->values[i].key, key) != 0) i++;
  if (i == MOST_VALUES) wrong(at, "too many values");
  if (i == card->value_count) card->value_count++;
  card->values[i].asked = 0;
  copy(at, card->values[i].key, sizeof card->values[i].key, key);
  copy(at, card->values[i].text, sizeof card->values[i].text, text);
}

/* process = PID KIND BYTES [GI CI [PROTECTED]] */
static void add_process(const place *at, fake_card *card, char *text) {
  if (strcmp(text, "none") == 0) {
    card->process_count = 0;
    return;
  }
  if (card->process_count == MOST_PROCESSES) wrong(at, "too many processes");
  fake_process *process = &card->processes[card->process_count++];
  char *rest = NULL;
  process->pid = (uint32_t)need_number(at, strtok_r(text, " ", &rest));
  const char *kind = strtok_r(NULL, " ", &rest);
  if (kind == NULL || strchr("CGM", *kind) == NULL) wrong(at, "the kind is C, G or M");
  process->kind = *kind;
  process->bytes = need_number(at, strtok_r(NULL, " ", &rest));
  const char *gpu = strtok_r(NULL, " ", &rest), *compute = strtok_r(NULL, " ", &rest);
  process->gpu_instance = gpu == NULL ? UINT32_MAX : (uint32_t)need_number(at, gpu);
  process->compute_instance = compute == NULL ? UINT32_MAX : (uint32_t)need_number(at, compute);
  const char *protected_bytes = compute == NULL ? NULL : strtok_r(NULL, " ", &rest);
  process->protected_bytes = protected_bytes == NULL ? UINT64_MAX : need_number(at, protected_bytes);
}

/* account = PID RUNNING GPU% MEMORY% PEAK MILLISECONDS START */
static void add_account(const place *at, fake_card *card, char *text) {
  if (card->account_count == MOST_PROCESSES) wrong(at, "too many accounts");
  fake_account *account = &card->accounts[card->account_count++];
  char *rest = NULL;
  account->pid = (uint32_t)need_number(at, strtok_r(text, " ", &rest));
  account->is_running = need_number(at, strtok_r(NULL, " ", &rest)) != 0;
  account->gpu = (uint32_t)need_number(at, strtok_r(NULL, " ", &rest));
  account->memory = (uint32_t)need_number(at, strtok_r(NULL, " ", &rest));
  account->peak = need_number(at, strtok_r(NULL, " ", &rest));
  account->time_ms = need_number(at, strtok_r(NULL, " ", &rest));
  account->start_us = need_number(at, strtok_r(NULL, " ", &rest));
}

/* NAME... with one number for all of them, or NAME NUMBER... */
static void add_xids(const place *at, fake_card *card, char *text) {
  char *rest = NULL;
  for (char *number = strtok_r(text, " ", &rest); number != NULL; number = strtok_r(NULL, " ", &rest)) {
    if (card->xid_count == MOST_EVENTS) wrong(at, "too many XID errors");
    card->xids[card->xid_count++] = (uint32_t)need_number(at, number);
  }
}

static void add_calls(const place *at, fake_call *calls, uint32_t *count, char *text,
                      const uint64_t *number) {
  char *rest = NULL;
  for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
    if (*count == MOST_NAMES) wrong(at, "too many functions");
    fake_call *call = &calls[(*count)++];
    copy(at, call->name, sizeof call->name, word);
    call->number = number != NULL ? *number : need_number(at, strtok_r(NULL, " ", &rest));
  }
}

/* [card], [card 1] (again), [card like 0], [mig] (of the last card). The card that the lines below are about. */
static fake_card *begin_section(const place *at, fake_scenario *s, fake_card *last, char *text) {
  unsigned number;
  if (strcmp(text, "mig") == 0) {
    fake_card *card = last->parent != NULL ? last->parent : last;
    if (card == &s->system) wrong(at, "a MIG device comes behind its card");
    if (s->mig_count == MOST_CARDS * MOST_MIG_DEVICES) wrong(at, "too many MIG devices");
    fake_card *mig = &s->mig[s->mig_count++];
    mig->parent = card;
    return mig;
  }
  if (sscanf(text, "card %u", &number) == 1) {
    if (number >= s->card_count) wrong(at, "there is no such card yet");
    return &s->cards[number];
  }
  if (strncmp(text, "card", 4) != 0) wrong(at, "a section is [card], [card N], [card like N] or [mig]");
  if (s->card_count == MOST_CARDS) wrong(at, "too many cards");
  fake_card *card = &s->cards[s->card_count++];
  if (sscanf(text, "card like %u", &number) == 1) {
    if (number >= s->card_count - 1) wrong(at, "there is no such card yet");
    *card = s->cards[number];
  }
  return card;
}

static void read_into(fake_scenario *s, const char *path) {
  FILE *file = fopen(path, "r");
  const uint64_t none = 13; /* there is no such function */
  place at = {path, 0};
  if (file == NULL) wrong(&at, "cannot be opened");
  fake_card *card = &s->system;
  char buffer[512];
  while (fgets(buffer, sizeof buffer, file) != NULL) {
    at.line++;
    char *line = trim(buffer);
    if (*line == 0 || *line == '#') continue;
    if (*line == '[') {
      line[strcspn(line, "]")] = 0;
      card = begin_section(&at, s, card, trim(line + 1));
      continue;
    }
    char *equals = strchr(line, '=');
    if (equals == NULL) wrong(&at, "a line is KEY = VALUE");
    *equals = 0;
    const char *key = trim(line);
    char *value = trim(equals + 1);
    if (strcmp(key, "include") == 0) {
      char other[512];
      const char *slash = strrchr(path, '/');
      snprintf(other, sizeof other, "%.*s%s", slash == NULL ? 0 : (int)(slash - path + 1), path, value);
      read_into(s, other);
      card = &s->system;
    } else if (strcmp(key, "process") == 0) add_process(&at, card, value);
    else if (strcmp(key, "account") == 0) add_account(&at, card, value);
    else if (strcmp(key, "xid") == 0) add_xids(&at, card, value);
    else if (strcmp(key, "missing") == 0) add_calls(&at, s->returns, &s->return_count, value, &none);
    else if (strcmp(key, "returns") == 0) add_calls(&at, s->returns, &s->return_count, value, NULL);
    else if (strcmp(key, "slow") == 0) add_calls(&at, s->slow, &s->slow_count, value, NULL);
    else set(&at, card, key, value);
  }
  fclose(file);
}

void fake_read(fake_scenario *scenario, const char *path) {
  memset(scenario, 0, sizeof *scenario);
  read_into(scenario, path);
}

/* ---- asking */

/* The part of "a | b | c" that is its turn. */
static const char *next_of(fake_value *value) {
  static _Thread_local char part[sizeof value->text];
  const char *from = value->text;
  for (uint32_t i = 0; i < value->asked && strchr(from, '|') != NULL; i++) from = strchr(from, '|') + 1;
  value->asked++;
  snprintf(part, sizeof part, "%.*s", (int)strcspn(from, "|"), from);
  return trim(part);
}

int fake_text(fake_card *card, const char *key, const char **text) {
  *text = NULL;
  for (uint32_t i = 0; i < card->value_count; i++) {
    if (strcmp(card->values[i].key, key) != 0) continue;
    const char *part = next_of(&card->values[i]);
    if (*part == '!') return atoi(part + 1);
    *text = part;
    return 0;
  }
  return NOT_SUPPORTED;
}

int fake_number(fake_card *card, const char *key, uint64_t *number) {
  const char *text;
  const int code = fake_text(card, key, &text);
  if (code != 0) return code;
  bool is_number = false;
  *number = number_of(text, &is_number);
  if (is_number) return 0;
  fprintf(stderr, "fake NVML: %s = %s is no number\n", key, text);
  _Exit(70);
}
