// Results that outlive a run: JSON values and files by content address, in SQLite.
//
// A store is opened read-write, and created if it is missing. The constructor throws InputError if
// the path is no file, and EnvironmentError if no file can be made there; both name the path.
//
// A damaged store, or a full disk, does not end a run. From then on the store holds nothing and
// takes nothing, and fault() says why. The file is left as it is: it may be another file of the
// user's, named by mistake. Safe between processes (SQLite's locking); one thread each.
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
