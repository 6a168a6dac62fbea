/* Reads SQLite databases as text by the SQLite that the program links. Only the tables that Nsight Systems exports about the
 * memory of GPUs are read (nsys_tables.def).
 *
 * A database is not trusted. It is opened for reading only, as a file that does not change, so nothing is written next to it;
 * views, triggers, virtual tables and generated columns are refused, so nothing of what its author wrote as SQL runs; the table
 * of events is checked page by page before it is read. */
#ifndef VS_INTAKE_LINKED_DATABASE_H
#define VS_INTAKE_LINKED_DATABASE_H

#include "intake/database.h"

/* NULL in a build without SQLite. */
const vs_database_library *vs_databases_linked(void);

#endif
