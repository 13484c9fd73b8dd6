// Parquet files, by pyarrow in the interpreter that workers run under. Any thread.
#pragma once

#include <filesystem>

namespace kw {

// EnvironmentError where that interpreter has no pyarrow.
void check_parquet();

// `rows`, a file of JSON objects, one a line, as a Parquet file. EnvironmentError with what pyarrow
// says where it cannot be written.
void write_parquet(const std::filesystem::path& rows, const std::filesystem::path& out);

}  // namespace kw
