// Results that outlive a run: JSON values and files by content address, in SQLite.
//
// Opened read-write and created when missing. What is there and is no file is an InputError, and a
// place where none can be made is an EnvironmentError, both with the path. One that is damaged, at
// once or later, or whose disk is full, ends nobody's work: from then on it holds nothing and takes
// nothing, and fault() says why. The file is left as it is: it may be somebody's own, named by
// mistake. Safe between processes (SQLite's locking); one thread each.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "formats/json.h"

struct sqlite3;

namespace kw {

class Store {
 public:
  explicit Store(const std::filesystem::path& path);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  std::optional<Json> get(const std::string& key) const;
  void put(const std::string& key, const Json& value);
  // The same for machine code and packages; bytes that were damaged are none.
  std::optional<std::string> get_bytes(const std::string& key) const;
  void put_bytes(const std::string& key, const std::string& bytes);
  const std::string& fault() const { return fault_; }  // one line; empty while all is well

 private:
  std::string fault_text(const std::string& what) const;
  std::optional<std::string> read(const char* select, const std::string& key) const;
  void write(const char* insert, const std::string& key, const std::string& value);
  std::filesystem::path path_;
  sqlite3* db_ = nullptr;
  mutable std::string fault_;
};

// $KERNELWRIGHT_STORE, else $XDG_CACHE_HOME/kernelwright/store.sqlite, else the same under
// ~/.cache.
std::filesystem::path default_store_path();

}  // namespace kw
