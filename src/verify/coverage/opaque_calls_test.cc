#include "verify/coverage/opaque_calls.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

AtenCall call(const std::string& op, std::map<std::string, Arg> args) {
  return {op, std::move(args), {1}, {}};
}

Task task(const std::vector<AtenCall>& calls, const std::vector<AtenCall>& derived = {}) {
  Task out;
  for (const AtenCall& each : calls) out.forward.steps.push_back(each);
  for (const AtenCall& each : derived) out.derive.steps.push_back(each);
  return out;
}

const Arg kX = {ValueRef{0}}, kY = {ValueRef{5}};

TEST(OpaqueCalls, AreThoseOfTheReference) {
  const AtenCall bins = call("aten.histc.default", {{"self", kX}, {"bins", {int64_t{8}}}});
  const AtenCall same = call("aten.histc.default", {{"self", kY}, {"bins", {int64_t{8}}}});
  const AtenCall more = call("aten.histc.default", {{"self", kX}, {"bins", {int64_t{9}}}});
  EXPECT_EQ(other_opaque_calls(task({bins}), task({same})), "");
  EXPECT_EQ(other_opaque_calls(task({bins}), task({}, {same})), "");
  EXPECT_EQ(other_opaque_calls(task({bins}), task({})), "");
  EXPECT_NE(other_opaque_calls(task({bins}), task({more})), "");
  EXPECT_NE(other_opaque_calls(task({bins}), task({bins, same})), "");
  EXPECT_NE(other_opaque_calls(task({bins}), task({bins}, {same})), "");
  EXPECT_NE(
      other_opaque_calls(task({}), task({bins})).find("aten.histc.default is called 1 time more"),
      std::string::npos);
}

TEST(OpaqueCalls, OfTheTableAreNobodysBusiness) {
  const AtenCall known = call("aten.relu.default", {{"self", kX}});
  EXPECT_EQ(other_opaque_calls(task({}), task({known, known})), "");
}

}  // namespace
}  // namespace kw
