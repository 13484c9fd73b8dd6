// Parquet files, which pyarrow writes in the interpreter that workers run under. Any thread may
// call.
#pragma once

#include <filesystem>

namespace kw {

// Throws EnvironmentError if that interpreter has no pyarrow.
void check_parquet();

// Writes `rows`, a file of JSON objects with one on each line, as a Parquet file. Throws
// EnvironmentError with pyarrow's message if it cannot be written.
void write_parquet(const std::filesystem::path& rows, const std::filesystem::path& out);

}  // namespace kw
