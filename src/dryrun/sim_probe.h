/* Tries whether programs can run on the simulated GPU here: for `vramscope doctor`. */
#ifndef VS_DRYRUN_SIM_PROBE_H
#define VS_DRYRUN_SIM_PROBE_H

#include "dryrun/libraries.h"

typedef struct vs_sim_probe {
  vs_simulated simulated;
  bool loads;        /* a program starts with the libraries in it, and the loader has nothing to say */
  char problem[256]; /* what it said, else; "" where nothing was tried */
  char python[256];  /* the interpreter that "python3" is; "" if there is none */
  char python_version[32];
  char torch_version[64]; /* "" where it has none */
} vs_sim_probe;

/* Starts this program and Python, for moments; opens no connection and does not import torch. */
void vs_sim_probe_run(vs_sim_probe *probe, const vs_host *host);

#endif
