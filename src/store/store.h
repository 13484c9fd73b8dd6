// Results that outlive a run: a table of JSON values by content address, in SQLite.
//
// Opened read-write and created when missing; a store that cannot be opened or is damaged is
// EnvironmentError with the path. Safe between processes (SQLite's locking); one thread each.
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

 private:
  [[noreturn]] void fail(const std::string& what) const;
  std::filesystem::path path_;
  sqlite3* db_ = nullptr;
};

// $KERNELWRIGHT_STORE, else $XDG_CACHE_HOME/kernelwright/store.sqlite, else the same under
// ~/.cache.
std::filesystem::path default_store_path();

}  // namespace kw
