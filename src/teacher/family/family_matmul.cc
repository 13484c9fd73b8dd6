// Matrix products: a tile of the result is in registers, and operands are walked along the
// contracted loops. Operands may have any pointwise prologue, the product any pointwise epilogue.
// Several products over the same loops share one walk (two projections of one input and their
// gate). Reductions over columns (softmax, norms) follow in the same kernel if a tile holds whole
// rows. Otherwise the kernel leaves what each tile finds to later kernels (two_stages.h). With few
// tiles, programs share one: each walks a part of the contracted loops, and a second kernel adds
// the parts up and goes on with what follows. With many, programs may stay and walk several tiles.
//
// The tensor memory accelerator (TMA, from sm_90 on) can fetch operands that are plain matrices in
// memory. It needs no addresses and no masks of a program: elements outside read as zero.
//
// fp32 operands are multiplied as three TF32 products ("tf32x3"), which is as accurate as IEEE
// fp32; half types go to the tensor cores as they are and accumulate in fp32.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "teacher/emit/body.h"
#include "teacher/family/family.h"
#include "teacher/family/gemm.h"
#include "teacher/family/row_loops.h"

namespace kw::teacher {
namespace {

struct Product {
  Axes batch_axes, m_axes, n_axes, k_axes;
  std::vector<Loop> batch, m, n, k;
  std::vector<int> products;     // nodes
  std::vector<int> left, right;  // distinct operands
  bool exchanged = false;        // a product's second operand is the left one
  DType operand = DType::kFloat32;
  bool whole_rows = false;  // something is reduced over columns
  bool parts = false;       // over those of a tile: Graph::part
};

// Results are of the product's size, or of one column if there are reductions.
// In the first of two stages all are of one column for each tile.
bool outputs_fit(const Graph& graph, Product* out) {
  const Product& product = *out;
  const Axes rows = set_union(product.batch_axes, product.m_axes);
  const Axes all = set_union(rows, product.n_axes);
  size_t of_parts = 0;
  for (const Output& output : graph.outputs) {
    Axes own = graph.nodes[output.node].varies;
    for (const Piece& piece : output.pieces) own = set_union(own, graph.axes.leaves(piece.axis));
    if (graph.part >= 0 && own == set_union(rows, {graph.part})) {
      ++of_parts;
    } else if (own != all && !(product.whole_rows && own == rows)) {
      return false;
    }
  }
  out->parts = of_parts > 0;
  return of_parts == 0 || of_parts == graph.outputs.size();
}

int left_of(const Node& product, bool exchanged) { return product.operands[exchanged ? 1 : 0]; }
int right_of(const Node& product, bool exchanged) { return product.operands[exchanged ? 0 : 1]; }

// Adds the product of node `id`; returns false if it does not run over the loops of those before.
bool add_product(const Graph& graph, int id, Product* out) {
  const Node& node = graph.nodes[id];
  if (node.dtype != DType::kFloat32) return false;
  const int left = left_of(node, out->exchanged), right = right_of(node, out->exchanged);
  const Axes &a = graph.nodes[left].varies, &b = graph.nodes[right].varies;
  const Axes k = sorted(node.axes), shared = set_intersection(a, b);
  if (set_intersection(shared, k) != k) return false;
  const Axes batch = set_minus(shared, k), m = set_minus(a, shared), n = set_minus(b, shared);
  if (out->products.empty()) {
    out->batch_axes = batch, out->m_axes = m, out->n_axes = n, out->k_axes = k;
    out->operand = node.stored;
  } else if (batch != out->batch_axes || m != out->m_axes || n != out->n_axes || k != out->k_axes ||
             node.stored != out->operand) {
    return false;
  }
  out->products.push_back(id);
  auto keep = [](std::vector<int>& list, int operand) {
    if (std::find(list.begin(), list.end(), operand) == list.end()) list.push_back(operand);
  };
  keep(out->left, left);
  keep(out->right, right);
  return true;
}

// Columns are what is reduced, where something is: whether they are those of the left operands.
bool reduces_left(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kMatmul) continue;
    const Axes &a = graph.nodes[node.operands[0]].varies, &b = graph.nodes[node.operands[1]].varies;
    const Axes own = set_minus(a, b);
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& other) {
      return other.kind == NodeKind::kReduce && sorted(other.axes) == own;
    });
  }
  return false;
}

