#include "teacher/nodes/call.h"

#include <algorithm>

namespace kw::teacher {

std::string Call::base() const { return op().substr(0, op().rfind('.')); }

Tensor Call::tensor(const Arg& a) const {
  if (!a.is_value()) throw Refusal{op() + ": a tensor was expected"};
  return values_.read(a.value(), op());
}

bool Call::present(std::string_view name) const {
  const Arg* a = arg(name);
  return a && !a->is_none();
}

Tensor Call::operand(std::string_view name) const {
  const Arg* a = arg(name);
  if (!a) throw Refusal{op() + " lacks " + std::string(name)};
  return tensor(*a);
}

double Call::number(std::string_view name, double otherwise) const {
  const Arg* a = arg(name);
  if (!a || a->is_none()) return otherwise;
  if (auto* i = std::get_if<int64_t>(&a->v)) return static_cast<double>(*i);
  if (auto* f = std::get_if<double>(&a->v)) return *f;
  if (auto* b = std::get_if<bool>(&a->v)) return *b;
  throw Refusal{op() + ": " + std::string(name) + " is not a number"};
}

int64_t Call::integer(std::string_view name, int64_t otherwise) const {
  const Arg* a = arg(name);
  if (!a || a->is_none()) return otherwise;
  if (auto* i = std::get_if<int64_t>(&a->v)) return *i;
  throw Refusal{op() + ": " + std::string(name) + " is not an integer"};
}

bool Call::flag(std::string_view name, bool otherwise) const {
  const Arg* a = arg(name);
  if (!a || a->is_none()) return otherwise;
  if (auto* b = std::get_if<bool>(&a->v)) return *b;
  throw Refusal{op() + ": " + std::string(name) + " is not a flag"};
}

std::vector<int64_t> Call::integers(std::string_view name) const {
  const Arg* a = arg(name);
  std::vector<int64_t> out;
  if (!a || a->is_none()) return out;
  if (auto* one = std::get_if<int64_t>(&a->v)) return {*one};
  const ArgList* list = std::get_if<ArgList>(&a->v);
  if (!list) throw Refusal{op() + ": " + std::string(name) + " is not a list"};
  for (const Arg& item : *list) {
    const int64_t* i = std::get_if<int64_t>(&item.v);
    if (!i) throw Refusal{op() + ": " + std::string(name) + " is not a list of integers"};
    out.push_back(*i);
  }
  return out;
}

int Call::wrap(int64_t dim, int rank) const {
  const int64_t limit = std::max(rank, 1);
  if (dim < -limit || dim >= limit) throw Refusal{op() + ": dimension out of range"};
  return static_cast<int>(dim < 0 ? dim + limit : dim);
}

std::vector<int> Call::dims_argument(std::string_view name, int rank) const {
  std::vector<int> out;
  for (int64_t d : integers(name)) {
    if (rank > 0) out.push_back(wrap(d, rank));
  }
  if (out.empty()) {
    for (int d = 0; d < rank; ++d) out.push_back(d);
  }
  std::sort(out.begin(), out.end());
  return out;
}

const Value& Call::result_value(size_t index) const {
  if (!wants(index)) throw Refusal{op() + " has no such result"};
  return values_.program().values[call_.results[index]];
}

std::string Call::literal(const Arg& a, DType dtype) const {
  if (auto* i = std::get_if<int64_t>(&a.v)) {
    if (is_integral(dtype)) return *i < 0 ? "(" + std::to_string(*i) + ")" : std::to_string(*i);
    return teacher::literal(static_cast<double>(*i), dtype);
  }
  if (auto* f = std::get_if<double>(&a.v)) return teacher::literal(*f, dtype);
  if (auto* b = std::get_if<bool>(&a.v)) return teacher::literal(*b ? 1.0 : 0.0, dtype);
  throw Refusal{op() + ": a number was expected"};
}

bool Call::wants(size_t index) const {
  return index < call_.results.size() && call_.results[index] >= 0;
}

void Call::set_result(size_t index, Tensor t) {
  if (!wants(index)) return;
  const Value& value = result_value(index);
  if (std::count(value.shape.begin(), value.shape.end(), 0) > 0) throw Refusal{"an empty tensor"};
  bool same = t.rank() == static_cast<int>(value.shape.size());
  for (int d = 0; same && d < t.rank(); ++d) same = b_.extent(t, d) == value.shape[d];
  if (!same) throw Refusal{op() + ": the result's shape is not as expected"};
  if (register_type(t.dtype) != register_type(value.dtype)) {
    throw Refusal{op() + ": the result's dtype is not as expected"};
  }
  if (t.input >= 0 && t.dtype != value.dtype) throw Refusal{op() + ": a view changes dtype"};
  t.dtype = value.dtype;
  values_.set_result(call_, call_.results[index], std::move(t));
}

void Call::overwrite_argument(std::string_view name, Tensor t) {
  const ValueId id = arg(name)->value();
  values_.overwrite(id, t);
  values_.renew(id, std::move(t));
}

bool Call::is_used(size_t index) const {
  return wants(index) && values_.is_used(call_.results[index]);
}

}  // namespace kw::teacher
