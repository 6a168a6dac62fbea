/* Images of device code: the names of their kernels and variables, and the resources of each kernel.
 *
 * A program passes a pointer without a length, so the length comes from the data itself:
 *   ELF        a cubin. Its sections and symbols name everything
 *   PTX        text that ends in a zero byte. Kernels are found by their .entry lines
 *   fat binary several of the above, mostly compressed. Its kernels are unknown here, so any name is accepted
 * Other data is refused. A cubin is copied, since the program may free it. As in a real driver, only accesses
 * within the length that its own header claims are safe. */
#ifndef VS_SIMCUDA_DRIVER_IMAGE_H
#define VS_SIMCUDA_DRIVER_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum vs_image_kind { VS_IMAGE_NONE = 0, VS_IMAGE_ELF, VS_IMAGE_PTX, VS_IMAGE_FAT } vs_image_kind;

typedef struct vs_image {
  vs_image_kind kind;
  uint8_t *bytes; /* a copy, NULL for a fat binary; PTX includes its zero byte */
  uint64_t size;
} vs_image;

typedef struct vs_image_kernel {
  const char *name; /* borrowed from the image, `name_size` bytes */
  size_t name_size;
  uint32_t registers;
  uint64_t shared_bytes;
} vs_image_kernel;

/* `size`: of the memory at `data`, UINT64_MAX if the caller does not know it. kind stays NONE if the data is no
 * image, or if there is no memory for a copy. */
void vs_image_load(vs_image *image, const void *data, uint64_t size);
void vs_image_free(vs_image *image);

/* Kernel number `i`, in the order of the image; false behind the last one, and always for a fat binary. */
bool vs_image_kernel_at(const vs_image *image, uint32_t i, vs_image_kernel *kernel);
/* Finds a kernel by name. A fat binary accepts every name, with default resources. */
bool vs_image_kernel_find(const vs_image *image, const char *name, vs_image_kernel *kernel);
/* The size of a variable; false if there is none of this name, or if that is unknown. */
bool vs_image_variable(const vs_image *image, const char *name, uint64_t *size);

#endif
