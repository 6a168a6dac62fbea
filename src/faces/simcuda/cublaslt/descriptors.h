/* Descriptors of cuBLASLt. A program may keep them in its own memory of a fixed size (abi/cublaslt.h), so they are
 * plain structs. A tag identifies a descriptor, and is cleared when it is destroyed. attributes.def lists the
 * attributes. */
#ifndef VS_SIMCUDA_CUBLASLT_DESCRIPTORS_H
#define VS_SIMCUDA_CUBLASLT_DESCRIPTORS_H

#include "faces/simcuda/abi/cublaslt.h"
#include "faces/simcuda/core/objects.h"

typedef struct lt_layout {
  uint64_t rows, cols, ld, batch_stride, plane;
  uint32_t type, order, batch_count, batch_mode;
  uint64_t tag;
} lt_layout;

typedef struct lt_matmul {
  uint64_t tag;
  uint64_t bias, bias_stride, aux, aux_ld, aux_stride, alpha_stride;
  uint64_t a_scale, b_scale, c_scale, d_scale, amax_d, aux_scale, aux_amax, d_out_scale, emulation;
  uint64_t atomic_in, atomic_out; /* CUDA 12 */
  uint32_t compute_type, scale_type, pointer_mode, opa, opb, opc, fill_mode, epilogue, sm_count_target;
  uint32_t aux_type, bias_type, a_scale_mode, b_scale_mode, c_scale_mode, d_scale_mode, aux_scale_mode;
  uint32_t d_out_scale_mode;
  uint16_t atomic_rows[2], atomic_cols[2];
  uint8_t fast_accumulation;
} lt_matmul;

typedef struct lt_preference {
  uint64_t tag;
  uint64_t workspace, implementations;
  uint32_t search_mode, reductions, align_a, align_b, align_c, align_d;
  float waves;
} lt_preference;

typedef struct lt_transform {
  uint64_t tag;
  uint32_t scale_type, pointer_mode, opa, opb;
} lt_transform;

typedef struct lt_emulation {
  uint64_t tag;
  uint64_t bit_count;
  uint32_t strategy, special_values, mantissa_control, most_bits, bit_offset;
} lt_emulation;

typedef struct lt_algorithm {
  uint32_t id, tile, split_k, reduction, swizzling, custom, stages;
  uint16_t inner_shape, cluster_shape;
  uint64_t tag;
} lt_algorithm;

_Static_assert(sizeof(lt_layout) <= sizeof(cublasLtMatrixLayoutOpaque_t),
               "a layout fits into the program's memory");
_Static_assert(sizeof(lt_matmul) <= 32 * 8, "a product's description does, too");
_Static_assert(sizeof(lt_preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t), "and a preference");
_Static_assert(sizeof(lt_transform) <= 64 && sizeof(lt_emulation) <= 64, "and the others");
_Static_assert(sizeof(lt_algorithm) <= sizeof(cublasLtMatmulAlgo_t), "and an algorithm");

#define LT_TAG_LAYOUT     VS_TAG('l', 'l', 'a', 'y')
#define LT_TAG_MATMUL     VS_TAG('l', 'm', 'u', 'l')
#define LT_TAG_PREFERENCE VS_TAG('l', 'p', 'r', 'e')
#define LT_TAG_TRANSFORM  VS_TAG('l', 't', 'r', 'a')
#define LT_TAG_EMULATION  VS_TAG('l', 'e', 'm', 'u')
#define LT_TAG_ALGORITHM  VS_TAG('l', 'a', 'l', 'g')

#endif
