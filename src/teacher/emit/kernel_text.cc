#include "teacher/emit/kernel_text.h"

#include <algorithm>
#include <cstring>

#include "formats/base/sha256.h"

namespace kw::teacher {
namespace {

// Returns whether `a` comes before `b`. Numbers in names count as numbers: a2 comes before a10.
bool before(const std::string& a, const std::string& b) {
  return strverscmp(a.c_str(), b.c_str()) < 0;
}

}  // namespace

std::string KernelText::unique(const std::string& hint) {
  std::string name = hint;
  for (int i = 1; !names_.insert(name).second; ++i) name = hint + "_" + std::to_string(i);
  return name;
}

// A line too long for 100 columns breaks after commas inside its brackets.
void KernelText::line(const std::string& text) {
  constexpr size_t kWidth = 98;
  std::string indent(4 * depth_, ' ');
  std::string rest = text;
  while (indent.size() + rest.size() > kWidth) {
    int nesting = 0;
    size_t cut = 0;
    for (size_t i = 0; i < rest.size() && indent.size() + i < kWidth; ++i) {
      if (rest[i] == '(' || rest[i] == '[') ++nesting;
      if (rest[i] == ')' || rest[i] == ']') --nesting;
      if (rest[i] == ' ' && i > 0 && rest[i - 1] == ',' && (nesting > 0 || lines_open_)) cut = i;
    }
    if (cut == 0) break;
    lines_.push_back(indent + rest.substr(0, cut));
    rest = rest.substr(cut + 1);
    if (!lines_open_) indent += "        ";
    lines_open_ = true;
  }
  lines_.push_back(indent + rest);
  lines_open_ = false;
}

void KernelText::open(const std::string& text) {
  line(text);
  ++depth_;
}

std::string KernelText::pointer(const std::string& name, const std::string& host) {
  for (const auto& [known, expression] : pointers_) {
    if (known == name) return name;
  }
  names_.insert(name);
  pointers_.emplace_back(name, host);
  return name;
}

std::string KernelText::scalar(const std::string& hint, const std::string& host) {
  for (const auto& [name, expression] : scalars_) {
    if (expression == host) return name;
  }
  scalars_.emplace_back(unique(hint), host);
  return scalars_.back().first;
}

std::string KernelText::descriptor(const std::string& hint, const std::string& tensor,
                                   const std::array<std::string, 2>& shape,
                                   const std::string& stride, const std::array<int64_t, 2>& block) {
  const std::string host = "TensorDescriptor(" + tensor + ", [" + shape[0] + ", " + shape[1] +
                           "], [" + stride + ", 1], [" + std::to_string(block[0]) + ", " +
                           std::to_string(block[1]) + "])";
  for (const auto& [name, expression] : pointers_) {
    if (expression == host) return name;
  }
  descriptors_ = true;
  pointers_.emplace_back(unique(hint), host);
  return pointers_.back().first;
}

std::string KernelText::size(const std::string& name, const std::string& host) {
  const std::string parameter = scalar(name, host);
  for (auto& [known, expression] : scalars_) {
    if (known != parameter || expression != host) continue;
    locals_.emplace_back(parameter, host);
    host_names_[host] = parameter;
  }
  return parameter;
}

void KernelText::constexpr_parameter(const std::string& name, const std::string& host) {
  names_.insert(name);
  constexprs_.emplace_back(name, host);
}

std::string KernelText::helper(const std::string& name, const std::string& parameters,
                               const std::string& body) {
  names_.insert(name);
  helpers_[name] = "@triton.jit\ndef " + name + "(" + parameters + "):\n" + body;
  return name;
}

void KernelText::launch(std::vector<std::string> grid, int warps, int stages) {
  grid_ = std::move(grid);
  warps_ = warps;
  stages_ = stages;
}

KernelText::Parameters KernelText::pointers() const {
  Parameters out = pointers_;
  std::ranges::sort(out, [](const auto& a, const auto& b) { return before(a.first, b.first); });
  return out;
}

KernelText::Parameters KernelText::scalars() const {
  Parameters out = scalars_;
  const auto rest = std::ranges::stable_partition(
      out, [&](const auto& scalar) { return std::ranges::find(locals_, scalar) != locals_.end(); });
  std::ranges::sort(rest, [](const auto& a, const auto& b) { return before(a.first, b.first); });
  return out;
}

std::string KernelText::text(const std::string& name) const {
  std::string head = "def " + name + "(";
  std::string parameters;
  auto add = [&](const std::string& p) { parameters += (parameters.empty() ? "" : ", ") + p; };
  for (const auto& p : pointers()) add(p.first);
  for (const auto& p : scalars()) add(p.first + ": tl.constexpr");
  for (const auto& p : constexprs_) add(p.first + ": tl.constexpr");
  std::string out;
  if (!description_.empty()) out += "# " + description_ + "\n";
  out += "@triton.jit\n";
  // Lines of the parameter list have at most 100 columns.
  std::string current = head;
  size_t at = 0;
  while (at < parameters.size()) {
    size_t end = parameters.find(", ", at);
    const bool last = end == std::string::npos;
    const std::string item = parameters.substr(at, last ? end : end - at) + (last ? "):" : ",");
    if (current.size() + item.size() + 1 > 98) {
      out += current + "\n";
      current = std::string(head.size(), ' ') + item;
    } else {
      const bool fresh = current.back() == '(' || current.back() == ' ';
      current += (fresh ? "" : " ") + item;
    }
    at = last ? parameters.size() : end + 2;
  }
  out += current + "\n";
  for (const std::string& l : lines_) out += l + "\n";
  return out;
}

std::string KernelText::name() const {
  if (!given_name_.empty()) return given_name_;
  return "fused_" + family_ + "_" + sha256_hex(text("kernel")).substr(0, 8);
}

std::string KernelText::source() const { return text(name()); }

std::string KernelText::call() const {
  std::string arguments;
  auto add = [&](const std::string& p) { arguments += (arguments.empty() ? "" : ", ") + p; };
  for (const auto& p : pointers()) add(p.second);
  for (const auto& p : scalars()) {
    auto local = host_names_.find(p.second);
    add(p.first + "=" + (local == host_names_.end() ? p.second : local->second));
  }
  for (const auto& p : constexprs_) add(p.first + "=" + p.second);
  add("num_warps=" + std::to_string(warps_));
  if (stages_ > 0) add("num_stages=" + std::to_string(stages_));
  std::string grid;
  for (const std::string& g : grid_) grid += (grid.empty() ? "" : ", ") + g;
  return name() + "[(" + grid + (grid_.size() == 1 ? ",)](" : ")](") + arguments + ")";
}

bool KernelText::uses_libdevice() const {
  for (const std::string& l : lines_) {
    if (l.find("libdevice.") != std::string::npos) return true;
  }
  for (const auto& [name, source] : helpers_) {
    if (source.find("libdevice.") != std::string::npos) return true;
  }
  return false;
}

}  // namespace kw::teacher
