// Which names, options and types of a Task may be written into Python: the writer of optimized.py
// pastes none unchecked. A Task may have been made of a stranger's file. Pure functions; those that
// return text throw InputError for what they do not accept.
#pragma once

#include <string>
#include <string_view>

#include "formats/json.h"
#include "program/program.h"

namespace kw {

// Returns whether `word` is a keyword of Python.
bool is_keyword(std::string_view word);

// Returns whether `text` is one word of Python that is no keyword and does not begin with two
// underscores. Letters outside of ASCII count, as Python refuses those that no name may have.
bool is_word(std::string_view text);

// Returns whether the text that the writer adds uses `name`: for a module, a builtin, a local
// variable or a function. Nothing of a Task may give such a name another meaning.
bool is_used_by_writer(std::string_view name);

// Returns the name of a class that the text calls: an identifier of ASCII characters that the
// writer does not use.
const std::string& checked_class(const std::string& name);
// Returns the name of the class that the text derives from, which may be called ModelNew too.
const std::string& checked_base(const std::string& name);

// Returns a name that is written before "=" in a call: a field, or a parameter of a kernel.
std::string checked_keyword(std::string_view name);

// Returns the name of a property of torch.cuda.get_device_properties().
const std::string& checked_property(const std::string& name);

// Returns "num_warps=4" for an option of docs/formats/task.md whose value is in its range.
std::string checked_option(const std::string& name, const Json& value);

// Returns "[16, 32]" for the type "tensordesc<fp32[16, 32]>".
std::string descriptor_block(const std::string& type);

// Returns how many dimensions a block of descriptor_block() has.
size_t block_rank(std::string_view block);

// Return names that torch has.
const std::string& checked_layout(const LayoutArg& layout);
const std::string& checked_memory_format(const MemoryFormatArg& format);

}  // namespace kw
