#include "net/tls.h"

#include <arpa/inet.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>

#include "formats/base/error.h"

namespace kw {
namespace {

// The part of OpenSSL's interface that is used; its values are the same in 1.1.1 and all of 3.
constexpr int kVerifyPeer = 1, kSetHostName = 55, kSetLeastVersion = 123;
constexpr long kTls12 = 0x0303;
constexpr int kErrorSsl = 1, kErrorWantRead = 2, kErrorWantWrite = 3, kErrorZeroReturn = 6;

struct OpenSsl {
  const void* (*TLS_client_method)();
  void* (*SSL_CTX_new)(const void*);
  int (*SSL_CTX_set_default_verify_paths)(void*);
  int (*SSL_CTX_load_verify_locations)(void*, const char*, const char*);
  void (*SSL_CTX_set_verify)(void*, int, void*);
  long (*SSL_CTX_ctrl)(void*, int, long, void*);
  void* (*SSL_new)(void*);
  void (*SSL_free)(void*);
  void (*SSL_set_connect_state)(void*);
  void (*SSL_set_bio)(void*, void*, void*);
  long (*SSL_ctrl)(void*, int, long, void*);
  int (*SSL_set1_host)(void*, const char*);
  void* (*SSL_get0_param)(void*);
  int (*SSL_do_handshake)(void*);
  int (*SSL_read)(void*, void*, int);
  int (*SSL_write)(void*, const void*, int);
  int (*SSL_get_error)(const void*, int);
  long (*SSL_get_verify_result)(const void*);
  int (*X509_VERIFY_PARAM_set1_ip_asc)(void*, const char*);
  const char* (*X509_verify_cert_error_string)(long);
  const void* (*BIO_s_mem)();
  void* (*BIO_new)(const void*);
  int (*BIO_read)(void*, void*, int);
  int (*BIO_write)(void*, const void*, int);
  unsigned long (*ERR_get_error)();
  void (*ERR_clear_error)();
  void (*ERR_error_string_n)(unsigned long, char*, size_t);

  void* context = nullptr;

