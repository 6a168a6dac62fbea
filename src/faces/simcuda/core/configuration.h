/* What the environment says about the simulated machine.
 *
 *   VRAMSCOPE_SIM_GPU=H100[,H100...]     the cards, as device/sim/profile.h reads them; H100 if it is not set
 *   VRAMSCOPE_SIM_NODE=PATH              a machine that other processes share (device/sim/share.h)
 *   VRAMSCOPE_SIM_RUN=FOLDER             where notes for the report go
 *   VRAMSCOPE_SIM_VALUES=zeros|true|keep,FILE:LINE=VALUE...
 *                                        what copies read back (process.h), also at single places (device/sim/values.h)
 *   VRAMSCOPE_SIM_EVENTS=at-once|at-sync when an event counts as complete (device/sim/stream.h)
 *   VRAMSCOPE_SIM_CONTEXT=SIZE           size of a context on each card, instead of its profile's rule
 *   VRAMSCOPE_SIM_FAULT=KIND:N[,...]     the n-th call of a kind fails (device/sim/faults.def)
 *   VRAMSCOPE_SIM_DELAY=KIND:US[,...]    each call of a kind takes so many microseconds of virtual time
 *   VRAMSCOPE_SIM_STACKS=0               no Python stacks of reads (readback_sites.h)
 *   VRAMSCOPE_SIM_VERBOSE=1              each note also goes to standard error
 *
 * A variable that is set and empty counts as not set. */
#ifndef VS_SIMCUDA_CONFIGURATION_H
#define VS_SIMCUDA_CONFIGURATION_H

#include "device/sim/fault.h"
#include "device/sim/profile.h"
#include "device/sim/stream.h"
#include "device/sim/values.h"

enum { VS_CONFIGURATION_PATH = 4096, VS_CONFIGURATION_PROBLEM = VS_ERROR_TEXT_SIZE + 64 };

typedef struct vs_configuration {
  vs_sim_gpu gpus[VS_SIM_MAX_DEVICES];
  uint32_t gpu_count;
  char node[VS_CONFIGURATION_PATH]; /* "": a machine that is not shared */
  /* "": no notes. Else absolute, so that the program may change its folder. */
  char run[VS_CONFIGURATION_PATH];
  vs_given_values given; /* its texts are in `values` */
  char values[VS_CONFIGURATION_PATH];
  vs_sim_event_rule events;
  uint64_t fail_at[VS_SIM_FAULT_COUNT];  /* 0: none */
  uint64_t delay_us[VS_SIM_FAULT_COUNT]; /* 0: none */
  bool asks_stacks;
  bool is_verbose;
} vs_configuration;

/* `get` is getenv, or a test's own. false: a variable is invalid, and `problem` is a sentence that says which
 * and why. */
bool vs_configuration_read(vs_configuration *configuration, const char *(*get)(const char *name),
                           char problem[static VS_CONFIGURATION_PROBLEM]);

/* The cards that a program sees, in its order: what CUDA_VISIBLE_DEVICES means on a machine of `card_count`
 * cards. `list` NULL: the variable is not set, so all. Returns the number of entries of cards[].
 *
 * The list has numbers or, if it begins with "GPU-", UUIDs, which may be shortened as long as they match one
 * card only. The first entry that matches no card ends the list: further entries are ignored. If an entry occurs
 * twice, no card is visible. Of a number only the leading digits count ("1gpu" is 1), and blanks around it are
 * ignored. */
uint32_t vs_visible_cards(const char *list, uint32_t card_count, uint32_t cards[static VS_SIM_MAX_DEVICES]);

/* "GPU-73696d75-...": a card's UUID as NVML writes it. */
enum { VS_CARD_UUID_TEXT = 41 };
void vs_card_uuid_text(uint32_t card, char text[static VS_CARD_UUID_TEXT]);

#endif
