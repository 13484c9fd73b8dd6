// Common parts of matrix products and convolutions. These are tiles of a result and the programs
// that compute them, splitting of the contracted range over programs, and a model of the time of a
// tile.
#pragma once

#include <string>
#include <vector>

#include "teacher/emit/body.h"
#include "teacher/family/family.h"

namespace kw::teacher {

struct GemmTile {
  int64_t m = 1, n = 1, k = 1;
  int warps = 4, stages = 0;
};

const std::vector<GemmTile>& full_tiles();  // for fp32 operands
const std::vector<GemmTile>& half_tiles();  // for fp16 and bf16

// A result of `batches` matrices of M x N, as host code.
struct GemmShape {
  int64_t rows = 0, columns = 0;
  std::string m, n;      // the same: "a0.shape[0] * a0.shape[2]"
  std::string batches;   // empty for one matrix
  bool wide = false;     // indices need 64 bits
  bool flipped = false;  // the tile is [BLOCK_N, BLOCK_M], for results contiguous along M

  std::string zeros() const;  // an empty sum
};

// How programs get their tiles.
enum class Visit {
  kOne,         // a program for each tile
  kPersistent,  // as many programs as run at once, each walks its share of the tiles
  kFlattened,   // the same; the loops over tiles and along K are one, so that the loads of a tile
                // go on under the epilogue of the one before
};

// The first row and column of a program's tile, as kernel code.
struct TileStart {
  std::string m, n;
  std::string tile_n;  // which tile that is along the columns
};

// Declares M, N and the blocks, and prints which tile this program computes. These are `m`
// [BLOCK_M, 1] and `n` [1, BLOCK_N] (or the other way round) with their masks, and `batch` if there
// are several. With several tiles both ways, programs go through them in groups of GROUP_M rows, so
// that those that run together share operands in L2. Opens the loop over tiles if there is one; the
// caller closes it.
TileStart place_tile(KernelText& kernel, const GemmShape& shape, const GemmTile& tile,
                     Visit visit = Visit::kOne);
// Returns the grid dimension of such a kernel.
std::string tile_grid(KernelText& kernel, const GemmShape& shape, const GemmTile& tile);

// ---- Split: each of SPLITS programs a tile walks a part of the contracted range and leaves its
// sum in scratch "partial<i>". A second kernel adds the sums up in order and goes on from there.

// Opens the loop of `variable` over [0, end) in steps of `step` (empty: 1), or over this program's
// part of it.
void open_walk(KernelText& kernel, const std::string& variable, const std::string& end,
               const std::string& step, int splits);
// Stores `sum` as partial sum `index` of tile and split.
void store_partial(KernelText& kernel, const GemmShape& shape, int index, const std::string& sum);
// Prints the total of all splits; returns its variable.
std::string load_partials(KernelText& kernel, const GemmShape& shape, int index, int splits,
                          const std::string& hint);
Scratch partial_scratch(const GemmShape& shape, int index, int splits);
GemmTile joining_tile(const GemmTile& tile);

// ---- Model

// Returns the share of the tensor cores' peak that a tile of this area reaches alone on an SM.
double tile_efficiency(const GemmTile& tile);
// Returns the device time of `programs` programs. Each walks `depth` of the contracted range with
// `products` products, on tensor cores of `peak` flops a second; `bytes` cross the memory bus.
double gemm_seconds(const DeviceProfile& device, const GemmTile& tile, int64_t programs,
                    double depth, double products, double peak, double bytes);
// Returns the splits worth trying for `programs` tiles of `steps` steps each; 1 comes first.
std::vector<int> split_counts(const DeviceProfile& device, int64_t programs, int64_t steps);
// Returns the time of joining: partial sums are written and read, and there is one more launch.
double join_seconds(const DeviceProfile& device, int splits, double results);

// One side of a product: its distinct operands, what distinguishes its rows, how many a tile has.
struct GemmSide {
  const std::vector<int>& operands;  // nodes
  const Axes& rows;
  int64_t tile = 1;
};
// Returns whether an operand is a plain load: nothing is looked up or computed.
bool is_loaded(const Node& node);
// Returns the bytes of shared memory that a tile's walk along `contracted` takes for one side. The
// dot takes operands of half types that are loads from where they are fetched to, `stages` at a
// time. All others go through registers. Then one stage less is fetched, and the dot's operands
// have separate memory of `parts` tiles (tf32x3: 2; 0: the dot takes them from registers). Triton
// 3.6 and 3.7 do so for sm_90, and tests/test_teacher.py compares.
int64_t gemm_shared_bytes(const Graph& graph, const GemmSide& side, const Axes& contracted,
                          const GemmTile& tile, DType operand, int parts);

// Returns `block` cut to a size, but no smaller than the tensor cores take.
int64_t clipped_block(int64_t block, int64_t size);

}  // namespace kw::teacher
