// Matrix products: a tile of the result in registers, operands walked along the contracted loops,
// any pointwise prologue on the operands and any pointwise epilogue on the product. Several
// products over the same loops share one walk (two projections of one input and their gate).
//
// fp32 operands are multiplied as three TF32 products ("tf32x3"), which is as accurate as IEEE
// fp32; half types go to the tensor cores as they are and accumulate in fp32.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "policy/teacher/body.h"
#include "policy/teacher/family.h"

namespace kw::teacher {
namespace {

struct Product {
  Axes batch_axes, m_axes, n_axes, k_axes;
  std::vector<Loop> batch, m, n, k;
  std::vector<int> products;     // nodes
  std::vector<int> left, right;  // distinct operands
  DType operand = DType::kFloat32;
};

bool all_outputs_vary_with(const Graph& graph, const Axes& axes) {
  for (const Output& output : graph.outputs) {
    Axes own = graph.nodes[output.node].varies;
    for (const Piece& piece : output.pieces) own = set_union(own, graph.axes.leaves(piece.axis));
    if (own != axes) return false;
  }
  return true;
}

// Fills `out`; false when the graph is not of this family.
bool analyse(const Subject& subject, Product* out) {
  const Graph& graph = subject.graph;
  std::vector<bool> after(graph.nodes.size(), false);  // depends on a product
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::kReduce) return false;
    for (int operand : node.operands) after[i] = after[i] || after[operand];
    if (node.kind != NodeKind::kMatmul) continue;
    if (after[i] || node.dtype != DType::kFloat32) return false;
    after[i] = true;
    const Axes &a = graph.nodes[node.operands[0]].varies, &b = graph.nodes[node.operands[1]].varies;
    const Axes k = sorted(node.axes), shared = set_intersection(a, b);
    if (set_intersection(shared, k) != k) return false;
    const Axes batch = set_minus(shared, k), m = set_minus(a, shared), n = set_minus(b, shared);
    if (out->products.empty()) {
      out->batch_axes = batch, out->m_axes = m, out->n_axes = n, out->k_axes = k;
      out->operand = node.stored;
    } else if (batch != out->batch_axes || m != out->m_axes || n != out->n_axes ||
               k != out->k_axes || node.stored != out->operand) {
      return false;
    }
    out->products.push_back(static_cast<int>(i));
    auto keep = [](std::vector<int>& list, int id) {
      if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
    };
    keep(out->left, node.operands[0]);
    keep(out->right, node.operands[1]);
  }
  if (out->products.empty() || out->m_axes.empty() || out->n_axes.empty()) return false;
  const Axes result = set_union(out->batch_axes, set_union(out->m_axes, out->n_axes));
  if (!all_outputs_vary_with(graph, result)) return false;
  out->batch = merged_loops(graph, subject.table, out->batch_axes);
  out->m = merged_loops(graph, subject.table, out->m_axes);
  out->n = merged_loops(graph, subject.table, out->n_axes);
  out->k = merged_loops(graph, subject.table, out->k_axes);
  return true;
}

struct Tile {
  int64_t m, n, k;
  int warps, stages;
};

class ProductKernel {
 public:
  ProductKernel(const Subject& subject, const Product& product, const Tile& tile)
      : subject_(subject),
        graph_(subject.graph),
        product_(product),
        kernel_("matmul"),
        body_(subject.graph, subject.table, subject.program, kernel_) {
    kernel_.describe(subject.operators + ": a tile of the result a program.");
    m_size_ = kernel_.size("M", total_text(graph_, product.m));
    n_size_ = kernel_.size("N", total_text(graph_, product.n));
    k_size_ = kernel_.size("K", total_text(graph_, product.k));
    kernel_.constexpr_parameter("BLOCK_M", std::to_string(tile.m));
    kernel_.constexpr_parameter("BLOCK_N", std::to_string(tile.n));
    kernel_.constexpr_parameter("BLOCK_K", std::to_string(tile.k));
    kernel_.constexpr_parameter("GROUP_M", "8");
    for (const char* name :
         {"pid", "batch", "tiles_m", "tiles_n", "first_m", "group_m", "tile_m", "tile_n", "m", "n",
          "start", "k_a", "k_b", "m_mask", "n_mask", "k_a_mask", "k_b_mask"}) {
      kernel_.unique(name);
    }
    wide_ = subject.table.needs_int64() ? ".to(tl.int64)" : "";
    const std::string batches =
        product.batch.empty() ? "" : total_text(graph_, product.batch) + " * ";
    kernel_.launch({batches + host_cdiv(m_size_, tile.m) + " * " + host_cdiv(n_size_, tile.n)},
                   tile.warps, tile.stages);
  }

