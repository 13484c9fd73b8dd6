#include "store/store.h"

#include <sqlite3.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "formats/base/error.h"
#include "formats/base/read_file.h"
#include "formats/base/sha256.h"

namespace kw {
namespace {

namespace fs = std::filesystem;

// A prepared statement that frees itself.
class Statement {
 public:
  Statement(sqlite3* db, const char* sql) {
    if (sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr) != SQLITE_OK) statement_ = nullptr;
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  sqlite3_stmt* get() const { return statement_; }

 private:
  sqlite3_stmt* statement_ = nullptr;
};

void bind(sqlite3_stmt* statement, int index, const std::string& value) {
  sqlite3_bind_text64(statement, index, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

constexpr size_t kHashSize = 64;  // of the bytes of a file, before them
constexpr int kPatienceMs = 10000;

// A change of the journal's mode does not wait for others that open the same file.
int execute_patiently(sqlite3* db, const char* sql) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatienceMs);
  while (true) {
    const int status = sqlite3_exec(db, sql, nullptr, nullptr, nullptr);
    if (status != SQLITE_BUSY || std::chrono::steady_clock::now() > end) return status;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

Store::Store(const fs::path& path) : path_(path) {
  std::error_code ignored;
  const fs::file_type type = fs::status(path, ignored).type();
  if (type != fs::file_type::regular && fs::exists(fs::file_status(type))) {
    refuse_type(path, type, "a store's file",
                " (--store PATH or KERNELWRIGHT_STORE names another place)");
  }
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
  constexpr const char* kSchema =
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
      "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT "
      "ROWID;"
      "CREATE TABLE IF NOT EXISTS files (key TEXT PRIMARY KEY, value BLOB NOT NULL);";
  bool open = sqlite3_open(path.c_str(), &db_) == SQLITE_OK;
  if (open) sqlite3_busy_timeout(db_, kPatienceMs);
  open = open && execute_patiently(db_, kSchema) == SQLITE_OK;
  if (open) return;
  const int code = sqlite3_errcode(db_);
  fault_ = fault_text("open");
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) return;  // damaged: the run goes on
  sqlite3_close(db_);
  throw EnvironmentError(fault_);
}

Store::~Store() { sqlite3_close(db_); }

std::string Store::fault_text(const std::string& what) const {
  const std::string reason = db_ ? sqlite3_errmsg(db_) : "out of memory";
  return "cannot " + what + " the store " + path_.string() + ": " + reason +
         " (--store PATH or KERNELWRIGHT_STORE names another place)";
}

// A blob column holds text as well, byte for byte.
std::optional<std::string> Store::read(const char* select, const std::string& key) const {
  if (!fault_.empty()) return std::nullopt;
  Statement statement(db_, select);
  if (statement.get()) bind(statement.get(), 1, key);
  const int status = statement.get() ? sqlite3_step(statement.get()) : SQLITE_ERROR;
  if (status != SQLITE_ROW) {
    if (status != SQLITE_DONE) fault_ = fault_text("read");
    return std::nullopt;
  }
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement.get(), 0));
  return std::string(bytes ? bytes : "", sqlite3_column_bytes(statement.get(), 0));
}

void Store::write(const char* insert, const std::string& key, const std::string& value) {
  if (!fault_.empty()) return;
  Statement statement(db_, insert);
  if (statement.get()) {
    bind(statement.get(), 1, key);
    bind(statement.get(), 2, value);
    if (sqlite3_step(statement.get()) == SQLITE_DONE) return;
  }
  fault_ = fault_text("write");
}

std::optional<Json> Store::get(const std::string& key) const {
  const auto text = read("SELECT value FROM results WHERE key = ?", key);
  if (!text) return std::nullopt;
  try {
    return parse_json(*text, "store entry");
  } catch (const InputError&) {
    return std::nullopt;  // damaged: it will be made again
  }
}

void Store::put(const std::string& key, const Json& value) {
  write("INSERT OR REPLACE INTO results VALUES (?, ?)", key,
        value.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::optional<std::string> Store::get_bytes(const std::string& key) const {
  auto checked = read("SELECT value FROM files WHERE key = ?", key);
  if (!checked || checked->size() < kHashSize) return std::nullopt;
  std::string bytes = checked->substr(kHashSize);
  if (sha256_hex(bytes) != checked->substr(0, kHashSize)) return std::nullopt;
  return bytes;
}

void Store::put_bytes(const std::string& key, const std::string& bytes) {
  write("INSERT OR REPLACE INTO files VALUES (?, ?)", key, sha256_hex(bytes) + bytes);
}

fs::path default_store_path() {
  if (const char* path = std::getenv("KERNELWRIGHT_STORE"); path && *path) return path;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) {
    return fs::path(cache) / "kernelwright" / "store.sqlite";
  }
  const char* home = std::getenv("HOME");
  return fs::path(home && *home ? home : "/tmp") / ".cache" / "kernelwright" / "store.sqlite";
}

}  // namespace kw
