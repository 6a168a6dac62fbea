/* What the fake NVML answers from: cards, each with keys and values, as README.md describes the file. */
#ifndef VS_FAKE_SCENARIO_H
#define VS_FAKE_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

enum {
  MOST_CARDS = 32,
  MOST_MIG_DEVICES = 8,
  MOST_VALUES = 192,
  MOST_PROCESSES = 64,
  MOST_NAMES = 64,
  MOST_EVENTS = 64,
  NOT_SUPPORTED = 3,
};

typedef struct fake_value {
  char key[64];
  char text[160]; /* "28", "10 | 50 | 90", "!4" */
  uint32_t asked; /* how often: the next of a sequence */
} fake_value;

typedef struct fake_process {
  uint32_t pid;
  char kind; /* C, G or M */
  uint64_t bytes;
  uint32_t gpu_instance, compute_instance;
  uint64_t protected_bytes;
} fake_process;

typedef struct fake_account {
  uint32_t pid, gpu, memory;
  bool is_running;
  uint64_t peak, time_ms, start_us;
} fake_account;

/* A card, or a MIG device of one. */
typedef struct fake_card {
  struct fake_card *parent; /* of a MIG device */
  fake_value values[MOST_VALUES];
  uint32_t value_count;
  fake_process processes[MOST_PROCESSES];
  uint32_t process_count;
  fake_account accounts[MOST_PROCESSES];
  uint32_t account_count;
  uint32_t xids[MOST_EVENTS]; /* in the order in which they happen */
  uint32_t xid_count;
} fake_card;

typedef struct fake_call { /* a function that is slow or absent, and how long it takes or what it returns */
  char name[64];
  uint64_t number;
} fake_call;

typedef struct fake_scenario {
  fake_card system; /* driver, nvml, cuda, init, layout */
  fake_card cards[MOST_CARDS];
  uint32_t card_count;
  fake_card mig[MOST_CARDS * MOST_MIG_DEVICES];
  uint32_t mig_count;
  fake_call returns[MOST_NAMES], slow[MOST_NAMES];
  uint32_t return_count, slow_count;
} fake_scenario;

/* Reads the file at `path`. What it cannot read it says on standard error, and ends the process: a test's mistake. */
void fake_read(fake_scenario *scenario, const char *path);

/* The text of a key, with NVML's return code: NOT_SUPPORTED where the card has none, N for "!N". Of a sequence the next
 * one, and the last for ever. NULL unless the code is 0. */
int fake_text(fake_card *card, const char *key, const char **text);
/* The same as a number: decimal, 0x..., or with KiB, MiB, GiB; "unknown" is all ones. */
int fake_number(fake_card *card, const char *key, uint64_t *number);

#endif
