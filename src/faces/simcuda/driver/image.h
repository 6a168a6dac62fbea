/* Images of device code, as far as memory is concerned: what kernels and variables they name, and what a
 * kernel needs.
 *
 * A program hands over a pointer without a length. What lies there says itself how long it is:
 *   ELF        a cubin. Its sections and symbols name everything
 *   PTX        text that ends in a zero byte. Kernels are found by their .entry lines
 *   fat binary several of the above, mostly compressed. What is in it is not known here: any kernel may be asked for
 * Everything else is refused. A cubin is copied, since the program may free it; it is trusted as far as a
 * driver has to, that is within the length that its own header claims. */
#ifndef VS_SIMCUDA_DRIVER_IMAGE_H
#define VS_SIMCUDA_DRIVER_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum vs_image_kind { VS_IMAGE_NONE = 0, VS_IMAGE_ELF, VS_IMAGE_PTX, VS_IMAGE_FAT } vs_image_kind;

typedef struct vs_image {
  vs_image_kind kind;
  uint8_t *bytes; /* a copy; NULL for a fat binary. PTX: with its zero byte */
  uint64_t size;
} vs_image;

typedef struct vs_image_kernel {
  const char *name; /* borrowed of the image, `name_size` bytes */
  size_t name_size;
  uint32_t registers;
  uint64_t shared_bytes;
} vs_image_kernel;

/* `size`: of the memory at `data`, UINT64_MAX where the caller does not know. kind stays NONE for what is no
 * image, or where there is no memory for a copy. */
void vs_image_load(vs_image *image, const void *data, uint64_t size);
void vs_image_free(vs_image *image);

/* Kernel number `i`, in the order of the image; false behind the last one, and always for a fat binary. */
bool vs_image_kernel_at(const vs_image *image, uint32_t i, vs_image_kernel *kernel);
/* By name. A fat binary has every kernel, with what is usual. */
bool vs_image_kernel_find(const vs_image *image, const char *name, vs_image_kernel *kernel);
/* The size of a variable; false where it is not there, or where that cannot be known. */
bool vs_image_variable(const vs_image *image, const char *name, uint64_t *size);

#endif
