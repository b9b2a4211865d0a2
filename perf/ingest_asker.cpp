#include "perf/ingest_asker.hpp"

#include <algorithm>
#include <cmath>
#include <sys/prctl.h>

#include "net/short_slices.hpp"
#include "perf/bench_caller.hpp"
#include "perf/ingest_board.hpp"
#include "perf/ingest_process.hpp"

namespace kvc::perf {

std::vector<std::string> ingest_questions(const std::vector<std::vector<std::uint32_t>>& prompts) {
  std::vector<std::string> questions;
  for (const auto& prompt : prompts) {
    std::string body = R"({"model":"bench","block_size":16,"token_ids":[)";
    for (std::size_t i = 0; i < prompt.size(); ++i) body += (i == 0 ? "" : ",") + std::to_string(prompt[i]);
    body += "]}";
    questions.push_back("POST /query HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: " +
                        std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  return questions;
}

std::vector<std::uint32_t> ask_at_rate(std::uint16_t port, const std::vector<std::string>& questions, double rate,
                                       const std::function<bool()>& is_over) {
  ::prctl(PR_SET_TIMERSLACK, 1);
  // It shares the CPU of the publisher, which must not stand between an answer and the clock.
  if (!go_first()) net::ask_for_slices(net::shortest_slice);
  bench_caller server(port);
  std::vector<std::uint32_t> took;
  const std::int64_t start = ingest_now();
  for (std::size_t i = 0; !is_over(); ++i) {
    const std::int64_t due = start + std::llround(static_cast<double>(i) * 1e9 / rate);
    if (const std::int64_t ahead = due - ingest_now(); ahead > 1'000) ingest_nap(std::chrono::microseconds(ahead / 1'000));
    server.call(questions[i % questions.size()]);
    took.push_back(static_cast<std::uint32_t>(std::clamp<std::int64_t>(ingest_now() - due, 0, 4'000'000'000)));
  }
  return took;
}

}  // namespace kvc::perf
