/* The values that ranks which do not run would have set: rules 3 to 5 of store.h. */
#ifndef VS_RENDEZVOUS_PEERS_H
#define VS_RENDEZVOUS_PEERS_H

#include "rendezvous/entries.h"

/* The value of a key that has no entry; false if no rule applies. Borrowed until the entries change. */
bool vs_peers_value(const vs_entries *entries, vs_str key, vs_str *value);

/* Whether the backend of a process group for `device` uses such a numbered key: "default_pg/0//cuda//0", "...cuda//0:3". */
bool vs_peers_is_numbered(vs_str key, vs_str device);

#endif