// Fills `out`; returns false if the graph is not of this family.
bool analyse(const Subject& subject, Product* out) {
  const Graph& graph = subject.graph;
  std::vector<bool> after(graph.nodes.size(), false);  // depends on a product or a reduction
  std::vector<int> reductions;
  out->exchanged = reduces_left(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.kind == NodeKind::kScan || node.kind == NodeKind::kConvolution) return false;
    for (int operand : node.operands) after[i] = after[i] || after[operand];
    if (node.kind == NodeKind::kReduce) {
      reductions.push_back(static_cast<int>(i));
      after[i] = true;
    } else if (node.kind == NodeKind::kMatmul) {
      if (after[i] || !add_product(graph, static_cast<int>(i), out)) return false;
      after[i] = true;
    }
  }
  if (out->products.empty() || out->m_axes.empty() || out->n_axes.empty()) return false;
  Axes result = set_union(out->batch_axes, set_union(out->m_axes, out->n_axes));
  if (graph.part >= 0) result = set_union(result, {graph.part});
  for (int id : reductions) {
    const Node& node = graph.nodes[id];
    if (sorted(node.axes) != out->n_axes || !set_minus(node.varies, result).empty()) return false;
    out->whole_rows = true;
  }
  if (!outputs_fit(graph, out)) return false;
  out->batch = merged_loops(graph, subject.table, out->batch_axes);
  out->m = merged_loops(graph, subject.table, out->m_axes);
  out->n = merged_loops(graph, subject.table, out->n_axes);
  out->k = merged_loops(graph, subject.table, out->k_axes);
  return true;
}

// An operand that the TMA can fetch: a matrix in memory whose rows run along the contracted loop
// (`k_inner`) or along its own.
struct Bulk {
  bool k_inner = true;
  bool batched = false;  // the matrices of a batch follow each other as one
  std::string stride;    // between rows
};

std::optional<Bulk> bulk_operand(const Subject& subject, const Product& product, int id,
                                 const std::vector<Loop>& own) {
  const Node& node = subject.graph.nodes[id];
  if (node.kind != NodeKind::kLoad || !node.operands.empty() || !node.offset.empty()) return {};
  if (node.stored != product.operand || subject.table.needs_int64()) return {};
  if (own.size() != 1 || product.k.size() != 1 || product.batch.size() > 1) return {};
  const Access& access = subject.table.of_node(id);
  const LeafStride* along_k = loop_stride(access, product.k[0]);
  const LeafStride* along_own = loop_stride(access, own[0]);
  if (!along_k || !along_own) return {};
  Bulk out;
  out.k_inner = along_k->stride == 1;
  if (!out.k_inner && along_own->stride != 1) return {};
  const LeafStride* rows = out.k_inner ? along_own : along_k;
  // What the hardware asks of addresses (cuTensorMapEncodeTiled).
  constexpr int64_t kAlignment = 16;
  const Value& value = subject.program.values[subject.program.inputs[node.input]];
  const int64_t bytes = dtype_bytes(value.dtype);
  if (rows->stride * bytes % kAlignment != 0 || value.offset * bytes % kAlignment != 0) return {};
  const int64_t count = out.k_inner ? own[0].size : product.k[0].size;
  if (const LeafStride* batch =
          product.batch.empty() ? nullptr : loop_stride(access, product.batch[0])) {
    out.batched = true;
    if (batch->stride != count * rows->stride) return {};
  }
  out.stride = rows->text;
  return out;
}

struct Plan {
  GemmTile tile;
  int splits = 1;
  bool bulk = false;  // operands are fetched by the TMA where they can be
  Visit visit = Visit::kOne;
};

// A walk along K that reads rows of the next matrix of a batch must not go on into it.
bool can_fetch(const std::optional<Bulk>& bulk, const Product& product, const GemmTile& tile) {
  return bulk && (bulk->k_inner || !bulk->batched || product.k[0].size % tile.k == 0);
}

