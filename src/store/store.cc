#include "store/store.h"

#include <sqlite3.h>

#include <cstdlib>

#include "formats/error.h"

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

void bind_text(sqlite3_stmt* statement, int index, const std::string& text) {
  sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

}  // namespace

Store::Store(const fs::path& path) : path_(path) {
  std::error_code ignored;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
  constexpr const char* kSchema =
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
      "CREATE TABLE IF NOT EXISTS results (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT "
      "ROWID;";
  bool open = sqlite3_open(path.c_str(), &db_) == SQLITE_OK;
  if (open) sqlite3_busy_timeout(db_, 10000);
  open = open && sqlite3_exec(db_, kSchema, nullptr, nullptr, nullptr) == SQLITE_OK;
  if (open) return;
  const std::string fault = fault_text("open");
  sqlite3_close(db_);
  throw EnvironmentError(fault);
}

Store::~Store() { sqlite3_close(db_); }

std::string Store::fault_text(const std::string& what) const {
  const std::string reason = db_ ? sqlite3_errmsg(db_) : "out of memory";
  return "cannot " + what + " the store " + path_.string() + ": " + reason +
         " (--store PATH or KERNELWRIGHT_STORE names another place)";
}

std::optional<Json> Store::get(const std::string& key) const {
  if (!fault_.empty()) return std::nullopt;
  Statement select(db_, "SELECT value FROM results WHERE key = ?");
  if (select.get()) bind_text(select.get(), 1, key);
  const int status = select.get() ? sqlite3_step(select.get()) : SQLITE_ERROR;
  if (status != SQLITE_ROW) {
    if (status != SQLITE_DONE) fault_ = fault_text("read");
    return std::nullopt;
  }
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(select.get(), 0));
  const int bytes = sqlite3_column_bytes(select.get(), 0);
  try {
    return parse_json(std::string_view(text, bytes), "store entry");
  } catch (const InputError&) {
    return std::nullopt;  // damaged: it will be made again
  }
}

void Store::put(const std::string& key, const Json& value) {
  if (!fault_.empty()) return;
  Statement insert(db_, "INSERT OR REPLACE INTO results VALUES (?, ?)");
  if (insert.get()) {
    bind_text(insert.get(), 1, key);
    bind_text(insert.get(), 2, value.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (sqlite3_step(insert.get()) == SQLITE_DONE) return;
  }
  fault_ = fault_text("write");
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
