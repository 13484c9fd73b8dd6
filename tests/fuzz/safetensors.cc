// Headers of safetensors files.
#include "formats/safetensors.h"

#include "fuzz.h"

namespace kw {
namespace {

void check(std::string_view text) {
  const auto header = parsed([&] { return parse_safetensors(text, text.size(), "fuzz"); });
  if (!header) return;
  must(header->bytes <= text.size(), "the header is within the file");
  uint64_t covered = 0;
  for (const auto& [name, tensor] : header->tensors) {
    must(tensor.begin <= tensor.end, "no tensor ends before it begins");
    must(tensor.end <= text.size() - header->bytes, "every tensor is within the file");
    uint64_t elements = 1;
    for (const int64_t size : tensor.shape) elements *= static_cast<uint64_t>(size);
    must(elements * static_cast<uint64_t>(stored_element_bytes(tensor.dtype)) ==
             tensor.end - tensor.begin,
         "a tensor has the bytes of its shape");
    covered += tensor.end - tensor.begin;
  }
  must(covered == text.size() - header->bytes, "tensors cover the file once");
}

}  // namespace
}  // namespace kw

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kw::check(kw::text_of(data, size));
  return 0;
}
