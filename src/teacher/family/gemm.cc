#include "teacher/family/gemm.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kw::teacher {

const std::vector<GemmTile>& full_tiles() {
  static const std::vector<GemmTile> tiles = {
      {128, 128, 64, 8, 3}, {128, 128, 32, 8, 3}, {128, 128, 32, 8, 4}, {128, 128, 64, 8, 2},
      {128, 128, 32, 4, 3}, {128, 256, 32, 8, 3}, {256, 128, 32, 8, 3}, {128, 64, 64, 8, 3},
      {64, 128, 64, 8, 3},  {128, 64, 64, 4, 3},  {64, 128, 64, 4, 3},  {128, 64, 32, 4, 4},
      {64, 128, 32, 4, 4},  {64, 64, 64, 4, 3},   {64, 64, 32, 4, 4},   {64, 32, 64, 4, 4},
      {32, 64, 64, 4, 4},   {32, 32, 64, 4, 4},   {32, 128, 64, 4, 3},  {16, 128, 64, 4, 4},
      {16, 64, 128, 4, 3},  {16, 32, 128, 4, 4},
  };
  return tiles;
}

const std::vector<GemmTile>& half_tiles() {
  static const std::vector<GemmTile> tiles = {
      {128, 256, 64, 8, 3}, {256, 128, 64, 8, 3},  {128, 256, 64, 8, 4}, {128, 128, 64, 8, 4},
      {128, 128, 64, 4, 4}, {128, 128, 128, 8, 3}, {128, 128, 64, 4, 3}, {64, 256, 64, 4, 4},
      {128, 64, 64, 4, 4},  {64, 128, 64, 4, 4},   {64, 64, 64, 4, 4},   {64, 64, 128, 4, 3},
      {64, 32, 64, 4, 5},   {32, 64, 64, 4, 5},    {32, 32, 128, 4, 4},  {32, 128, 128, 4, 3},
      {16, 128, 128, 4, 4}, {16, 64, 128, 4, 4},   {16, 32, 128, 4, 4},
  };
  return tiles;
}

std::string GemmShape::zeros() const {
  const char* sides = flipped ? "BLOCK_N, BLOCK_M" : "BLOCK_M, BLOCK_N";
  return "tl.zeros((" + std::string(sides) + "), tl.float32)";
}

TileStart place_tile(KernelText& kernel, const GemmShape& shape, const GemmTile& tile,
                     Visit visit) {
  const std::string m = kernel.size("M", shape.m), n = kernel.size("N", shape.n);
  kernel.constexpr_parameter("BLOCK_M", std::to_string(tile.m));
  kernel.constexpr_parameter("BLOCK_N", std::to_string(tile.n));
  for (const char* name : {"pid", "batch", "tiles_m", "tiles_n", "first_m", "group_m", "tile_m",
                           "tile_n", "m", "n", "m_mask", "n_mask"}) {
    kernel.unique(name);
  }
  const bool several_m = shape.rows > tile.m, several_n = shape.columns > tile.n;
  const bool batched = !shape.batches.empty(), loops = visit != Visit::kOne;
  const std::string wide = shape.wide ? ".to(tl.int64)" : "";
  const Expr tiles_m = several_m ? "tiles_m" : "1", tiles_n = several_n ? "tiles_n" : "1";
  const Expr tiles = (tiles_m * tiles_n).bracketed();  // of one matrix
  const bool several = several_m || several_n;
  if (several_m && (several_n || batched || loops)) {
    kernel.line("tiles_m = tl.cdiv(" + m + ", BLOCK_M)");
  }
  if (several_n && (several_m || batched || loops)) {
    kernel.line("tiles_n = tl.cdiv(" + n + ", BLOCK_N)");
  }
  const std::string program = batched ? kernel.unique("program") : "pid";
  if (loops) {
    const Expr batches = batched ? kernel.scalar("batches", shape.batches) : "1";
    const bool flat = visit == Visit::kFlattened;
    kernel.open("for " + program + " in " + (flat ? "tl.range" : "range") + "(tl.program_id(0), " +
                (batches * tiles).text() + ", tl.num_programs(0)" +
                (flat ? ", flatten=True):" : "):"));
  } else if (batched || several) {
    kernel.line(program, "tl.program_id(0)");
  }
  if (batched) kernel.line("batch", (Expr(program) / tiles).bracketed().with(wide));
  if (batched && several) kernel.line("pid", Expr(program) % tiles);
  Expr tile_m = several_m ? "pid" : "0", tile_n = several_n ? "pid" : "0";
  if (several_m && several_n) {
    kernel.constexpr_parameter("GROUP_M", "8");
    const Expr pid = "pid", group_of_tiles = Expr("GROUP_M") * tiles_n;
    kernel.line("first_m", pid / group_of_tiles * "GROUP_M");
    kernel.line("group_m", "tl.minimum(tiles_m - first_m, GROUP_M)");
    kernel.line("tile_m", "first_m" + pid % group_of_tiles % "group_m");
    kernel.line("tile_n", pid % group_of_tiles / "group_m");
    tile_m = "tile_m", tile_n = "tile_n";
  }
  auto side = [&](const std::string& name, const Expr& tile, const std::string& block,
                  const std::string& across) {
    const Expr range = "tl.arange(0, " + block + ")";
    const Expr index = tile.is(0) ? range.with(wide) : tile.with(wide) * block + range;
    kernel.line(name, index.with(across));
    return (tile * block).text();
  };
  TileStart start;
  start.m = side("m", tile_m, "BLOCK_M", shape.flipped ? "[None, :]" : "[:, None]");
  start.n = side("n", tile_n, "BLOCK_N", shape.flipped ? "[:, None]" : "[None, :]");
  start.tile_n = tile_n.text();
  kernel.line("m_mask = m < " + m);
  kernel.line("n_mask = n < " + n);
  return start;
}