  Written write() {
    place();
    std::vector<std::string> accumulators;
    for (int id : product_.products) {
      hoist(graph_.nodes[id].operands[0]);
      hoist(graph_.nodes[id].operands[1]);
      accumulators.push_back(kernel_.unique(graph_.nodes[id].name));
    }
    for (const std::string& acc : accumulators) {
      kernel_.line(acc + " = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)");
    }
    kernel_.open("for start in range(0, " + k_size_ + ", BLOCK_K):");
    const auto left = operands(product_.left, "k_a", "[None, :]", 1);
    const auto right = operands(product_.right, "k_b", "[:, None]", 0);
    const bool full = product_.operand == DType::kFloat32;
    for (size_t i = 0; i < accumulators.size(); ++i) {
      const Node& node = graph_.nodes[product_.products[i]];
      kernel_.line(accumulators[i] + " = tl.dot(" + left.at(node.operands[0]) + ", " +
                   right.at(node.operands[1]) + ", " + accumulators[i] +
                   (full ? ", input_precision=\"tf32x3\")" : ")"));
      body_.assign(product_.products[i], accumulators[i]);
    }
    kernel_.close();
    set_masks("m_mask", "n_mask");
    for (size_t i = 0; i < graph_.outputs.size(); ++i) body_.store(static_cast<int>(i));
    return {{std::move(kernel_)}, {}};
  }

 private:
  // Which tile this program computes. Programs go through the tiles in groups of GROUP_M rows, so
  // that those that run together share operands in L2.
  void place() {
    kernel_.line("pid = tl.program_id(0)");
    kernel_.line("tiles_m = tl.cdiv(" + m_size_ + ", BLOCK_M)");
    kernel_.line("tiles_n = tl.cdiv(" + n_size_ + ", BLOCK_N)");
    if (!product_.batch.empty()) {
      kernel_.line("batch = (pid // (tiles_m * tiles_n))" + wide_);
      kernel_.line("pid = pid % (tiles_m * tiles_n)");
      body_.bind_flat(product_.batch, {"batch", 0}, "batch");
    }
    kernel_.line("first_m = pid // (GROUP_M * tiles_n) * GROUP_M");
    kernel_.line("group_m = tl.minimum(tiles_m - first_m, GROUP_M)");
    kernel_.line("tile_m = first_m + pid % (GROUP_M * tiles_n) % group_m");
    kernel_.line("tile_n = pid % (GROUP_M * tiles_n) // group_m");
    kernel_.line("m = (tile_m" + wide_ + " * BLOCK_M + tl.arange(0, BLOCK_M))[:, None]");
    kernel_.line("n = (tile_n" + wide_ + " * BLOCK_N + tl.arange(0, BLOCK_N))[None, :]");
    kernel_.line("m_mask = m < " + m_size_);
    kernel_.line("n_mask = n < " + n_size_);
    set_masks("m_mask", "n_mask");
    body_.unit_index = "m";
    body_.bind_flat(product_.m, {"m", 1}, "m");
    body_.bind_flat(product_.n, {"n", 2}, "n");
  }

  void set_masks(const std::string& first, const std::string& second) {
    body_.set_mask(0, first);
    body_.set_mask(1, second);
  }

  // Parts of a prologue that do not vary along K are computed once.
  void hoist(int id) {
    const Node& node = graph_.nodes[id];
    if (node.kind == NodeKind::kPointwise && node.operands.empty()) return;
    if (set_intersection(node.varies, product_.k_axes).empty()) {
      body_.value(id);
      return;
    }
    for (int operand : node.operands) hoist(operand);
  }

