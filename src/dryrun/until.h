/* When a program that would run on is ended (--until): after a time, or once it is idle, as a server is that waits for requests.
 *
 * Idle is a program that has used the GPU and for VS_UNTIL_QUIET_US has launched no kernel, taken and given back no memory of a
 * GPU, read nothing back, made no step, and used no more than a tenth of that time of one processor, with all its processes. So a
 * program that compiles or reads weights is not idle; one that looks for work again and again may never be. */
#ifndef VS_DRYRUN_UNTIL_H
#define VS_DRYRUN_UNTIL_H

#include "device/sim/machine.h"

#define VS_UNTIL_QUIET_US UINT64_C(5000000)

typedef enum vs_until_kind { VS_UNTIL_ITS_END, VS_UNTIL_TIME, VS_UNTIL_IDLE } vs_until_kind;

typedef struct vs_until {
  vs_until_kind kind;
  uint64_t time_us; /* with VS_UNTIL_TIME: since the start */
} vs_until;

/* "idle", or seconds: "30", "2.5". False: neither. */
bool vs_until_parse(vs_str text, vs_until *out);

/* Since when the run has been quiet, and what was counted then. All zero at the start of a run. */
typedef struct vs_until_watch {
  uint64_t since_us;
  uint64_t counted;
  uint64_t cpu_us;
} vs_until_watch;

/* Whether the time has come. To be asked now and then while the program runs. `cpu_us`: what its processes have used of the
 * processors; `run_us`: since the start, never less than the time before. */
bool vs_until_is_reached(vs_until_watch *watch, const vs_until *until, const vs_sim_machine *machine,
                         uint64_t cpu_us, uint64_t run_us);

#endif
