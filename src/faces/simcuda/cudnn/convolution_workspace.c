/* A rule for the workspaces of convolutions, measured on an H100 (driver 580, cuDNN 9.19, PyTorch 2.11). NVIDIA
 * documents none: cuDNN chooses an engine by the card, the types and the sizes. The rows are in
 * tests/gpu/measured, and tests/sim/test_cudnn.py holds the simulation against them. The shape of the rule:
 *
 *   copies    kernels for tensor cores read channels-last tensors whose channels fill 16 bytes. Other tensors are
 *             copied into the workspace, and 16 bytes are added for all copies
 *   partials  few output tiles leave multiprocessors idle, so the depth of the product is split, and each part
 *             stores a partial result in float32. The gradient of the weights has few tiles and a large depth
 *   counters  a persistent kernel has a counter, 131 bytes with its alignment; split products have a flag for
 *             each tile
 *
 * Constants without a reason of their own are fits: of the choices that explain the rows, the simplest. */
#include "faces/simcuda/cudnn/convolution_workspace.h"

enum {
  COPIES = 16,   /* bytes for all copies: their alignment */
  COUNTER = 131, /* 4 bytes, aligned to 128 */
  FLAGS = 159,   /* 8 flags of 4 bytes, aligned to 128 */
  TILE = 128,    /* rows and columns of an output tile */
  TILE_BYTES = TILE * TILE * 4
};

/* The convolution as a product of matrices. */
typedef struct matrix_product {
  uint64_t rows, columns, depth;
  uint64_t tiles; /* of the result */
} matrix_product;

/* Channels as the engine wants them, and what it copies. */
typedef struct copies {
  uint64_t in, out;
  bool x, y, w;
} copies;

