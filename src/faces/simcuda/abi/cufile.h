/* cuFile: the functions written by hand. */
#ifndef VS_SIMCUDA_ABI_CUFILE_H
#define VS_SIMCUDA_ABI_CUFILE_H

#include <stddef.h>
#include <sys/types.h>

typedef void *CUfileHandle_t;

ssize_t sim_cuFileRead(CUfileHandle_t file, void *device, size_t size, off_t file_offset,
                       off_t device_offset);
ssize_t sim_cuFileWrite(CUfileHandle_t file, const void *device, size_t size, off_t file_offset,
                        off_t device_offset);

#endif