class ProductKernel {
 public:
  ProductKernel(const Subject& subject, const Product& product, const Plan& plan)
      : subject_(subject),
        graph_(subject.graph),
        product_(product),
        plan_(plan),
        tile_(plan.tile),
        splits_(plan.splits),
        kernel_("matmul"),
        body_(subject.graph, subject.table, subject.program, kernel_) {
    const int64_t partial = total_size(product.batch) * total_size(product.m) *
                            total_size(product.n) * (splits_ > 1 ? splits_ : 0);
    wide_ = subject.table.needs_int64() || partial >= (int64_t{1} << 31) - (int64_t{1} << 24)
                ? ".to(tl.int64)"
                : "";
    shape_ = {total_size(product.m),
              total_size(product.n),
              total_text(graph_, product.m),
              total_text(graph_, product.n),
              product.batch.empty() ? "" : total_text(graph_, product.batch),
              !wide_.empty()};
    body_.on_reduce = [this](int id) { return reduced(id); };
  }

  Written write() {
    kernel_.describe(subject_.operators + ": a tile of the result a program.");
    place(tile_, plan_.visit);
    k_size_ = kernel_.scalar("K", total_text(graph_, product_.k));
    kernel_.constexpr_parameter("BLOCK_K", std::to_string(tile_.k));
    for (const char* name : {"start", "k_a", "k_b", "k_a_mask", "k_b_mask"}) kernel_.unique(name);
    std::vector<std::string> sums;
    for (int id : product_.products) {
      hoist(graph_.nodes[id].operands[0]);
      hoist(graph_.nodes[id].operands[1]);
      sums.push_back(kernel_.unique(graph_.nodes[id].name));
    }
    for (const std::string& sum : sums) {
      kernel_.line(sum + " = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)");
    }
    open_walk(kernel_, "start", k_size_, "BLOCK_K", splits_);
    const auto left = operands(product_.left, "k_a", "[None, :]", 1);
    const auto right = operands(product_.right, "k_b", "[:, None]", 0);
    const bool full = product_.operand == DType::kFloat32;
    for (size_t i = 0; i < sums.size(); ++i) {
      const Node& node = graph_.nodes[product_.products[i]];
      kernel_.line(sums[i] + " = tl.dot(" + left.at(left_of(node, product_.exchanged)) + ", " +
                   right.at(right_of(node, product_.exchanged)) + ", " + sums[i] +
                   (full ? ", input_precision=\"tf32x3\")" : ")"));
    }
    kernel_.close();
    set_masks("m_mask", "n_mask");
    std::vector<std::string> grid = {tile_grid(kernel_, shape_, tile_)};
    if (plan_.visit != Visit::kOne) {
      grid[0] = "min(" + std::to_string(subject_.profile.sms) + ", " + grid[0] + ")";
    }
    if (splits_ > 1) grid.push_back(std::to_string(splits_));
    kernel_.launch(grid, tile_.warps, tile_.stages);
    Written written;
    if (splits_ == 1) {
      finish(sums);
      if (plan_.visit != Visit::kOne) kernel_.close();
      written.kernels.push_back(std::move(kernel_));
      return written;
    }
    for (size_t i = 0; i < sums.size(); ++i) {
      store_partial(kernel_, shape_, static_cast<int>(i), sums[i]);
      written.scratch.push_back(partial_scratch(shape_, static_cast<int>(i), splits_));
    }
    written.kernels.push_back(std::move(kernel_));
    written.kernels.push_back(ProductKernel(subject_, product_, plan_).joining());
    return written;
  }

 private:
  // Returns the kernel that adds up what the splits left.
  KernelText joining() {
    GemmTile tile = joining_tile(tile_);
    if (product_.whole_rows) tile.n = tile_.n, tile.m = 16;
    kernel_.describe(subject_.operators + ": sums of parts, and what follows.");
    place(tile, Visit::kOne);
    std::vector<std::string> sums;
    for (size_t i = 0; i < product_.products.size(); ++i) {
      sums.push_back(load_partials(kernel_, shape_, static_cast<int>(i), splits_,
                                   graph_.nodes[product_.products[i]].name));
    }
    finish(sums);
    kernel_.launch({tile_grid(kernel_, shape_, tile)}, tile.warps, 0);
    return std::move(kernel_);
  }

  void finish(const std::vector<std::string>& sums) {
    for (size_t i = 0; i < sums.size(); ++i) body_.assign(product_.products[i], sums[i]);
    for (size_t i = 0; i < graph_.outputs.size(); ++i) body_.store(static_cast<int>(i));
  }

