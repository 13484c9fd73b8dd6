// The client's side of TLS, as a filter: what came goes in, what is to be sent comes out; sockets
// are the caller's. It is OpenSSL's, from the machine's own libssl, which is looked for when the
// first https:// address is used: so no header or archive of it is needed to build, and it is as
// current as the machine keeps it. Certificates are checked, by the machine's authorities
// ($SSL_CERT_FILE and $SSL_CERT_DIR say otherwise). One thread for each session.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace kw {

class TlsSession {
 public:
  // With `host`, a name or an address. EnvironmentError when the machine has no OpenSSL.
  explicit TlsSession(const std::string& host);
  ~TlsSession();

  enum class State { kReady, kWantsMore, kEnded, kFailed };
  // Goes on until kReady; then write() and read() may be called.
  State handshake();
  State write(std::string_view plain);
  // Appends what has come to `plain`.
  State read(std::string& plain);

  void received(std::string_view cipher);
  std::string to_send();  // nothing when it is empty; handed over once
  const std::string& fault() const { return fault_; }

 private:
  State after(int result);

  void* ssl_ = nullptr;
  void* in_ = nullptr;  // of ssl_
  void* out_ = nullptr;
  std::string fault_;
};

}  // namespace kw
