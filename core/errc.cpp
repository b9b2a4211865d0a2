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

error_code make_error_code(errc value) noexcept { return {static_cast<int>(value), core_category()}; }

}  // namespace kvc::core
