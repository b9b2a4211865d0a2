#include "net/errc.hpp"

#include <string>

namespace kvc::net {
namespace {

class category final : public boost::system::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "kvc.net"; }
  [[nodiscard]] std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::timed_out: return "the other party did not answer before the deadline";
      case errc::cancelled: return "cancelled";
      case errc::would_block: return "nothing can be read or written right now";
      case errc::closed: return "the socket is closed";
      case errc::invalid_endpoint: return "not an endpoint; expected tcp://host:port or ipc://path";
      case errc::address_in_use: return "the address is in use";
      case errc::bad_frame_count: return "the message has the wrong number of frames";
      case errc::bad_seqno_frame: return "the sequence frame is not 8 bytes";
      case errc::message_too_large: return "the message is over the size limit";
      case errc::malformed_msgpack: return "malformed or truncated MessagePack";
      case errc::nested_too_deep: return "MessagePack containers are nested too deep";
      case errc::not_a_batch: return "the payload is not an event batch";
      case errc::too_many_elements: return "a list is longer than the limit";
      case errc::draining: return "the service is shutting down";
      case errc::malformed_dump: return "the bytes are no dump of a known version, or are cut short";
      case errc::overloaded: return "a limit is reached; try again later";
      case errc::not_understood: return "the other party's answer is not understood";
    }
    return "unknown error";
  }
};

}  // namespace

const boost::system::error_category& net_category() noexcept {
  static const category instance;
  return instance;
}

error_code make_error_code(errc value) noexcept {
  return {static_cast<int>(value), net_category()};
}

}  // namespace kvc::net