  // A reduction over the columns of the tile, which are whole rows or what is wanted of them.
  std::string reduced(int id) {
    const Node& node = graph_.nodes[id];
    const std::string text = body_.value(node.operands[0]), tile = kernel_.unique("masked");
    kernel_.line(tile + " = tl.where(n_mask, " + text + ", " + neutral(node) + ")");
    return reduced_tile(node, tile, kernel_);
  }

  void place(const GemmTile& tile, Visit visit) {
    start_ = place_tile(kernel_, shape_, tile, visit);
    set_masks("m_mask", "n_mask");
    if (!product_.batch.empty()) body_.bind_flat(product_.batch, {"batch", 0}, "batch");
    body_.unit_index = "m";
    body_.bind_flat(product_.m, {"m", 1}, "m");
    body_.bind_flat(product_.n, {"n", 2}, "n");
    if (product_.parts) {
      body_.bind({{graph_.part}, graph_.axes.size(graph_.part)}, {start_.tile_n + wide_, 0});
    }
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
    if (node.kind == NodeKind::kWindow) return;  // what it is made of varies with loops of its own
    for (int operand : node.operands) hoist(operand);
  }

  // Prints the tiles of one side inside the loop: node -> variable. `dim` is the tile dimension
  // that K runs along.
  std::map<int, std::string> operands(const std::vector<int>& nodes, const std::string& k,
                                      const std::string& shape, int dim) {
    const std::string mask = k + "_mask";
    std::map<int, std::string> out;
    std::vector<int> computed;
    for (int id : nodes) {
      const auto bulk =
          plan_.bulk ? bulk_operand(subject_, product_, id, dim == 0 ? product_.n : product_.m)
                     : std::nullopt;
      if (can_fetch(bulk, product_, tile_)) {
        out[id] = fetched(id, *bulk, dim);
      } else {
        computed.push_back(id);
      }
    }
    if (computed.empty()) return out;
    kernel_.line(k + " = (start + tl.arange(0, BLOCK_K)" + wide_ + ")" + shape);
    kernel_.line(mask + " = " + k + " < " + k_size_);
    set_masks(dim == 0 ? mask : "m_mask", dim == 0 ? "n_mask" : mask);
    body_.open_scope();
    body_.bind_flat(product_.k, {k, 1u << dim}, k);
    for (int id : computed) {
      std::string text = body_.stored_value(id, product_.operand);
      if (graph_.nodes[id].kind != NodeKind::kLoad || !graph_.nodes[id].operands.empty()) {
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

  // A tile of an operand, fetched by the TMA: [BLOCK_M, BLOCK_K], or [BLOCK_K, BLOCK_N] where K
  // runs along dimension 0.
  std::string fetched(int id, const Bulk& bulk, int dim) {
    const bool right = dim == 0;
    std::string rows = right ? shape_.n : shape_.m, columns = total_text(graph_, product_.k);
    std::array<std::string, 2> at = {right ? start_.n : start_.m, "start"};
    std::array<int64_t, 2> tile = {right ? tile_.n : tile_.m, tile_.k};
    if (!bulk.k_inner) {
      std::swap(rows, columns), std::swap(at[0], at[1]), std::swap(tile[0], tile[1]);
    }
    if (bulk.batched) {
      at[0] =
          "batch * " + kernel_.scalar(bulk.k_inner ? right ? "N" : "M" : "K", rows) + " + " + at[0];
      rows = shape_.batches + " * " + rows;
    }
    const Node& node = graph_.nodes[id];
    const std::string tensor = tensor_name(graph_, node.input);
    const std::string descriptor =
        kernel_.descriptor(tensor + "_tiles", tensor, {rows, columns}, bulk.stride, tile);
    const std::string name = kernel_.unique(node.name);
    kernel_.line(name + " = " + descriptor + ".load([" + at[0] + ", " + at[1] + "])");
    return bulk.k_inner == right ? name + ".T" : name;
  }

  std::string cast_back() const {
    if (product_.operand == DType::kFloat32) return "";
    return ".to(" + std::string(triton_name(product_.operand)) + ")";
  }

  const Subject& subject_;
  const Graph& graph_;
  const Product& product_;
  const Plan plan_;
  const GemmTile tile_;
  const int splits_;
  KernelText kernel_;
  Body body_;
  GemmShape shape_;
  TileStart start_;
  std::string k_size_, wide_;
};

// ---- Schedules

// Returns the tile cut to the problem, so that small problems do not multiply zeros, and widened to
// whole rows if these are wanted.
GemmTile clipped(GemmTile tile, const Product& product) {
  tile.m = clipped_block(tile.m, total_size(product.m));
  tile.n = clipped_block(tile.n, total_size(product.n));
  tile.k = clipped_block(tile.k, total_size(product.k));
  if (product.whole_rows && !product.parts)
    tile.n = std::max<int64_t>(16, next_power_of_2(total_size(product.n)));
  if (tile.m * tile.n <= 64 * 64) tile.warps = std::min(tile.warps, 4);
  return tile;
}

// Returns whether a program's accumulators and shared memory fit. tf32x3 multiplies two parts of
// each operand; those of a left operand that is a plain load stay in registers.
bool fits(const Subject& subject, const Product& product, const GemmTile& tile) {
  const bool full = product.operand == DType::kFloat32;
  const bool loaded = std::all_of(product.left.begin(), product.left.end(),
                                  [&](int id) { return is_loaded(subject.graph.nodes[id]); });
  const GemmSide left{product.left, product.m_axes, tile.m};
  const GemmSide right{product.right, product.n_axes, tile.n};
  auto bytes = [&](const GemmSide& side, int parts) {
    return gemm_shared_bytes(subject.graph, side, product.k_axes, tile, product.operand, parts);
  };
  const int parts = full ? 2 : 1;
  const int64_t shared = bytes(left, loaded ? 0 : parts) + bytes(right, parts);
  const int64_t registers = static_cast<int64_t>(product.products.size()) * tile.m * tile.n /
                            (32 * tile.warps);  // of a thread, for accumulators
  // tf32x3 also holds the parts of its operands.
  const int64_t limit = full ? 64 : 128;
  return shared + 4096 <= subject.profile.shared_per_block && registers <= limit;
}

int64_t program_count(const Product& product, const GemmTile& tile) {
  return total_size(product.batch) * cdiv(total_size(product.m), tile.m) *
         cdiv(total_size(product.n), tile.n);
}

// Returns how much busier the tensor cores are if the TMA fetches their operands, and if a program
// stays for the next tile. For half types this is from the table in docs/schedules.md. For three
// TF32 products, which keep the tensor cores busy anyway, it is a guess.
double keeping_busy(const Product& product, const Plan& plan) {
  if (!plan.bulk) return 1;
  if (product.operand == DType::kFloat32) return 1.05;
  return plan.visit == Visit::kOne ? 1.2 : 1.4;
}

double seconds(const Subject& subject, const Product& product, const Plan& plan) {
  const DeviceProfile& device = subject.profile;
  const auto& [tile, splits, bulk, visit] = plan;
  const double peak =
      keeping_busy(product, plan) *
      (product.operand == DType::kFloat32 ? device.tf32_flops / 3 : device.half_flops);
  const int64_t steps = cdiv(cdiv(total_size(product.k), tile.k), splits);
  const double results = static_cast<double>(total_size(product.batch) * total_size(product.m) *
                                             total_size(product.n));
  const double products = static_cast<double>(product.products.size());
  return gemm_seconds(device, tile, program_count(product, tile) * splits,
                      static_cast<double>(steps * tile.k), products, peak,
                      static_cast<double>(subject.table.bytes())) +
         join_seconds(device, splits, results * products);
}

// "k": contiguous along the contracted loops; "o": along others; "x": computed first.
std::string operand_class(const Subject& subject, const Product& product, int id) {
  const Node& node = subject.graph.nodes[id];
  if (node.kind != NodeKind::kLoad || !node.operands.empty() || product.k.empty()) return "x";
  const LeafStride* s = loop_stride(subject.table.of_node(id), product.k.back());
  return s && s->stride == 1 ? "k" : "o";
}

std::string product_class(const Subject& subject, const Product& product) {
  std::string out =
      std::string(dtype_name(product.operand)) + " batch=" + size_class(total_size(product.batch)) +
      " m=" + size_class(total_size(product.m)) + " n=" + size_class(total_size(product.n)) +
      " k=" + size_class(total_size(product.k)) +
      " operands=" + operand_class(subject, product, product.left.front()) +
      operand_class(subject, product, product.right.front());
  if (product.products.size() > 1) out += " products=" + std::to_string(product.products.size());
  if (product.whole_rows) out += product.parts ? " parts-of-rows" : " whole-rows";
  return out;
}

// Returns whether the TMA has something to fetch for tiles of this size, and enough for descriptors
// to pay: they cost the host some microseconds a launch.
bool has_bulk(const Subject& subject, const Product& product, const GemmTile& tile) {
  constexpr double kWorthIt = 20e-6;  // seconds
  if (!subject.profile.has_tma() || seconds(subject, product, {tile}) < kWorthIt) return false;
  auto any = [&](const std::vector<int>& operands, const std::vector<Loop>& own) {
    return std::any_of(operands.begin(), operands.end(), [&](int id) {
      return can_fetch(bulk_operand(subject, product, id, own), product, tile);
    });
  };
  return any(product.left, product.m) || any(product.right, product.n);
}

// Returns what comes before the blocks in the tiling's text: "TMA persistent SPLITS=2 ".
std::string kind_name(const Plan& plan) {
  std::string out = plan.bulk ? "TMA " : "";
  if (plan.visit == Visit::kPersistent) out += "persistent ";
  if (plan.visit == Visit::kFlattened) out += "flattened ";
  if (plan.splits > 1) out += "SPLITS=" + std::to_string(plan.splits) + " ";
  return out;
}

}  // namespace

std::vector<Choice> matmul_choices(const Subject& subject) {
  auto product = std::make_shared<Product>();
  if (!analyse(subject, product.get())) return {};
  std::vector<Choice> out;
  std::set<std::string> seen;
  auto add = [&](const Plan& plan) {
    const GemmTile& tile = plan.tile;
    std::string tiling = (product->parts ? "two-stage " : "") + kind_name(plan) +
                         "BLOCK_M=" + std::to_string(tile.m) +
                         " BLOCK_N=" + std::to_string(tile.n) +
                         " BLOCK_K=" + std::to_string(tile.k);
    const std::string key =
        tiling + "/" + std::to_string(tile.warps) + "/" + std::to_string(tile.stages);
    if (!seen.insert(key).second) return;
    int64_t programs = program_count(*product, tile) * plan.splits;
    if (programs >= int64_t{1} << 31) return;
    if (plan.visit != Visit::kOne) programs = std::min<int64_t>(programs, subject.profile.sms);
    out.push_back({"matmul", tiling, tile.warps, tile.stages, seconds(subject, *product, plan),
                   programs,
                   [=, &subject] { return ProductKernel(subject, *product, plan).write(); }});
  };
  auto add_tile = [&](const GemmTile& listed) {
    if (product->parts && listed.n != subject.graph.part_columns) return;
    GemmTile tile = clipped(listed, *product);
    while (tile.stages > 1 && !fits(subject, *product, tile)) --tile.stages;
    if (!fits(subject, *product, tile)) return;
    const int64_t steps = cdiv(total_size(product->k), tile.k);
    const int64_t programs = program_count(*product, tile);
    const bool bulk = has_bulk(subject, *product, tile);
    for (int n : split_counts(subject.profile, programs, steps)) {
      add({tile, n});
      if (bulk) add({tile, n, true});
    }
    if (!bulk || programs <= subject.profile.sms) return;
    for (Visit visit : {Visit::kPersistent, Visit::kFlattened}) add({tile, 1, true, visit});
  };
  const auto& tiles = product->operand == DType::kFloat32 ? full_tiles() : half_tiles();
  for (const GemmTile& tile : tiles) add_tile(tile);
  for (GemmTile tile : tiles) {  // wide rows want few of them
    if (!product->whole_rows || product->parts) break;
    for (int64_t m : {16, 32}) {
      tile.m = m, tile.k = 32, tile.warps = 8;
      add_tile(tile);
    }
  }
  return in_class(std::move(out), product_class(subject, *product));
}

}  // namespace kw::teacher
