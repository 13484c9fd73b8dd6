// Requests over a socket of the file system that nobody answers.
#include "net/http.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "worker/process/unique_fd.h"
#include "worker/test_folder.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;

TEST(HttpTransport, WhatIsNotWantedAnyMoreIsNotWaitedFor) {
  const TestFolder folder;
  const std::string path = (folder.path() / "socket").string();
  const UniqueFd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  ASSERT_EQ(::bind(server.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0);
  ASSERT_EQ(::listen(server.get(), 4), 0);  // and never answers

  const auto transport = make_unix_transport(path);
  const Url url = parse_url("http://localhost/");
  int looks = 0;
  const Clock::time_point begin = Clock::now();
  HttpResult found = transport->post(url, {}, "{}", begin + std::chrono::seconds(60),
                                     [&](const HttpHead& head, std::string_view bytes) {
                                       EXPECT_EQ(head.status, 0);
                                       EXPECT_EQ(bytes, "");
                                       return ++looks < 3;
                                     });
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(30));
  EXPECT_EQ(looks, 3);
  EXPECT_EQ(found.fault, "");
  EXPECT_FALSE(found.late);

  found = transport->post(url, {}, "{}", Clock::now() + std::chrono::milliseconds(250),
                          [](const HttpHead&, std::string_view) { return true; });
  EXPECT_TRUE(found.late);
}

}  // namespace
}  // namespace kw
