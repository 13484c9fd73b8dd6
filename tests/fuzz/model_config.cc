// config.json files of decoders, adapter_config.json files of adapters to them.
#include "formats/model_folder.h"
#include "fuzz.h"
#include "model/config.h"

namespace kw {
namespace {

void check_adapter(std::string_view text) {
  const auto config = parsed([&] { return parse_adapter_config(text, "fuzz"); });
  if (!config) return;
  must(config->rank > 0 && !config->base.empty(), "an adapter has a rank and a base");
  const std::string written = to_json(*config, {"q_proj"}).dump();
  must(to_json(parse_adapter_config(written, "again"), {"q_proj"}).dump() == written,
       "what was read can be written and read again");
}

void check(std::string_view text) {
  const auto config = parsed([&] { return parse_model_config(text, "fuzz"); });
  if (!config) return;
  must(config->parameters() > 0, "a model has parameters");
  must(config->heads % config->kv_heads == 0, "queries share keys evenly");
  const std::string written = to_json(*config, "bfloat16").dump();
  must(to_json(parse_model_config(written, "again"), "bfloat16").dump() == written,
       "what was read can be written and read again");
}

}  // namespace
}  // namespace kw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kw::check(kw::text_of(data, size));
  kw::check_adapter(kw::text_of(data, size));
  return 0;
}
