/* The names of cards as users write them. One rule finds a card and explains why a text names none or several. */
#ifndef VS_DEVICE_SIM_PROFILE_NAMES_H
#define VS_DEVICE_SIM_PROFILE_NAMES_H

#include "device/sim/profile.h"

/* A name that vs_sim_profile_find does not find: the error says whether several cards have it, and lists them, or which card was
 * probably meant. `offset` is that of the name in the whole text. Returns VS_BAD_ARGUMENT. */
VS_MUST_CHECK vs_status vs_sim_profile_unknown(vs_str name, uint64_t offset, vs_error *error);

#endif
