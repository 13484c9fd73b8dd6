// The last step of lowering: a graph whose axes are leaves, without equal and without dead nodes.
#pragma once

#include "teacher/nodes/builder.h"

namespace kw::teacher {

// Finishes the builder's graph, whose outputs are known. Refusal if a value would be read along its
// diagonal.
void finish(Builder& b);

}  // namespace kw::teacher