  OpenSsl();
};

template <class Function>
void find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  if (!out) throw EnvironmentError(std::string("the machine's libssl has no ") + name);
}

OpenSsl::OpenSsl() {
  void* library = nullptr;
  for (const char* name : {"libssl.so.3", "libssl.so.1.1", "libssl.so"}) {
    if (!library) library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (!library) {
    throw EnvironmentError(
        "https:// needs OpenSSL, and this machine has no libssl.so.3 or libssl.so.1.1; fix: "
        "apt-get install libssl3, or put the folder that has it into LD_LIBRARY_PATH");
  }
#define KW_FIND(name) find(library, #name, name)
  KW_FIND(TLS_client_method), KW_FIND(SSL_CTX_new), KW_FIND(SSL_CTX_set_default_verify_paths);
  KW_FIND(SSL_CTX_load_verify_locations), KW_FIND(SSL_CTX_set_verify), KW_FIND(SSL_CTX_ctrl);
  KW_FIND(SSL_new), KW_FIND(SSL_free), KW_FIND(SSL_set_connect_state), KW_FIND(SSL_set_bio);
  KW_FIND(SSL_ctrl), KW_FIND(SSL_set1_host), KW_FIND(SSL_get0_param), KW_FIND(SSL_do_handshake);
  KW_FIND(SSL_read), KW_FIND(SSL_write), KW_FIND(SSL_get_error), KW_FIND(SSL_get_verify_result);
  KW_FIND(X509_VERIFY_PARAM_set1_ip_asc), KW_FIND(X509_verify_cert_error_string);
  KW_FIND(BIO_s_mem), KW_FIND(BIO_new), KW_FIND(BIO_read), KW_FIND(BIO_write);
  KW_FIND(ERR_get_error), KW_FIND(ERR_clear_error), KW_FIND(ERR_error_string_n);
#undef KW_FIND
  context = SSL_CTX_new(TLS_client_method());
  if (!context) throw EnvironmentError("OpenSSL does not start");
  SSL_CTX_ctrl(context, kSetLeastVersion, kTls12, nullptr);
  SSL_CTX_set_verify(context, kVerifyPeer, nullptr);
  SSL_CTX_set_default_verify_paths(context);
  // An OpenSSL that is not the machine's own looks for authorities where there are none.
  if (!std::getenv("SSL_CERT_FILE") && !std::getenv("SSL_CERT_DIR")) {
    for (const char* bundle :
         {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"}) {
      SSL_CTX_load_verify_locations(context, bundle, nullptr);
    }
  }
}

const OpenSsl& open_ssl() {
  static const OpenSsl library;
  return library;
}

bool is_address(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

}  // namespace

TlsSession::TlsSession(const std::string& host) {
  const OpenSsl& lib = open_ssl();
  ssl_ = lib.SSL_new(lib.context);
  in_ = lib.BIO_new(lib.BIO_s_mem());
  out_ = lib.BIO_new(lib.BIO_s_mem());
  if (!ssl_ || !in_ || !out_) throw EnvironmentError("OpenSSL has no memory");
  lib.SSL_set_bio(ssl_, in_, out_);
  lib.SSL_set_connect_state(ssl_);
  if (is_address(host)) {
    lib.X509_VERIFY_PARAM_set1_ip_asc(lib.SSL_get0_param(ssl_), host.c_str());
  } else {
    lib.SSL_set1_host(ssl_, host.c_str());
    lib.SSL_ctrl(ssl_, kSetHostName, 0, const_cast<char*>(host.c_str()));
  }
}

TlsSession::~TlsSession() {
  if (ssl_) open_ssl().SSL_free(ssl_);
}

TlsSession::State TlsSession::after(int result) {
  const OpenSsl& lib = open_ssl();
  if (result > 0) return State::kReady;
  const int error = lib.SSL_get_error(ssl_, result);
  if (error == kErrorWantRead || error == kErrorWantWrite) return State::kWantsMore;
  if (error == kErrorZeroReturn) return State::kEnded;
  if (const long verified = lib.SSL_get_verify_result(ssl_); verified != 0) {
    fault_ = std::string("its certificate is not accepted: ") +
             lib.X509_verify_cert_error_string(verified);
  } else {
    char text[256] = "it was broken off";
    if (const unsigned long code = lib.ERR_get_error(); error == kErrorSsl && code) {
      lib.ERR_error_string_n(code, text, sizeof(text));
    }
    fault_ = std::string("TLS: ") + text;
  }
  return State::kFailed;
}

TlsSession::State TlsSession::handshake() {
  open_ssl().ERR_clear_error();
  return after(open_ssl().SSL_do_handshake(ssl_));
}

TlsSession::State TlsSession::write(std::string_view plain) {
  open_ssl().ERR_clear_error();
  while (!plain.empty()) {  // memory takes everything
    const int length = static_cast<int>(std::min<size_t>(plain.size(), 1 << 20));
    const int written = open_ssl().SSL_write(ssl_, plain.data(), length);
    if (written <= 0) return after(written);
    plain.remove_prefix(static_cast<size_t>(written));
  }
  return State::kReady;
}

TlsSession::State TlsSession::read(std::string& plain) {
  char bytes[16 << 10];
  for (;;) {
    open_ssl().ERR_clear_error();
    const int length = open_ssl().SSL_read(ssl_, bytes, sizeof(bytes));
    if (length <= 0) return after(length);
    plain.append(bytes, static_cast<size_t>(length));
  }
}

void TlsSession::received(std::string_view cipher) {
  if (!cipher.empty()) {
    open_ssl().BIO_write(in_, cipher.data(), static_cast<int>(cipher.size()));
  }
}

std::string TlsSession::to_send() {
  std::string out;
  char bytes[16 << 10];
  for (int n; (n = open_ssl().BIO_read(out_, bytes, sizeof(bytes))) > 0;) {
    out.append(bytes, static_cast<size_t>(n));
  }
  return out;
}

}  // namespace kw
