// What numbers flags take, one check for each type. CLI11's own lets "-1" pass as a large whole
// number, and "nan" as one that is in every range.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace kw {

// Decimal digits alone, both ends included.
CLI::Validator whole_number(uint64_t low, uint64_t high);
// A finite number, both ends included.
CLI::Validator real_number(double low, double high);

// Adds --seed, of any 64 bits.
CLI::Option* add_seed_flag(CLI::App& app, uint64_t& value, const char* help);
// Adds the --seed of a command that judges. The value stays empty if it is not given, and
// seed_or_secret() then draws one. `more` follows in the help.
CLI::Option* add_judging_seed_flag(CLI::App& app, std::optional<uint64_t>& value,
                                   const std::string& more = "");
// Returns the seed that was given, 0 too, or a secret one.
uint64_t seed_or_secret(const std::optional<uint64_t>& given);

// Returns the seconds of a user's "60s", "5m" or "1h", of 30 days at most. InputError with the
// flag's name for any other text.
double parse_seconds(const std::string& flag, const std::string& text);

}  // namespace kw
