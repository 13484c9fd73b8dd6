#include "net/curl.h"

#include <dlfcn.h>

#include "formats/base/error.h"

namespace kw {

Curl load_curl(std::initializer_list<const char*> names) {
  void* library = nullptr;
  for (const char* name : names) {
    if (!library) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (!library) {
    throw EnvironmentError(
        "requests to a model need libcurl, and this machine has no libcurl.so.4; fix: apt-get "
        "install libcurl4, or put the folder that has it into LD_LIBRARY_PATH");
  }
  Curl out;
  const auto find = [&](const char* name, auto& function) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function) {
      throw EnvironmentError(std::string("the machine's libcurl is too old: it has no ") + name);
    }
  };
#define KW_FIND(name) find("curl_" #name, out.name);
  KW_CURL_FUNCTIONS(KW_FIND)
#undef KW_FIND
  if (out.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    throw EnvironmentError("libcurl does not start");
  }
  return out;
}

const Curl& curl() {
  static const Curl library = load_curl({"libcurl.so.4", "libcurl-gnutls.so.4"});
  return library;
}

}  // namespace kw
