/* libnvidia-ml.so.1 of a fake machine: answers from the scenario file that the variable VRAMSCOPE_FAKE_NVML names. For tests
 * of callers of NVML; it contains nothing of NVIDIA's. README.md has the file's format. */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

fake_scenario fake_machine;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;

/* ---- each function begins here */

static char path[4096];       /* of the scenario */
static struct timespec stamp; /* when it was written last, and by which name on the disk */
static ino_t inode;
static _Thread_local bool only_waits;

void fake_never_refresh(void) { only_waits = true; }
void fake_lock(bool is_taken) {
  if (is_taken) pthread_mutex_lock(&lock);
  else pthread_mutex_unlock(&lock);
}

/* Reads the fake_machine, if it is another than before. A new file takes an old one's place at once, by renaming; cards keep
 * their handles. */
static void refresh(bool must) {
  struct stat now;
  const bool is_there = path[0] != 0 && stat(path, &now) == 0;
  if (!is_there) {
    if (must) memset(&fake_machine, 0, sizeof fake_machine);
    return;
  }
  const bool is_same =
      now.st_ino == inode && now.st_mtim.tv_sec == stamp.tv_sec && now.st_mtim.tv_nsec == stamp.tv_nsec;
  if (is_same && !must) return;
  stamp = now.st_mtim;
  inode = now.st_ino;
  fake_read(&fake_machine, path);
  fake_events_take();
}

nvmlReturn_t fake_enter(const char *function, bool needs_init) {
  uint64_t microseconds = 0;
  pthread_mutex_lock(&lock);
  const unsigned used_by = users;
  if (used_by != 0 && !only_waits) refresh(false);
  pthread_mutex_unlock(&lock);
  for (uint32_t i = 0; i < fake_machine.slow_count; i++)
    if (strcmp(fake_machine.slow[i].name, function) == 0) microseconds = fake_machine.slow[i].number;
  if (microseconds != 0)
    nanosleep(&(struct timespec){(time_t)(microseconds / 1000000), (long)(microseconds % 1000000) * 1000},
              NULL);
  for (uint32_t i = 0; i < fake_machine.return_count; i++)
    if (strcmp(fake_machine.returns[i].name, function) == 0)
      return (nvmlReturn_t)fake_machine.returns[i].number;
  return needs_init && used_by == 0 ? NVML_ERROR_UNINITIALIZED : NVML_SUCCESS;
}

nvmlReturn_t fake_card_of(const char *function, nvmlDevice_t device, fake_card **card) {
  TRY(fake_enter(function, true));
  *card = (fake_card *)(void *)device;
  const bool is_card = *card >= fake_machine.cards && *card < fake_machine.cards + fake_machine.card_count;
  const bool is_mig = *card >= fake_machine.mig && *card < fake_machine.mig + fake_machine.mig_count;
  if (!is_card && !is_mig) return NVML_ERROR_INVALID_ARGUMENT;
  uint64_t lost = 0;
  return fake_number(*card, "lost", &lost) == 0 ? (nvmlReturn_t)lost : NVML_SUCCESS;
}

