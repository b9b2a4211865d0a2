#include "core/errc.hpp"

#include <string>

namespace kvc::core {
namespace {

class category final : public boost::system::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "kvc.core"; }
  [[nodiscard]] std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::seed_conflict: return "the partition already exists under another hash seed";
      case errc::workers_exhausted: return "every worker number has been given out; restart the service";
      case errc::service_not_found: return "no registered publisher matches";
      case errc::hash_not_hex: return "the chunk hash is not a row of hexadecimal byte pairs";
      case errc::hash_too_long: return "the chunk hash is longer than 2,048 bytes";
      case errc::model_not_allowed: return "the model name must not contain '@'";
      case errc::model_too_long: return "the model name is longer than 4,096 bytes";
      case errc::salt_not_allowed: return "the cache salt must not contain '@', '/', '\\' or NUL";
      case errc::salt_too_long: return "the cache salt is longer than 128 characters";
      case errc::keys_exhausted: return "as many keys are tracked as this coordinator may track";
      case errc::object_too_large: return "an object of so many bytes is beyond what can be counted";
      case errc::quota_limit_invalid: return "invalid quota limit";
      case errc::quotas_exhausted: return "as many quotas are kept as this coordinator may keep";
      case errc::servers_exhausted: return "as many MP servers are registered as this coordinator may know";
      case errc::malformed_dump: return "the records of the dump do not fit together";
    }
    return "unknown error";
  }
};

}  // namespace

const boost::system::error_category& core_category() noexcept {
  static const category instance;
  return instance;
}

error_code make_error_code(errc value) noexcept {
  return {static_cast<int>(value), core_category()};
}

}  // namespace kvc::core
