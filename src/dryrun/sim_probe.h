/* Tests whether programs can run on the simulated GPU here, for `vramscope doctor`. */
#ifndef VS_DRYRUN_SIM_PROBE_H
#define VS_DRYRUN_SIM_PROBE_H

#include "dryrun/libraries.h"

typedef struct vs_sim_probe {
  vs_simulated simulated;
  bool loads;        /* a program starts with the libraries loaded, and the loader prints nothing */
  char problem[256]; /* if not: the loader's message; "" if nothing was tried */
  char python[256];  /* the path of the interpreter "python3"; "" if there is none */
  char python_version[32];
  char torch_version[64]; /* "" if it has no torch */
} vs_sim_probe;

/* Starts this program and Python for a moment each; opens no connection and does not import torch. */
void vs_sim_probe_run(vs_sim_probe *probe, const vs_host *host);

#endif
