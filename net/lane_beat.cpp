#include "net/lane_beat.hpp"

#include <boost/system/error_code.hpp>

namespace kvc::net {

void lane_beat::begin() {
  next_.expires_after(period_);
  next_.async_wait([this](const boost::system::error_code& ended) {
    if (ended) return;
    last_ = {last_[1], last_[2], clock::now()};
    begin();
  });
}

}  // namespace kvc::net
