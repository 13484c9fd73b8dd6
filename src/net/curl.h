// The machine's own libcurl, loaded when a request is first prepared. A host without it runs
// everything that makes no requests, and building needs curl's headers alone. Its TLS is as current
// as the machine keeps it. Any thread.
//
// Its users' programs ignore SIGPIPE: older versions let OpenSSL write to the socket itself, which
// raises this signal if the other side has closed it.
#pragma once

#include <curl/curl.h>

#include <initializer_list>

namespace kw {

// The functions that are used, by their names without `curl_`. Version 7.66 has them all.
struct Curl {
// clang-format off
#define KW_CURL_FUNCTIONS(KW) \
  KW(easy_cleanup) KW(easy_getinfo) KW(easy_init) KW(easy_setopt) KW(easy_strerror) \
  KW(free) KW(global_init) KW(multi_add_handle) KW(multi_cleanup) KW(multi_info_read) \
  KW(multi_init) KW(multi_perform) KW(multi_poll) KW(slist_append) KW(slist_free_all) \
  KW(url) KW(url_cleanup) KW(url_get) KW(url_set) KW(version)
// clang-format on
#define KW_DECLARE(name) decltype(&::curl_##name) name = nullptr;
  KW_CURL_FUNCTIONS(KW_DECLARE)
#undef KW_DECLARE
};

// Returns the library. Throws EnvironmentError when the machine has none.
const Curl& curl();
// Returns the first library of these names that there is, with the same error; for curl() and
// tests.
Curl load_curl(std::initializer_list<const char*> names);

}  // namespace kw