nvmlReturn_t fake_put_text(fake_card *card, const char *key, char *to, size_t size) {
  const char *text;
  TRY(fake_text(card, key, &text));
  if (strlen(text) >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
  memcpy(to, text, strlen(text) + 1);
  return NVML_SUCCESS;
}

nvmlReturn_t fake_put_uint(fake_card *card, const char *key, unsigned int *to) {
  uint64_t number;
  TRY(fake_number(card, key, &number));
  *to = (unsigned int)number;
  return NVML_SUCCESS;
}

nvmlReturn_t fake_put_ulong(fake_card *card, const char *key, unsigned long long *to) {
  uint64_t number;
  TRY(fake_number(card, key, &number));
  *to = number;
  return NVML_SUCCESS;
}

/* ---- the system */

/* A missing file is a machine without cards. The variable is read while no thread uses the library. */
static nvmlReturn_t begin(const char *function) {
  const char *given = getenv("VRAMSCOPE_FAKE_NVML");
  pthread_mutex_lock(&lock);
  if (users == 0) {
    snprintf(path, sizeof path, "%s", given == NULL ? "" : given);
    fake_events_forget();
    refresh(true);
  }
  pthread_mutex_unlock(&lock);
  nvmlReturn_t code = fake_enter(function, false);
  uint64_t init = 0;
  if (code == NVML_SUCCESS && fake_number(&fake_machine.system, "init", &init) == 0)
    code = (nvmlReturn_t)init;
  pthread_mutex_lock(&lock);
  users += code == NVML_SUCCESS;
  pthread_mutex_unlock(&lock);
  return code;
}
nvmlReturn_t nvmlInit_v2(void) { return begin(__func__); }
nvmlReturn_t nvmlInit(void) { return begin(__func__); }

nvmlReturn_t nvmlShutdown(void) {
  pthread_mutex_lock(&lock);
  const nvmlReturn_t code = users == 0 ? NVML_ERROR_UNINITIALIZED : NVML_SUCCESS;
  if (users != 0) users--;
  pthread_mutex_unlock(&lock);
  return code;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned int size) {
  TRY(fake_enter(__func__, true));
  return fake_put_text(&fake_machine.system, "driver", text, size);
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char *text, unsigned int size) {
  TRY(fake_enter(__func__, false));
  return fake_put_text(&fake_machine.system, "nvml", text, size);
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) {
  TRY(fake_enter(__func__, true));
  return fake_put_uint(&fake_machine.system, "cuda", (unsigned int *)version);
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) {
  TRY(fake_enter(__func__, true));
  return fake_put_uint(&fake_machine.system, "cuda.unversioned", (unsigned int *)version) == NVML_SUCCESS
             ? NVML_SUCCESS
             : fake_put_uint(&fake_machine.system, "cuda", (unsigned int *)version);
}

/* ---- cards and MIG devices */

static nvmlReturn_t put_count(const char *function, unsigned int *count) {
  TRY(fake_enter(function, true));
  *count = fake_machine.card_count;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count) { return put_count(__func__, count); }
nvmlReturn_t nvmlDeviceGetCount(unsigned int *count) { return put_count(__func__, count); }

static nvmlReturn_t put_handle(const char *function, unsigned int index, nvmlDevice_t *device) {
  TRY(fake_enter(function, true));
  if (index >= fake_machine.card_count) return NVML_ERROR_INVALID_ARGUMENT;
  uint64_t code = 0; /* handle = 15: cannot even be got */
  if (fake_number(&fake_machine.cards[index], "handle", &code) == 0) return (nvmlReturn_t)code;
  *device = (nvmlDevice_t)(void *)&fake_machine.cards[index];
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
  return put_handle(__func__, index, device);
}
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device) {
  return put_handle(__func__, index, device);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending) {
  CARD;
  TRY(fake_put_uint(card, "mig.mode.current", current));
  return fake_put_uint(card, "mig.mode.pending", pending);
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count) {
  CARD;
  if (fake_put_uint(card, "mig.slots", count) != NVML_SUCCESS) *count = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index, nvmlDevice_t *mig) {
  CARD;
  for (uint32_t i = 0; i < fake_machine.mig_count; i++) {
    uint64_t slot;
    if (fake_machine.mig[i].parent != card || fake_number(&fake_machine.mig[i], "slot", &slot) != 0 ||
        slot != index)
      continue;
    *mig = (nvmlDevice_t)(void *)&fake_machine.mig[i];
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

/* ---- what others call and we do not: for pynvml and its like */

#define OTHER __attribute__((visibility("default")))
OTHER nvmlReturn_t nvmlInitWithFlags(unsigned int flags);
OTHER const char *nvmlErrorString(nvmlReturn_t code);
OTHER nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int size);
OTHER nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index);
OTHER nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *index);
OTHER nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_mig);
OTHER nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t device, nvmlDevice_t *parent);
OTHER nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device);

nvmlReturn_t nvmlInitWithFlags(unsigned int flags) {
  (void)flags;
  return begin(__func__);
}
const char *nvmlErrorString(nvmlReturn_t code) {
  switch (code) {
#define VS_NVML_RETURN(name, number, text) \
  case name:                               \
    return text;
#include "device/abi/nvml_returns.def"
#undef VS_NVML_RETURN
  }
  return "unknown error";
}
nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int size) {
  TRY(fake_enter(__func__, true));
  return snprintf(name, size, "process-%u", pid) < (int)size ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}
static nvmlReturn_t put_index(fake_card *card, unsigned int *index) {
  if (card->parent != NULL) return NVML_ERROR_NOT_SUPPORTED;
  *index = (unsigned int)(card - fake_machine.cards);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index) {
  CARD;
  return put_index(card, index);
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *index) {
  CARD;
  return put_index(card, index);
}
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned int *is_mig) {
  CARD;
  *is_mig = card->parent != NULL;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t device, nvmlDevice_t *parent) {
  CARD;
  if (card->parent == NULL) return NVML_ERROR_INVALID_ARGUMENT;
  *parent = (nvmlDevice_t)(void *)card->parent;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
  TRY(fake_enter(__func__, true));
  for (uint32_t i = 0; i < fake_machine.card_count + fake_machine.mig_count; i++) {
    fake_card *card =
        i < fake_machine.card_count ? &fake_machine.cards[i] : &fake_machine.mig[i - fake_machine.card_count];
    const char *text;
    if (fake_text(card, "uuid", &text) != 0 || strcmp(text, uuid) != 0) continue;
    *device = (nvmlDevice_t)(void *)card;
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}
