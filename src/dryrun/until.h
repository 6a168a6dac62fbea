/* When a program that would run on is ended (--until): after a time, once it is idle, as a server is that waits for requests, or once
 * it is ready, as a server is that says so.
 *
 * Idle is a program that has used the GPU and for VS_UNTIL_QUIET_US has launched no kernel, taken and given back no memory of a
 * GPU, read nothing back, made no step, and used no more than a tenth of that time of one processor, with all its processes. So a
 * program that compiles or reads weights is not idle; one that looks for work again and again may never be.
 *
 * Ready is a program one of whose servers says so (ready.h) and that has used the GPU. Where a server answers and does not say, and
 * where the GPU was not used, as by a server that loads its model for the first request, it is ready once it has been as quiet as
 * that. A listening socket alone is no sign: others than the server listen before a model is loaded. */
#ifndef VS_DRYRUN_UNTIL_H
#define VS_DRYRUN_UNTIL_H

#include "device/sim/machine.h"
#include "dryrun/ready.h"

#define VS_UNTIL_QUIET_US UINT64_C(5000000)

typedef enum vs_until_kind { VS_UNTIL_ITS_END, VS_UNTIL_TIME, VS_UNTIL_IDLE, VS_UNTIL_READY } vs_until_kind;

typedef struct vs_until {
  vs_until_kind kind;
  uint64_t time_us; /* with VS_UNTIL_TIME: since the start */
} vs_until;

/* "idle", "ready", or seconds: "30", "2.5". False: none of these. */
bool vs_until_parse(vs_str text, vs_until *out);

/* Since when the run has been quiet, and what was counted then. All zero at the start of a run. */
typedef struct vs_until_watch {
  uint64_t since_us;
  uint64_t counted;
  uint64_t cpu_us;
} vs_until_watch;

/* The program at one moment. */
typedef struct vs_until_now {
  const vs_sim_machine *machine;
  uint64_t cpu_us; /* what its processes have used of the processors */
  uint64_t run_us; /* since the start, never less than the time before */
  vs_ready ready;  /* what its servers say */
} vs_until_now;

/* Whether the time has come. To be asked now and then while the program runs. */
bool vs_until_is_reached(vs_until_watch *watch, const vs_until *until, const vs_until_now *now);

#endif