static uint64_t up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }
static uint64_t padded(uint64_t a, uint64_t to) { return up(a, to) * to; }
static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t greatest(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t tiles(uint64_t rows, uint64_t columns, uint64_t high, uint64_t wide) {
  return up(rows, high) * up(columns, wide);
}

static bool is_half(const vs_cudnn_convolution *c) {
  return c->numbers == VS_CUDNN_FLOAT16 || c->numbers == VS_CUDNN_BFLOAT16;
}
static uint64_t value_bytes(const vs_cudnn_convolution *c) { return is_half(c) ? 2 : 4; }
static uint64_t channel_unit(const vs_cudnn_convolution *c) { return 16 / value_bytes(c); }
static bool is_forward(const vs_cudnn_convolution *c) { return c->pass == VS_CUDNN_FORWARD; }
static bool is_patches(const vs_cudnn_convolution *c) {
  return c->window >= 256;
} /* such as 16 x 16, stride 16 */
static bool is_pointwise(const vs_cudnn_convolution *c) { /* a product of matrices as it is */
  return c->window == 1 && !c->is_strided && !c->is_padded && c->groups == 1;
}
static bool is_ragged(const vs_cudnn_convolution *c) { /* channels do not fill 16 bytes */
  return c->in % channel_unit(c) != 0 || c->out % channel_unit(c) != 0;
}

static uint64_t x_bytes(const vs_cudnn_convolution *c, uint64_t channels) {
  return c->batch * channels * c->in_volume * value_bytes(c);
}
static uint64_t y_bytes(const vs_cudnn_convolution *c, uint64_t channels) {
  return c->batch * channels * c->out_volume * value_bytes(c);
}
static uint64_t w_values(const vs_cudnn_convolution *c) { return c->out * (c->in / c->groups) * c->window; }
static uint64_t partial_bytes(const vs_cudnn_convolution *c) { return w_values(c) * 4; }

static matrix_product product_of(const vs_cudnn_convolution *c) {
  const uint64_t in = c->in / c->groups, out = c->out / c->groups;
  matrix_product p = {c->batch * c->out_volume, c->out, in * c->window, 0};
  if (c->pass == VS_CUDNN_DATA_GRADIENT)
    p = (matrix_product){c->batch * c->in_volume, c->in, out * c->window, 0};
  if (c->pass == VS_CUDNN_FILTER_GRADIENT)
    p = (matrix_product){c->out, in * c->window, c->batch * c->out_volume, 0};
  p.tiles = tiles(p.rows, p.columns, TILE, TILE);
  return p;
}

/* ---- float32 without tensor cores: channels-first engines of older generations */

/* The transformed tensors of Winograd's algorithm with tiles of 4 x 4 results, which are 6 x 6 numbers. */
static uint64_t winograd_bytes(const vs_cudnn_convolution *c) {
  const uint64_t count = c->batch * tiles(c->height, c->width, 4, 4);
  return (uint64_t)6 * 6 * 4 * (count * (c->in + c->out) + c->in * c->out);
}

/* Spectra of tiles of 32 x 32 values, of which 30 x 30 are results: 32 x 17 complex numbers. Images of several
 * tiles are done two tiles at a time. */
static uint64_t fourier_bytes(const vs_cudnn_convolution *c) {
  const uint64_t count = c->batch * least(2, tiles(c->height, c->width, 30, 30));
  return (uint64_t)32 * 17 * 8 * (c->in * c->out + (c->in + c->out) * count);
}

static bool is_for_fourier(const vs_cudnn_convolution *c) {
  enum { FEWEST = 16, MOST = 320, SMALLEST = 28 };
  return !c->is_3d && !c->is_strided && c->window > 1 && c->batch > 1 && c->height >= SMALLEST &&
         c->width >= SMALLEST && c->in >= FEWEST && c->in <= MOST && c->out >= FEWEST && c->out <= MOST;
}

/* Gradients of weights that a channels-last engine computes. */
static bool is_channels_last_gradient(const vs_cudnn_convolution *c) {
  if (c->is_3d) return c->in >= 32;
  if (c->window == 1 && !c->is_strided) return c->in_volume * 4 % 16 != 0;
  return is_patches(c) || (c->is_strided && (c->window == 1 || c->in >= 256));
}

static uint64_t plain_bytes(const vs_cudnn_convolution *c) {
  if (c->groups > 1) return 0;
  const uint64_t layout =
      x_bytes(c, c->in) + y_bytes(c, c->out) + (c->window > 1 ? w_values(c) * value_bytes(c) : 0) + COPIES;
  if (c->pass == VS_CUDNN_FILTER_GRADIENT) {
    if (c->is_three_by_three && c->in >= 64) return winograd_bytes(c) + (c->is_channels_last ? layout : 0);
    return !c->is_channels_last && is_channels_last_gradient(c) ? layout : 0;
  }
  const uint64_t own = !is_forward(c) && is_for_fourier(c) ? fourier_bytes(c) : 0;
  const bool copies_none = !c->is_channels_last || (is_forward(c) && c->in <= 4);
  return copies_none ? own : own + layout;
}

/* Convolutions of float32 that the same engines do where TF32 is allowed: few or ragged channels that are first,
 * and windows such as 5 x 5, for which spectra save much. */
static bool is_plain(const vs_cudnn_convolution *c) {
  const bool is_gradient = c->pass == VS_CUDNN_DATA_GRADIENT;
  if (c->numbers == VS_CUDNN_FLOAT32) return true;
  if (c->numbers != VS_CUDNN_TF32 || c->is_3d || c->pass == VS_CUDNN_FILTER_GRADIENT) return false;
  if (is_gradient && c->window > 9 && c->window < 49 && is_for_fourier(c)) return true;
  return !c->is_channels_last && (c->in > 4 ? c->in % 4 != 0 : is_gradient);
}

/* ---- images: at most 4 channels in, which tensor cores use badly */

/* The layers that have an engine of their own, with its workspace. */
static bool is_image(const vs_cudnn_convolution *c, uint64_t *bytes) {
  const bool half = c->numbers == VS_CUDNN_FLOAT16, tf32 = c->numbers == VS_CUDNN_TF32;
  const uint64_t x = x_bytes(c, c->in), y = y_bytes(c, c->out), w = w_values(c) * value_bytes(c);
  *bytes = 0;
  if (c->in > 4 || c->pass == VS_CUDNN_FILTER_GRADIENT) return false;
  if (!is_forward(c)) { /* all of it in channels-first tensors */
    if (!c->is_strided || !(tf32 || is_patches(c))) return false;
    if (c->is_channels_last) *bytes = x + y + w + COPIES;
    return true;
  }
  if (c->in == 1 && c->is_3d) { /* layouts of one channel are equal: at most the others are copied */
    if (half && !c->is_channels_last) *bytes = y + w + COPIES;
    if (!half && c->is_channels_last) *bytes = w + COPIES;
    return true;
  }
  if (c->in < 4 && c->window <= 9) return true;
  if (c->in == 4 && c->window <= 9) return c->numbers == VS_CUDNN_BFLOAT16 && !c->is_channels_last;
  if (!tf32 || c->in == 4) return false;
  if (is_patches(c)) return !c->is_channels_last;
  *bytes = x + w + (c->is_channels_last ? 0 : y) + COPIES;
  return true;
}

/* ---- copies */

/* Channels of x: float16 has kernels for images of 4 channels. */
static uint64_t image_unit(const vs_cudnn_convolution *c) {
  const bool is_small = c->numbers == VS_CUDNN_FLOAT16 && c->in <= 4 && !is_patches(c);
  if (is_small && (is_forward(c) || (c->pass == VS_CUDNN_FILTER_GRADIENT && c->window > 9))) return 4;
  return channel_unit(c);
}

/* Few channels and tiles: such results are written channels-first, by kernels that are not persistent. */
static bool is_narrow(const vs_cudnn_convolution *c, const matrix_product *p) {
  enum { FEW = 64 };
  const bool is_few = c->window > 1 ? least(c->in, c->out) <= FEW : c->is_strided && c->in <= 4 * FEW;
  return is_few && !c->is_3d && c->window <= 9 && p->tiles <= 8 * c->processors;
}

static void choose_tf32_copies(const vs_cudnn_convolution *c, const matrix_product *p, copies *of) {
  enum { FEW = 64, WIDE = 100 };
  if (!c->is_channels_last && is_forward(c) && is_narrow(c, p)) of->y = false, of->w = true;
  if (c->pass != VS_CUDNN_FILTER_GRADIENT || c->out <= 4) return;
  const bool is_first = c->in <= 4 || of->in != c->in || of->out != c->out;
  if (is_first || c->in / c->groups < FEW || c->window >= WIDE) of->x = of->y = true;
  of->w |= is_first;
}

static copies choose_copies(const vs_cudnn_convolution *c, const matrix_product *p) {
  copies of = {padded(c->in, image_unit(c)), padded(c->out, channel_unit(c)), true, true, true};
  const bool pads = of.in != c->in || of.out != c->out;
  of.w = c->is_channels_last ? pads : pads || c->window > 1;
  if (c->is_channels_last) of.x = of.in != c->in, of.y = of.out != c->out;
  if (c->numbers == VS_CUDNN_TF32) choose_tf32_copies(c, p, &of);
  return of;
}

static uint64_t copy_bytes(const vs_cudnn_convolution *c, const copies *of) {
  const uint64_t filter = c->groups == 1 ? of->in : c->in / c->groups;
  uint64_t bytes = 0;
  if (of->x) bytes += x_bytes(c, of->in);
  if (of->y) bytes += y_bytes(c, of->out);
  if (of->w) bytes += of->out * filter * c->window * value_bytes(c);
  return bytes != 0 ? bytes + COPIES : 0;
}

/* ---- results and gradients of inputs: many tiles, so they are seldom split */

/* Split four ways: each part keeps a quarter of the result and stores three. */
static bool is_deep(const vs_cudnn_convolution *c, const matrix_product *p) {
  enum { DEEP_HALF = 11520, DEEP_TF32 = 5760 };
  if (p->tiles > c->processors * 5 / 4) return false;
  if (c->numbers == VS_CUDNN_TF32) return p->depth >= DEEP_TF32 && p->tiles >= c->processors * 31 / 32;
  return p->depth >= DEEP_HALF && !(c->numbers == VS_CUDNN_FLOAT16 && is_forward(c));
}

/* The library for products of matrices wants memory of its own where the tiles fill one wave and not four. */
static bool is_few_waves(const vs_cudnn_convolution *c, const matrix_product *p) {
  const uint64_t most = is_forward(c) ? 3 : 2;
  return p->rows > p->columns && p->tiles > c->processors && p->tiles <= most * c->processors;
}

static uint64_t pointwise_bytes(const vs_cudnn_convolution *c, const matrix_product *p) {
  enum { PRODUCT = 400, PRODUCT_HALF = 272, SMALL = 64 };
  if (!is_half(c)) return is_forward(c) && c->is_channels_last && p->columns > SMALL ? PRODUCT : 0;
  if (is_forward(c) && p->columns <= SMALL && p->depth <= SMALL) return PRODUCT_HALF;
  if (is_few_waves(c, p) && c->is_channels_last) return PRODUCT_HALF;
  return !is_forward(c) && p->tiles > 8 * c->processors ? COUNTER : 0;
}

/* Whether the kernel is persistent: it fetches one tile after the other. */
static bool is_persistent(const vs_cudnn_convolution *c, const matrix_product *p, const copies *of) {
  const bool tf32 = c->numbers == VS_CUDNN_TF32;
  const bool is_ragged_or_image = of->in != c->in || of->out != c->out || c->in <= 4;
  if (!is_forward(c) && c->is_strided && !is_ragged_or_image) return true;
  if (is_ragged_or_image) return tf32 && p->tiles > 8 * c->processors;
  if (tf32 && !c->is_channels_last && is_narrow(c, p)) return false;
  const uint64_t half_waves = !is_forward(c) ? 3 : tf32 ? 6 : 4; /* of tiles over the multiprocessors */
  return p->tiles * 2 > half_waves * c->processors;
}

static uint64_t result_bytes(const vs_cudnn_convolution *c, const matrix_product *p, const copies *of) {
  enum { DEEP_FLAGS = 639 };
  if (is_deep(c, p)) return p->rows * p->columns * 4 / 4 * 3 + DEEP_FLAGS;
  if (is_pointwise(c)) return pointwise_bytes(c, p);
  return is_persistent(c, p, of) ? COUNTER : 0;
}

/* ---- gradients of weights */

/* `count` partial results and a flag for each of `flags` tiles. */
static uint64_t split_bytes(uint64_t count, uint64_t size, uint64_t flags) {
  return count != 0 ? count * size + FLAGS + 4 * flags : 0;
}

/* A few channels out: tiles of 64 rows. */
static uint64_t narrow_gradient_bytes(const vs_cudnn_convolution *c, const matrix_product *p) {
  const uint64_t wide = p->columns <= 1152 ? 128 : 256, count = up(p->columns, wide);
  const uint64_t room = c->processors / count, parts = least(room > 0 ? room - 1 : 0, p->depth / 8192);
  return split_bytes(parts, 64 * wide * 4 * count, count * (parts + 1));
}

/* Padded channels: the partial results are padded, too. */
static uint64_t padded_gradient_bytes(const vs_cudnn_convolution *c, const matrix_product *p,
                                      const copies *of) {
  enum { LEAST_PART = 910, LEAST_TF32 = 8192, ALIGNED = 128, IMAGE_PARTS = 4, IMAGE_FLAGS = 383 };
  const uint64_t columns = of->in * c->window, size = of->out * columns * 4;
  if (image_unit(c) < channel_unit(c)) return IMAGE_PARTS * size + IMAGE_FLAGS;
  uint64_t count =
      least(up(c->processors * 10 / 11, tiles(of->out, columns, 128, 256)), p->depth / LEAST_PART);
  if (!is_half(c) && p->depth < LEAST_TF32) count = 0;
  return count * size + ALIGNED;
}

static uint64_t half_gradient_bytes(const vs_cudnn_convolution *c, const matrix_product *p) {
  enum { WIDE = 100, WIDE_PARTS = 30, ALIGNED = 128, SMALL_DEPTH = 4096, LEAST_DEPTH = 8192 };
  const uint64_t size = partial_bytes(c);
  if (c->window >= WIDE) return WIDE_PARTS * size + ALIGNED;
  if (p->tiles > 2 * c->processors || (p->tiles > c->processors && p->depth < SMALL_DEPTH)) return COUNTER;
  if (p->depth < LEAST_DEPTH || c->is_3d) return 0;
  const bool is_bfloat = c->numbers == VS_CUDNN_BFLOAT16;
  const uint64_t count = tiles(p->rows, p->columns, c->window == 1 ? 64 : 128, 64);
  uint64_t parts = c->processors / count; /* the last part adds the others to its own */
  if (is_bfloat && p->rows >= TILE) parts = (parts * 2 + 1) / 3;
  if (parts <= 1) return 0;
  if (p->rows <= 64) return split_bytes(parts - 1, size, count * parts);
  return split_bytes(parts - 1, size, count * (parts - (is_bfloat ? 2 : 1)));
}

/* More tiles than multiprocessors: those of the last wave are split. */
static uint64_t last_wave_bytes(const vs_cudnn_convolution *c, const matrix_product *p) {
  enum { LEAST_PART = 224, MOST_FLAGS = 12, FEW_PARTS = 7 };
  const uint64_t last = p->tiles % c->processors;
  if (last == 0 || last > c->processors / 4) return p->tiles > 2 * c->processors ? COUNTER : 0;
  const uint64_t parts = least(c->processors / last, p->depth / LEAST_PART);
  return split_bytes(parts * last, TILE_BYTES, last * (parts > FEW_PARTS ? MOST_FLAGS : parts));
}

static uint64_t tf32_gradient_bytes(const vs_cudnn_convolution *c, const matrix_product *p) {
  enum { VOLUME_PARTS = 44, VOLUME_FLAGS = 2679, VOLUME_DEPTH = 2048, FEW = 64 };
  if (c->is_3d && c->in < FEW)
    return VOLUME_PARTS * padded(p->rows, 64) * padded(p->columns, TILE) * 4 + VOLUME_FLAGS;
  if (p->tiles > c->processors) return last_wave_bytes(c, p);
  if (p->tiles > c->processors / 2) return 0;
  const uint64_t count = p->rows > 64 ? p->tiles : up(p->columns, 64);
  uint64_t parts = c->processors / count;
  if (c->is_3d) parts = least(parts, p->depth / VOLUME_DEPTH);
  return parts < 2 ? 0 : split_bytes(parts, partial_bytes(c), count * parts);
}

static uint64_t pointwise_gradient_bytes(const vs_cudnn_convolution *c, const matrix_product *p) {
  enum {
    SMALL_DEPTH = 4096,
    LARGE_DEPTH = 50000,
    MOST = 75,
    LEAST_PART = 1568,
    FLAGS_HALF = 272,
    FLAGS_TF32 = 256
  };
  const uint64_t size = partial_bytes(c);
  if (!is_half(c)) {
    if (!c->is_channels_last) return p->depth < SMALL_DEPTH ? 0 : tf32_gradient_bytes(c, p);
    const uint64_t count = least(2 * c->processors, c->processors * TILE_BYTES / size);
    return (count < 4 ? 4 : count) * size + FLAGS_TF32;
  }
  if (!c->is_channels_last || p->depth < SMALL_DEPTH) return 0;
  const uint64_t most = p->depth > LARGE_DEPTH ? MOST : p->depth / LEAST_PART;
  const uint64_t count = least(most, c->processors * 5 / 8 * TILE_BYTES / size);
  return count >= 3 ? count * size + FLAGS_HALF : 0;
}

static uint64_t gradient_bytes(const vs_cudnn_convolution *c, const matrix_product *p, const copies *of) {
  if (c->out < 8 && c->window > 1) return narrow_gradient_bytes(c, p);
  if (of->in != c->in || of->out != c->out || c->in <= 4) return padded_gradient_bytes(c, p, of);
  if (is_pointwise(c)) return pointwise_gradient_bytes(c, p);
  return is_half(c) ? half_gradient_bytes(c, p) : tf32_gradient_bytes(c, p);
}

/* ---- */

/* Channels-first tensors whose rows are aligned need no copy: a batch of products. For weights each has a
 * result, which are added. */
static bool is_batch_of_products(const vs_cudnn_convolution *c) {
  enum { MOST_RESULTS = 48 << 20 };
  if (c->pass == VS_CUDNN_FILTER_GRADIENT && c->batch * partial_bytes(c) > MOST_RESULTS) return false;
  return is_pointwise(c) && !c->is_channels_last && !is_ragged(c) && c->in_volume * value_bytes(c) % 16 == 0;
}
static uint64_t batch_bytes(const vs_cudnn_convolution *c) {
  enum { PRODUCT = 400, PRODUCT_HALF = 272, SMALL = 64 };
  const matrix_product p = product_of(c);
  if (c->pass == VS_CUDNN_FILTER_GRADIENT) return c->batch * partial_bytes(c);
  if (is_half(c)) return is_forward(c) && c->out <= SMALL && c->in <= SMALL ? PRODUCT_HALF : 0;
  return c->in >= c->out || (is_forward(c) && is_few_waves(c, &p)) ? PRODUCT : 0;
}

uint64_t vs_cudnn_convolution_workspace(const vs_cudnn_convolution *of) {
  enum { SMALL_DEPTH = 4096 };
  uint64_t bytes = 0;
  if (of->groups > 1 && of->groups == of->in) return 0; /* one channel at a time */
  if (is_plain(of)) return plain_bytes(of);
  if (is_batch_of_products(of)) return batch_bytes(of);
  if (is_image(of, &bytes)) return bytes;
  const matrix_product p = product_of(of);
  const copies chosen = choose_copies(of, &p);
  bytes = copy_bytes(of, &chosen);
  if (of->pass != VS_CUDNN_FILTER_GRADIENT) return bytes + result_bytes(of, &p, &chosen);
  const bool is_single = of->batch == 1 && p.depth <= SMALL_DEPTH && !of->is_channels_last && !is_ragged(of);
  if (is_single && of->is_three_by_three) return winograd_bytes(of);
  return bytes + gradient_bytes(of, &p, &chosen);
}

/* ---- the bound */

/* Copies of all tensors, with padded channels. */
static uint64_t all_copies_bytes(const vs_cudnn_convolution *c) {
  const copies all = {padded(c->in, channel_unit(c)), padded(c->out, channel_unit(c)), true, true, true};
  return copy_bytes(c, &all);
}

/* Partial results for two waves of tiles, and as many flags as any measured engine had. */
static uint64_t most_partials_bytes(const vs_cudnn_convolution *c) {
  enum { WAVES = 2, MOST_FLAGS = 1 << 16 };
  return WAVES * c->processors * TILE_BYTES + MOST_FLAGS;
}

/* The larger side of the window, as if it were square. */
static uint64_t window_side(const vs_cudnn_convolution *c) {
  uint64_t side = 1;
  if (c->height == 1) return c->window; /* one dimension */
  while (side * side < c->window) side++;
  return side;
}

/* Spectra of all tiles of 32 x 32 values, half of them and their products: for windows of up to 8 x 8. */
static uint64_t most_tiled_fourier_bytes(const vs_cudnn_convolution *c) {
  const uint64_t results = 33 - window_side(c),
                 count = c->batch * tiles(c->height, c->width, results, results);
  return (uint64_t)2 * 32 * 17 * 8 * (c->in * c->out + (c->in + c->out) * count);
}

static uint64_t power_of_two(uint64_t least_value) {
  uint64_t power = 1;
  while (power < least_value) power *= 2;
  return power;
}

/* Spectra of whole images, on a grid that holds image and window. cuDNN documents that images have 256 rows and
 * columns at most (CUDNN_CONVOLUTION_FWD_ALGO_FFT). */
static uint64_t whole_fourier_bytes(const vs_cudnn_convolution *c) {
  const uint64_t more = window_side(c) - 1;
  return power_of_two(c->height + more) * power_of_two(c->width + more) * 8 *
         (c->in * c->out + (c->in + c->out) * c->batch);
}

static uint64_t most_fourier_bytes(const vs_cudnn_convolution *c) {
  enum { LEAST_WHOLE = 7, MOST_TILED = 8, MOST_IMAGE = 256 };
  const uint64_t side = window_side(c);
  if (c->is_3d || c->is_strided || side == 1 || c->groups > 1) return 0;
  const bool is_whole = side >= LEAST_WHOLE && c->height <= MOST_IMAGE && c->width <= MOST_IMAGE;
  return greatest(is_whole ? whole_fourier_bytes(c) : 0,
                  side <= MOST_TILED ? most_tiled_fourier_bytes(c) : 0);
}

uint64_t vs_cudnn_convolution_most(const vs_cudnn_convolution *of) {
  uint64_t most = greatest(most_partials_bytes(of), most_fourier_bytes(of));
  if (of->is_three_by_three) most = greatest(most, 2 * winograd_bytes(of));
  if (of->pass == VS_CUDNN_FILTER_GRADIENT) most = greatest(most, of->batch * partial_bytes(of));
  return most + all_copies_bytes(of);
}
