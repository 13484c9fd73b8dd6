// Tensors in safetensors files (https://huggingface.co/docs/safetensors). A file has eight bytes
// that say how long the header is, a header of JSON, and the elements of all tensors without gaps.
// Files are hostile input: if a header does not add up, it is refused before anything is read by
// it.
//
// A checkpoint is a folder with model.safetensors, or with model.safetensors.index.json and the
// shards that it names. Files are mapped: what is not read costs no memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kw {

struct StoredTensor {
  std::string dtype;           // as the format calls it: "F32", "BF16", "I64", ...
  std::vector<int64_t> shape;  // none for a single number
  uint64_t begin = 0;          // bytes, from the end of the header
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::map<std::string, StoredTensor> tensors;
  std::map<std::string, std::string> metadata;
  uint64_t bytes = 0;  // of length and header: where the elements begin
};

// Bytes of an element; 0 for what the format does not have.
int64_t stored_element_bytes(std::string_view dtype);

// `start` is the file's beginning, the whole header at least; `file_bytes` all there are; `name`
// for messages. InputError.
SafetensorsHeader parse_safetensors(std::string_view start, uint64_t file_bytes,
                                    const std::string& name);

class SafetensorsFile {
 public:
  // InputError.
  explicit SafetensorsFile(const std::filesystem::path& path);
  const SafetensorsHeader& header() const { return header_; }
  // Elements of one of the header's tensors, valid while this lives.
  std::string_view bytes(const StoredTensor& tensor) const;

 private:
  struct Mapping;
  std::shared_ptr<const Mapping> mapping_;
  SafetensorsHeader header_;
};

struct TensorToStore {
  std::string name, dtype;
  std::vector<int64_t> shape;
  std::string_view bytes;
};
// Whole or not at all. EnvironmentError where the disk refuses.
void write_safetensors(const std::filesystem::path& path, const std::vector<TensorToStore>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

class Checkpoint {
 public:
  struct Found {
    const StoredTensor& tensor;
    std::string_view bytes;
  };
  // InputError where the folder has none, or shards do not have what the index says.
  explicit Checkpoint(const std::filesystem::path& folder);
  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return file_of_.contains(name); }
  Found at(const std::string& name) const;  // InputError where there is none of this name

 private:
  std::string where_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, size_t> file_of_;
};

// The same, in shards of at most so many bytes of elements (a larger tensor is a shard by itself);
// one file where it fits.
void write_checkpoint(const std::filesystem::path& folder,
                      const std::vector<TensorToStore>& tensors, uint64_t shard_bytes,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace kw
