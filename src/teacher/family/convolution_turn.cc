// Copies of a convolution's operands with channels innermost, which is how tensor cores want them.
// What is computed from an argument before the convolution is computed here, once an element.
#include <algorithm>

#include "teacher/emit/body.h"
#include "teacher/family/convolution.h"

namespace kw::teacher {
namespace {

// A copy of one value: images of rows x columns of the scratch tensor. The rows are those of one
// image, so that their index is a plain range and Triton sees loads along them as contiguous.
struct Turn {
  int node = -1;
  std::vector<Loop> images, rows, cols;
  bool rows_inside = false;  // rows are what is contiguous in scratch
  std::string scratch;
  int64_t block_rows = 64, block_cols = 64;
};

Turn input_turn(const Subject& subject, const Convolution& conv, int index) {
  Turn out;
  out.node = conv.left[index];
  out.images = conv.batch;
  Axes positions;
  for (const ConvDim& dim : conv.dims) {
    positions.insert(positions.end(), dim.in.begin(), dim.in.end());
  }
  out.rows = joined_loops(subject.graph, subject.table, positions);
  out.cols = conv.group;
  out.cols.insert(out.cols.end(), conv.channel.begin(), conv.channel.end());
  out.scratch = "input" + std::to_string(index);
  out.block_cols = std::min<int64_t>(64, next_power_of_2(total_size(out.cols)));
  out.block_rows = std::clamp<int64_t>(4096 / out.block_cols, 64, 512);
  return out;
}

Turn weight_turn(const Subject& subject, const Convolution& conv, int index) {
  Turn out;
  out.node = conv.right[index];
  Axes rows, window;
  for (const auto* loops : {&conv.group, &conv.filter, &conv.channel}) {
    for (const Loop& loop : *loops) rows.insert(rows.end(), loop.axes.begin(), loop.axes.end());
  }
  for (const ConvDim& dim : conv.dims) {
    window.insert(window.end(), dim.kernel.begin(), dim.kernel.end());
  }
  out.rows = joined_loops(subject.graph, subject.table, rows);
  out.cols = joined_loops(subject.graph, subject.table, window);
  out.rows_inside = true;
  out.scratch = "weight" + std::to_string(index);
  out.block_cols = std::min<int64_t>(32, next_power_of_2(conv.taps()));
  out.block_rows = std::clamp<int64_t>(4096 / out.block_cols, 64, 1024);
  return out;
}

KernelText turn_kernel(const Subject& subject, const Convolution& conv,
                       const ConvSchedule& schedule, const Turn& turn) {
  const Graph& graph = subject.graph;
  KernelText kernel("turn");
  kernel.describe("an operand of " + subject.operators + ", channels innermost.");
  kernel.constexpr_parameter("BLOCK_R", std::to_string(turn.block_rows));
  kernel.constexpr_parameter("BLOCK_C", std::to_string(turn.block_cols));
  for (const char* name : {"rows", "cols", "row_mask", "col_mask", "value"}) kernel.unique(name);
  const std::string rows = total_text(graph, turn.rows), cols = total_text(graph, turn.cols);
  const std::string n_rows = kernel.scalar("n_rows", rows), n_cols = kernel.scalar("n_cols", cols);
  const bool big = subject.table.needs_int64() ||
                   total_size(turn.images) * total_size(turn.rows) * total_size(turn.cols) >=
                       (int64_t{1} << 31) - (1 << 24);
  const std::string wide = big ? ".to(tl.int64)" : "";
  kernel.line("rows = (tl.program_id(0)" + wide + " * BLOCK_R + tl.arange(0, BLOCK_R))[:, None]");
  kernel.line("cols = (tl.program_id(1)" + wide + " * BLOCK_C + tl.arange(0, BLOCK_C))[None, :]");
  kernel.line("row_mask = rows < " + n_rows);
  kernel.line("col_mask = cols < " + n_cols);
  Body body(graph, subject.table, subject.program, kernel);
  body.set_mask(0, "row_mask");
  body.set_mask(1, "col_mask");
  std::string image;
  if (!turn.images.empty()) {
    kernel.line(kernel.unique("image") + " = tl.program_id(2)" + wide);
    body.bind_flat(turn.images, {"image", 0}, "image");
    image = "image * " + n_rows + " * " + n_cols + " + ";
  }
  if (!turn.rows.empty()) body.bind_flat(turn.rows, {"rows", 1}, "row");
  if (!turn.cols.empty()) body.bind_flat(turn.cols, {"cols", 2}, "col");
  const std::string text =
      operand_text(kernel, body.stored_value(turn.node, conv.operand), schedule);
  const std::string where =
      image + (turn.rows_inside ? "cols * " + n_rows + " + rows" : "rows * " + n_cols + " + cols");
  kernel.line("tl.store(" + kernel.pointer(turn.scratch + "_ptr", turn.scratch) + " + " + where +
              ", " + text + ", mask=row_mask & col_mask)");
  std::vector<std::string> grid = {host_cdiv(rows, turn.block_rows),
                                   host_cdiv(cols, turn.block_cols)};
  if (!turn.images.empty()) grid.push_back(total_text(graph, turn.images));
  kernel.launch(grid, 4, 0);
  return kernel;
}

Scratch turn_scratch(const Subject& subject, const Convolution& conv, const Turn& turn) {
  const std::string rows = total_text(subject.graph, turn.rows);
  const std::string cols = total_text(subject.graph, turn.cols);
  const std::string images =
      turn.images.empty() ? "" : total_text(subject.graph, turn.images) + ", ";
  return {turn.scratch, images + (turn.rows_inside ? cols + ", " + rows : rows + ", " + cols),
          "torch." + std::string(dtype_name(conv.operand))};
}

}  // namespace

std::string operand_text(KernelText& kernel, const std::string& text,
                         const ConvSchedule& schedule) {
  if (schedule.precision != "tf32") return text;
  const std::string name =
      kernel.helper("to_tf32", "x",
                    "    bits = (x.to(tl.int32, bitcast=True) + 0x1000) & -0x2000\n"
                    "    return tl.where(x == x, bits.to(tl.float32, bitcast=True), x)\n");
  return name + "(" + text + ")";
}

KernelText turned_input_kernel(const Subject& subject, const Convolution& conv,
                               const ConvSchedule& schedule, int index) {
  return turn_kernel(subject, conv, schedule, input_turn(subject, conv, index));
}

KernelText turned_weight_kernel(const Subject& subject, const Convolution& conv,
                                const ConvSchedule& schedule, int index) {
  return turn_kernel(subject, conv, schedule, weight_turn(subject, conv, index));
}

Scratch turned_input_scratch(const Subject& subject, const Convolution& conv, int index) {
  return turn_scratch(subject, conv, input_turn(subject, conv, index));
}

Scratch turned_weight_scratch(const Subject& subject, const Convolution& conv, int index) {
  return turn_scratch(subject, conv, weight_turn(subject, conv, index));
}

}  // namespace kw::teacher
