#include "formats/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/json.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr uint64_t kMostHeader = uint64_t{100} << 20;  // as the format's own library
constexpr const char* kMetadata = "__metadata__";
constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

StoredTensor read_tensor(const JsonReader& in) {
  StoredTensor out;
  out.dtype = in.at("dtype").string();
  const int64_t element = stored_element_bytes(out.dtype);
  if (element == 0) in.at("dtype").fail("no type that is known: " + out.dtype.substr(0, 20));
  out.shape = in.at("shape").integers();
  uint64_t bytes = static_cast<uint64_t>(element);
  for (int64_t size : out.shape) {
    if (size < 0) in.at("shape").fail("a negative size");
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) {
      in.at("shape").fail("more elements than there can be");
    }
  }
  const std::vector<int64_t> offsets = in.at("data_offsets").integers();
  if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0]) {
    in.at("data_offsets").fail("expected a beginning and an end");
  }
  out.begin = static_cast<uint64_t>(offsets[0]);
  out.end = static_cast<uint64_t>(offsets[1]);
  if (out.end - out.begin != bytes) {
    in.at("data_offsets")
        .fail("spans " + std::to_string(out.end - out.begin) + " bytes, and " +
              std::to_string(bytes) + " are the tensor's");
  }
  return out;
}

// One behind the other, from the first byte to the last.
void check_gaps(const SafetensorsHeader& header, uint64_t data_bytes, const std::string& name) {
  std::vector<std::pair<uint64_t, uint64_t>> spans;
  for (const auto& [key, tensor] : header.tensors) spans.emplace_back(tensor.begin, tensor.end);
  std::sort(spans.begin(), spans.end());
  uint64_t at = 0;
  for (const auto& [begin, end] : spans) {
    if (begin != at) {
      throw InputError(name + ": tensors " + (begin < at ? "overlap" : "leave a gap") +
                       " at byte " + std::to_string(std::min(begin, at)) + " of the elements");
    }
    at = end;
  }
  if (at != data_bytes) {
    throw InputError(name + ": holds " + std::to_string(data_bytes) + " bytes of elements where " +
                     std::to_string(at) + " are the tensors' (is it cut off?)");
  }
}

std::string header_text(const std::vector<TensorToStore>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  Json header = Json::object();
  uint64_t at = 0;
  for (const TensorToStore& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {at, at + tensor.bytes.size()}}};
    at += tensor.bytes.size();
  }
  if (!metadata.empty()) header[kMetadata] = metadata;
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that elements are aligned
  return text;
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name[0] != '.';
}

}  // namespace

