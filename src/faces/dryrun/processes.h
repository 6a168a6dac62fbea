/* The section of a dry run's report about several processes: each with its GPU, its peaks and its largest owner. */
#ifndef VS_FACES_DRYRUN_PROCESSES_H
#define VS_FACES_DRYRUN_PROCESSES_H

#include "faces/dryrun/sheet.h"

/* The processes that used a GPU; others only loaded the driver. */
size_t vs_dryrun_count_users(const vs_sheet *p);

/* A row for each process and GPU, those with the most memory first. Nothing where one process used the GPU. */
void vs_dryrun_put_processes(vs_sheet *p);

/* "of rank 2 on GPU 2": which process the owners in the report are of, where there are several. */
void vs_dryrun_put_whose(vs_sheet *p);

#endif