  // Prints the tiles of one side inside the loop: node -> variable. `dim` is the tile dimension
  // that K runs along.
  std::map<int, std::string> operands(const std::vector<int>& nodes, const std::string& k,
                                      const std::string& shape, int dim) {
    const std::string mask = k + "_mask";
    kernel_.line(k + " = (start + tl.arange(0, BLOCK_K)" + wide_ + ")" + shape);
    kernel_.line(mask + " = " + k + " < " + k_size_);
    set_masks(dim == 0 ? mask : "m_mask", dim == 0 ? "n_mask" : mask);
    body_.open_scope();
    body_.bind_flat(product_.k, {k, 1u << dim}, k);
    std::map<int, std::string> out;
    for (int id : nodes) {
      std::string text = body_.stored_value(id, product_.operand);
      if (graph_.nodes[id].kind != NodeKind::kLoad) {
        // A prologue need not keep the zeros beyond K.
        const std::string name = kernel_.unique(dim == 0 ? "b" : "a");
        kernel_.line(name + " = tl.where(" + mask + ", " + text + ", 0.0)" + cast_back());
        text = name;
      }
      out[id] = text;
    }
    body_.close_scope();
    return out;
  }

  std::string cast_back() const {
    if (product_.operand == DType::kFloat32) return "";
    return ".to(" + std::string(triton_name(product_.operand)) + ")";
  }

  const Subject& subject_;
  const Graph& graph_;
  const Product& product_;
  KernelText kernel_;
  Body body_;
  std::string m_size_, n_size_, k_size_, wide_;
};

// ---- Schedules

constexpr Tile kFullTiles[] = {
    {128, 128, 64, 8, 3}, {128, 128, 32, 8, 3}, {128, 128, 32, 8, 4}, {128, 128, 64, 8, 2},
    {128, 128, 32, 4, 3}, {128, 256, 32, 8, 3}, {256, 128, 32, 8, 3}, {128, 64, 64, 8, 3},
    {64, 128, 64, 8, 3},  {128, 64, 64, 4, 3},  {64, 128, 64, 4, 3},  {128, 64, 32, 4, 4},
    {64, 128, 32, 4, 4},  {64, 64, 64, 4, 3},   {64, 64, 32, 4, 4},   {64, 32, 64, 4, 4},
    {32, 64, 64, 4, 4},   {32, 32, 64, 4, 4},   {32, 128, 64, 4, 3},  {16, 128, 64, 4, 4},
    {16, 64, 128, 4, 3},  {16, 32, 128, 4, 4},
};
constexpr Tile kHalfTiles[] = {
    {128, 256, 64, 8, 3}, {256, 128, 64, 8, 3},  {128, 256, 64, 8, 4}, {128, 128, 64, 8, 4},
    {128, 128, 64, 4, 4}, {128, 128, 128, 8, 3}, {128, 128, 64, 4, 3}, {64, 256, 64, 4, 4},
    {128, 64, 64, 4, 4},  {64, 128, 64, 4, 4},   {64, 64, 64, 4, 4},   {64, 64, 128, 4, 3},
    {64, 32, 64, 4, 5},   {32, 64, 64, 4, 5},    {32, 32, 128, 4, 4},  {32, 128, 128, 4, 3},
    {16, 128, 128, 4, 4}, {16, 64, 128, 4, 4},   {16, 32, 128, 4, 4},
};

// Share of the tensor cores' peak that a tile of this area reaches while it runs alone on an SM.
double tile_efficiency(const Tile& tile) {
  const double area = static_cast<double>(tile.m * tile.n);
  const double shape = std::min(1.0, std::sqrt(area / (128.0 * 128.0)));
  const double narrow = std::min(tile.m, tile.n) < 32 ? 0.5 : 1.0;
  const double depth = tile.k >= 64 ? 1.0 : 0.93;
  return 0.58 * shape * narrow * depth;
}