int64_t stored_element_bytes(std::string_view dtype) {
  static const std::map<std::string_view, int64_t> table = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
      {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  const auto found = table.find(dtype);
  return found == table.end() ? 0 : found->second;
}

SafetensorsHeader parse_safetensors(std::string_view start, uint64_t file_bytes,
                                    const std::string& name) {
  uint64_t length = 0;
  if (start.size() < sizeof(length) || file_bytes < sizeof(length)) {
    throw InputError(name + ": is no safetensors file: it is too short");
  }
  std::memcpy(&length, start.data(), sizeof(length));
  if (length > kMostHeader || length > file_bytes - sizeof(length) ||
      length > start.size() - sizeof(length)) {
    throw InputError(name + ": is no safetensors file: its header would have " +
                     std::to_string(length) + " bytes");
  }
  const Json json = parse_json(start.substr(sizeof(length), length), name);
  SafetensorsHeader out;
  out.bytes = sizeof(length) + length;
  for (const auto& [key, member] : JsonReader(json, name).members()) {
    if (key != kMetadata) {
      out.tensors.emplace(key, read_tensor(member));
      continue;
    }
    for (const auto& [what, text] : member.members()) out.metadata[what] = text.string();
  }
  check_gaps(out, file_bytes - out.bytes, name);
  return out;
}

struct SafetensorsFile::Mapping {
  const char* start = nullptr;
  uint64_t bytes = 0;

  explicit Mapping(const fs::path& path) {
    check_in_file(path);  // opening a FIFO waits for another process
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about {};
    if (file < 0 || fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
      if (file >= 0) close(file);
      throw InputError(path.string() + ": cannot be read (is it there?)");
    }
    bytes = static_cast<uint64_t>(about.st_size);
    void* found = bytes == 0 ? nullptr : mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (found == MAP_FAILED) throw EnvironmentError(path.string() + ": cannot be mapped");
    start = static_cast<const char*>(found);
  }
  ~Mapping() {
    if (start) munmap(const_cast<char*>(start), bytes);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
};

SafetensorsFile::SafetensorsFile(const fs::path& path)
    : mapping_(std::make_shared<Mapping>(path)),
      header_(
          parse_safetensors({mapping_->start, mapping_->bytes}, mapping_->bytes, path.string())) {}

std::string_view SafetensorsFile::bytes(const StoredTensor& tensor) const {
  return {mapping_->start + header_.bytes + tensor.begin, tensor.end - tensor.begin};
}

void write_safetensors(const fs::path& path, const std::vector<TensorToStore>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  const std::string header = header_text(tensors, metadata);
  const uint64_t length = header.size();
  const fs::path part = path.string() + ".part";
  {
    std::ofstream out(part, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(&length), sizeof(length));
    out << header;
    for (const TensorToStore& tensor : tensors) out << tensor.bytes;
    if (!out.flush()) throw EnvironmentError(path.string() + ": cannot be written (disk full?)");
  }
  fs::rename(part, path);
}

Checkpoint::Checkpoint(const fs::path& folder) : where_(folder.string()) {
  if (!fs::exists(folder / kIndex)) {
    files_.emplace_back(folder / kSingle);
    for (const auto& [name, tensor] : files_[0].header().tensors) file_of_[name] = 0;
    return;
  }
  const std::string path = (folder / kIndex).string();
  const Json index = parse_json(read_file(path), path);
  std::map<std::string, size_t> known;
  for (const auto& [name, shard] : JsonReader(index, path).at("weight_map").members()) {
    const std::string& file = shard.string();
    if (!is_plain_name(file)) shard.fail("expected the name of a file in the same folder");
    const auto [it, fresh] = known.emplace(file, files_.size());
    if (fresh) files_.emplace_back(folder / file);
    if (!files_[it->second].header().tensors.contains(name)) {
      shard.fail("there is no " + name.substr(0, 200) + " in " + file);
    }
    file_of_[name] = it->second;
  }
}

std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> out;
  for (const auto& [name, file] : file_of_) out.push_back(name);
  return out;
}

Checkpoint::Found Checkpoint::at(const std::string& name) const {
  const auto it = file_of_.find(name);
  if (it == file_of_.end()) throw InputError(where_ + ": has no tensor " + name);
  const SafetensorsFile& file = files_[it->second];
  const StoredTensor& tensor = file.header().tensors.at(name);
  return {tensor, file.bytes(tensor)};
}

void write_checkpoint(const fs::path& folder, const std::vector<TensorToStore>& tensors,
                      uint64_t shard_bytes, const std::map<std::string, std::string>& metadata) {
  std::vector<std::vector<TensorToStore>> shards;
  uint64_t filled = 0, total = 0;
  for (const TensorToStore& tensor : tensors) {
    if (shards.empty() || (filled > 0 && filled + tensor.bytes.size() > shard_bytes)) {
      shards.emplace_back();
      filled = 0;
    }
    shards.back().push_back(tensor);
    filled += tensor.bytes.size();
    total += tensor.bytes.size();
  }
  if (shards.size() <= 1) {
    write_safetensors(folder / kSingle, tensors, metadata);
    fs::remove(folder / kIndex);
    return;
  }
  Json map = Json::object();
  for (size_t i = 0; i < shards.size(); ++i) {
    char name[64];
    std::snprintf(name, sizeof(name), "model-%05zu-of-%05zu.safetensors", i + 1, shards.size());
    write_safetensors(folder / name, shards[i], metadata);
    for (const TensorToStore& tensor : shards[i]) map[tensor.name] = name;
  }
  const Json index = {{"metadata", {{"total_size", total}}}, {"weight_map", map}};
  std::ofstream out(folder / kIndex, std::ios::trunc);
  if (!(out << index.dump(2) << "\n").flush()) {
    throw EnvironmentError((folder / kIndex).string() + ": cannot be written (disk full?)");
  }
}

}  // namespace kw