std::string tile_grid(KernelText& kernel, const GemmShape& shape, const GemmTile& tile) {
  const std::string batches = shape.batches.empty() ? "" : shape.batches + " * ";
  return batches + host_cdiv(kernel.size("M", shape.m), tile.m) + " * " +
         host_cdiv(kernel.size("N", shape.n), tile.n);
}

// ---- Split

namespace {

// Returns the offset of the tile in the partial sums of one split.
Expr partial_offset(KernelText& kernel, const GemmShape& shape) {
  const std::string m = kernel.size("M", shape.m), n = kernel.size("N", shape.n);
  const std::string outer = shape.flipped ? "n" : "m", inner = shape.flipped ? "m" : "n";
  const Expr matrix = shape.batches.empty() ? Expr(0) : Expr("batch") * (shape.flipped ? n : m);
  return (matrix + outer) * (shape.flipped ? m : n) + inner;
}

// Returns the address of the tile in the partial sums `index` of a split.
std::string partial_address(KernelText& kernel, const GemmShape& shape, int index,
                            const Expr& split) {
  const std::string name = "partial" + std::to_string(index);
  const std::string pointer = kernel.pointer(name + "_ptr", name);
  const std::string m = kernel.size("M", shape.m), n = kernel.size("N", shape.n);
  Expr first = split;
  if (!shape.batches.empty()) first = first * kernel.scalar("batches", shape.batches);
  return (pointer + first * m * n + partial_offset(kernel, shape)).text();
}

}  // namespace

void open_walk(KernelText& kernel, const std::string& variable, const std::string& end,
               const std::string& step, int splits) {
  const Expr each = step.empty() ? "1" : step;
  const std::string by = step.empty() ? "" : ", " + step;
  if (splits == 1) {
    kernel.open("for " + variable + " in range(0, " + end + by + "):");
    return;
  }
  const std::string steps = kernel.unique("steps"), first = kernel.unique("first");
  const std::string last = kernel.unique("last");
  const std::string blocks = step.empty() ? end : "tl.cdiv(" + end + ", " + step + ")";
  kernel.line(steps, "tl.cdiv(" + blocks + ", " + std::to_string(splits) + ")");
  kernel.line(first, Expr("tl.program_id(1)") * steps);
  kernel.line(last, "tl.minimum(" + (Expr(first) + steps).text() + ", " + blocks + ")");
  kernel.open("for " + variable + " in range(" + (first * each).text() + ", " +
              (last * each).text() + by + "):");
}

void store_partial(KernelText& kernel, const GemmShape& shape, int index, const std::string& sum) {
  const Expr split = Expr("tl.program_id(1)").with(shape.wide ? ".to(tl.int64)" : "");
  kernel.line("tl.store(" + partial_address(kernel, shape, index, split) + ", " + sum +
              ", mask=m_mask & n_mask)");
}

