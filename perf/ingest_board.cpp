#include "perf/ingest_board.hpp"

#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <time.h>

namespace kvc::perf {

shared_board::shared_board() : board_(nullptr) {
  void* const memory = ::mmap(nullptr, sizeof(ingest_board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  board_ = new (memory) ingest_board;
}

shared_board::~shared_board() {
  board_->~ingest_board();
  ::munmap(board_, sizeof(ingest_board));
}

void ingest_nap(std::chrono::microseconds length) {
  const timespec wanted{.tv_sec = length.count() / 1'000'000, .tv_nsec = length.count() % 1'000'000 * 1'000};
  ::nanosleep(&wanted, nullptr);
}

void give_up_waiting(std::string_view what) {
  throw std::runtime_error("waited in vain for " + std::string(what));
}

}  // namespace kvc::perf
