#include "program/python/python_call.h"

#include <map>
#include <set>

namespace kw {
namespace {

const std::map<std::string, std::string>& spellings() {
  static const std::map<std::string, std::string> table = {
      // Methods start with a dot.
      {"view.default", ".view"},
      {"transpose.int", ".transpose"},
      {"permute.default", ".permute"},
      {"expand.default", ".expand"},
      {"unsqueeze.default", ".unsqueeze"},
      {"squeeze.dim", ".squeeze"},
      {"select.int", ".select"},
      {"t.default", ".t"},
      {"reshape.default", ".reshape"},
      {"clone.default", ".clone"},
      {"contiguous.default", ".contiguous"},
      {"copy_.default", ".copy_"},
      {"zero_.default", ".zero_"},
      {"fill_.Scalar", ".fill_"},
      {"new_empty.default", ".new_empty"},
      {"new_zeros.default", ".new_zeros"},
      {"new_ones.default", ".new_ones"},
      {"new_full.default", ".new_full"},
      {"empty_like.default", "torch.empty_like"},
      {"zeros_like.default", "torch.zeros_like"},
      {"ones_like.default", "torch.ones_like"},
      {"full_like.default", "torch.full_like"},
      {"empty.memory_format", "torch.empty"},
      {"empty_strided.default", "torch.empty_strided"},
      {"zeros.default", "torch.zeros"},
      {"ones.default", "torch.ones"},
      {"full.default", "torch.full"},
      {"cat.default", "torch.cat"},
      {"add.Tensor", "torch.add"},
      {"sub.Tensor", "torch.sub"},
      {"mul.Tensor", "torch.mul"},
      {"div.Tensor", "torch.div"},
      {"relu.default", "torch.relu"},
      {"sigmoid.default", "torch.sigmoid"},
      {"tanh.default", "torch.tanh"},
      {"exp.default", "torch.exp"},
      {"sqrt.default", "torch.sqrt"},
      {"rsqrt.default", "torch.rsqrt"},
      {"silu.default", "torch.nn.functional.silu"},
      {"gelu.default", "torch.nn.functional.gelu"},
      {"softmax.int", "torch.softmax"},
      {"log_softmax.int", "torch.log_softmax"},
      {"sum.dim_IntList", "torch.sum"},
      {"mean.dim", "torch.mean"},
      {"mm.default", "torch.mm"},
      {"bmm.default", "torch.bmm"},
      {"matmul.default", "torch.matmul"},
      {"addmm.default", "torch.addmm"},
      {"linear.default", "torch.nn.functional.linear"},
      {"conv1d.default", "torch.conv1d"},
      {"conv2d.default", "torch.conv2d"},
      {"conv3d.default", "torch.conv3d"},
      {"conv_transpose1d.default", "torch.conv_transpose1d"},
      {"conv_transpose2d.input", "torch.conv_transpose2d"},
      {"conv_transpose3d.input", "torch.conv_transpose3d"},
      {"max_pool2d.default", "torch.max_pool2d"},
      {"layer_norm.default", "torch.layer_norm"},
      {"group_norm.default", "torch.group_norm"},
      {"batch_norm.default", "torch.batch_norm"},
      {"embedding.default", "torch.embedding"},
      {"scaled_dot_product_attention.default", "torch.nn.functional.scaled_dot_product_attention"},
  };
  return table;
}

}  // namespace

PythonCall python_call(const std::string& op, bool on_tensor) {
  const auto found = op.starts_with("aten.") ? spellings().find(op.substr(5)) : spellings().end();
  static const std::set<std::string> factories = {"empty.memory_format", "empty_strided.default",
                                                  "zeros.default",       "ones.default",
                                                  "full.default",        "cat.default"};
  if (found == spellings().end() || !(on_tensor || factories.contains(found->first))) {
    return {"torch.ops." + op};
  }
  const std::string& name = found->second;
  return name.starts_with('.') ? PythonCall{name.substr(1), true} : PythonCall{name};
}

}  // namespace kw