std::string load_partials(KernelText& kernel, const GemmShape& shape, int index, int splits,
                          const std::string& hint) {
  const std::string total = kernel.unique(hint), split = kernel.unique("split");
  kernel.line(total + " = " + shape.zeros());
  kernel.open("for " + split + " in range(0, " + std::to_string(splits) + "):");
  kernel.line(total + " += tl.load(" + partial_address(kernel, shape, index, split) +
              ", mask=m_mask & n_mask, other=0.0)");
  kernel.close();
  return total;
}

Scratch partial_scratch(const GemmShape& shape, int index, int splits) {
  std::string sizes = std::to_string(splits) + ", ";
  if (!shape.batches.empty()) sizes += shape.batches + ", ";
  return {"partial" + std::to_string(index), sizes + shape.m + ", " + shape.n, "torch.float32"};
}

GemmTile joining_tile(const GemmTile& tile) {
  return {std::min<int64_t>(tile.m, 32), std::min<int64_t>(tile.n, 64), 0, 4, 0};
}

// ---- Model

double tile_efficiency(const GemmTile& tile) {
  const double area = static_cast<double>(tile.m * tile.n);
  const double shape = std::min(1.0, std::sqrt(area / (128.0 * 128.0)));
  const double narrow = std::min(tile.m, tile.n) < 32 ? 0.5 : 1.0;
  const double depth = tile.k >= 64 ? 1.0 : 0.93;
  return 0.58 * shape * narrow * depth;
}

double gemm_seconds(const DeviceProfile& device, const GemmTile& tile, int64_t programs,
                    double depth, double products, double peak, double bytes) {
  const double work = 2.0 * static_cast<double>(tile.m * tile.n) * depth * products;
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
  const double epilogue = 2.0 * bytes / device.bytes_per_second;
  const double memory =
      bytes / device.bytes_per_second / std::min(1.0, static_cast<double>(programs) / device.sms);
  return device.launch_seconds + std::max(compute + 0.1 * epilogue, memory);
}

std::vector<int> split_counts(const DeviceProfile& device, int64_t programs, int64_t steps) {
  std::vector<int> out = {1};
  for (int splits = 2; splits <= 32; splits *= 2) {
    if (programs * splits > 2 * device.sms || steps / splits < 4) break;
    out.push_back(splits);
  }
  return out;
}

double join_seconds(const DeviceProfile& device, int splits, double results) {
  if (splits == 1) return 0;
  return device.launch_seconds + 2.0 * splits * results * 4 / device.bytes_per_second;
}

namespace {

// Collects the loads that a value is made of, and how many of each a step has: one for each element
// of a window.
void collect_loads(const Graph& graph, int id, int64_t times, std::map<int, int64_t>* out) {
  const Node& node = graph.nodes[id];
  if (node.kind == NodeKind::kLoad) {
    int64_t& known = (*out)[id];
    if (known >= times) return;
    known = times;
  }
  if (node.kind == NodeKind::kWindow) times *= graph.axes.size(node.axes);
  for (int operand : node.operands) collect_loads(graph, operand, times, out);
}

}  // namespace

bool is_loaded(const Node& node) { return node.kind == NodeKind::kLoad && node.operands.empty(); }

int64_t gemm_shared_bytes(const Graph& graph, const GemmSide& side, const Axes& contracted,
                          const GemmTile& tile, DType operand, int parts) {
  int64_t bytes = 0;
  for (int id : side.operands) {
    const Node& node = graph.nodes[id];
    const int64_t own = side.tile * tile.k * dtype_bytes(operand);
    if (is_loaded(node) && node.stored == operand && operand != DType::kFloat32) {
      bytes += own * std::max(tile.stages, 1);
      continue;
    }
    std::map<int, int64_t> loads;
    collect_loads(graph, id, 1, &loads);
    int64_t fetched = 0;
    for (const auto& [load, times] : loads) {
      const Node& from = graph.nodes[load];
      if (set_intersection(from.varies, contracted).empty()) continue;  // not of a step
      const bool both = !set_intersection(from.varies, side.rows).empty();
      fetched += times * (both ? side.tile : 1) * tile.k * dtype_bytes(from.stored);
    }
    bytes += fetched * std::max(tile.stages - 1, 0) + own * parts;
  }
  return bytes;
}

int64_t clipped_block(int64_t block, int64_t size) {
  return std::min(block, std::max<int64_t>(16, next_power_of_2(size)));
}

}  // namespace kw::teacher
