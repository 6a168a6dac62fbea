/* The workspace that a convolution's plan asks for. */
#ifndef VS_SIMCUDA_CUDNN_CONVOLUTION_WORKSPACE_H
#define VS_SIMCUDA_CUDNN_CONVOLUTION_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum vs_cudnn_pass {
  VS_CUDNN_FORWARD,
  VS_CUDNN_DATA_GRADIENT,  /* of the input */
  VS_CUDNN_FILTER_GRADIENT /* of the weights */
} vs_cudnn_pass;

/* The values in memory, and for float32 whether tensor cores may round them to TF32. */
typedef enum vs_cudnn_numbers {
  VS_CUDNN_FLOAT32,
  VS_CUDNN_TF32,
  VS_CUDNN_FLOAT16,
  VS_CUDNN_BFLOAT16
} vs_cudnn_numbers;

/* Volumes are numbers of values of one channel, so they do not depend on the number of spatial dimensions. A
 * convolution of one dimension arrives as one of two dimensions of height 1. */
typedef struct vs_cudnn_convolution {
  vs_cudnn_pass pass;
  vs_cudnn_numbers numbers;
  bool is_channels_last;
  bool is_3d;
  bool is_strided, is_padded;
  bool is_three_by_three;          /* 2-D, window of 3 x 3, neither strided nor dilated */
  uint64_t batch, in, out, groups; /* in, out: channels; all at least 1 */
  uint64_t in_volume, out_volume, window;
  uint64_t height, width; /* of the input: the last two dimensions */
  uint64_t processors;    /* multiprocessors of the card */
} vs_cudnn_convolution;

/* Bytes of the workspace. All counts of `of` are at least 1 and below 2^31; the arithmetic wraps if their product
 * exceeds 64 bits, which no tensor in memory does. */
uint64_t vs_cudnn_convolution_workspace(const vs_cudnn_convolution *of);

/* A bound: the workspace of whichever engine wants most, on any card. No measured workspace exceeds it
 * (tests/sim/test_cudnn.py); it is no proof for what was not measured. The least is 0, of engines without one. */
uint64_t vs_cudnn_convolution_most(const vs_cudnn_convolution *of);

#endif
