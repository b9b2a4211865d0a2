#include "net/aside.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#include <boost/system/system_error.hpp>

#include "net/errc.hpp"
#include "net/runtime.hpp"

namespace kvc::net {

aside_thread::aside_thread(runtime& lanes) : lanes_(&lanes) {
  lanes.keep(*this);
}

aside_thread::~aside_thread() {
  close();
  if (lanes_ != nullptr) lanes_->forget(*this);
  if (pool_) pool_->join();
}

void aside_thread::throw_closed() {
  throw boost::system::system_error(make_error_code(errc::cancelled));
}

asio::thread_pool::executor_type aside_thread::executor() {
  std::call_once(begun_, [this] {
    pool_.emplace(1);
    asio::post(*pool_, [] {
      constexpr int behind_lanes = 10;
      ::pthread_setname_np(::pthread_self(), "aside");
      // Long pieces of work, which never keep a lane from its CPU, not even where the process was started with real-time priority.
      const sched_param none{};
      static_cast<void>(::pthread_setschedparam(::pthread_self(), SCHED_BATCH, &none));
      static_cast<void>(::setpriority(PRIO_PROCESS, 0, behind_lanes));  // of this thread only, on Linux
    });
  });
  return pool_->get_executor();
}

}  // namespace kvc::net