// The tile cut to the problem, so that small ones do not multiply zeros.
Tile clipped(Tile tile, const Product& product) {
  auto clip = [](int64_t block, int64_t size) {
    return std::min(block, std::max<int64_t>(16, next_power_of_2(size)));
  };
  tile.m = clip(tile.m, total_size(product.m));
  tile.n = clip(tile.n, total_size(product.n));
  tile.k = clip(tile.k, total_size(product.k));
  if (tile.m * tile.n <= 64 * 64) tile.warps = std::min(tile.warps, 4);
  return tile;
}

bool fits(const Subject& subject, const Product& product, const Tile& tile) {
  const int64_t element = dtype_bytes(product.operand);
  const int64_t operands = static_cast<int64_t>(product.left.size()) * tile.m +
                           static_cast<int64_t>(product.right.size()) * tile.n;
  const int64_t shared = operands * tile.k * element * tile.stages;
  const int64_t registers = static_cast<int64_t>(product.products.size()) * tile.m * tile.n /
                            (32 * tile.warps);  // of a thread, for accumulators
  // tf32x3 also holds the parts of its operands.
  const int64_t limit = product.operand == DType::kFloat32 ? 64 : 128;
  return shared + 4096 <= subject.profile.shared_per_block && registers <= limit;
}

double seconds(const Subject& subject, const Product& product, const Tile& tile) {
  const DeviceProfile& device = subject.profile;
  const double peak =
      product.operand == DType::kFloat32 ? device.tf32_flops / 3 : device.half_flops;
  const int64_t batches = total_size(product.batch);
  const int64_t programs =
      batches * cdiv(total_size(product.m), tile.m) * cdiv(total_size(product.n), tile.n);
  const double depth = static_cast<double>(cdiv(total_size(product.k), tile.k) * tile.k);
  const double work = 2.0 * static_cast<double>(tile.m * tile.n) * depth *
                      static_cast<double>(product.products.size());
  const double rate = peak / device.sms * tile_efficiency(tile);
  // Small tiles run several at a time on an SM and hide each other's latency.
  const int64_t together = std::clamp<int64_t>(128 * 128 / (tile.m * tile.n), 1, 4);
  const double waves =
      static_cast<double>(cdiv(programs, device.sms * together)) * static_cast<double>(together);
  const double overlap =
      together > 1 && programs > device.sms ? 1.0 / (1.0 + 0.25 * (together - 1)) : 1.0;
  const double busy =
      programs >= device.sms * together ? waves : static_cast<double>(cdiv(programs, device.sms));
  const double compute = busy * overlap * work / rate;
  const double epilogue =
      2.0 * static_cast<double>(subject.table.bytes()) / device.bytes_per_second;
  const double memory = static_cast<double>(subject.table.bytes()) / device.bytes_per_second /
                        std::min(1.0, static_cast<double>(programs) / device.sms);
  return device.launch_seconds + std::max(compute + 0.1 * epilogue, memory);
}

}  // namespace

std::vector<Choice> matmul_choices(const Subject& subject) {
  auto product = std::make_shared<Product>();
  if (!analyse(subject, product.get())) return {};
  std::vector<Choice> out;
  std::set<std::string> seen;
  auto add = [&](const Tile& listed) {
    const Tile tile = clipped(listed, *product);
    const std::string tiling = "BLOCK_M=" + std::to_string(tile.m) +
                               " BLOCK_N=" + std::to_string(tile.n) +
                               " BLOCK_K=" + std::to_string(tile.k);
    const std::string key =
        tiling + "/" + std::to_string(tile.warps) + "/" + std::to_string(tile.stages);
    if (!fits(subject, *product, tile) || !seen.insert(key).second) return;
    const int64_t programs = total_size(product->batch) * cdiv(total_size(product->m), tile.m) *
                             cdiv(total_size(product->n), tile.n);
    if (programs >= int64_t{1} << 31) return;
    out.push_back({"matmul", tiling, tile.warps, tile.stages, seconds(subject, *product, tile),
                   programs,
                   [=, &subject] { return ProductKernel(subject, *product, tile).write(); }});
  };
  if (product->operand == DType::kFloat32) {
    for (const Tile& tile : kFullTiles) add(tile);
  } else {
    for (const Tile& tile : kHalfTiles) add(tile);
  }
  return out;
}

}  // namespace kw::teacher
