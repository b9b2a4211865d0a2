#include "perf/micro_json.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "net/answer_writer.hpp"
#include "net/request_document.hpp"
#include "perf/http_questions.hpp"
#include "perf/micro_library.hpp"
#include "perf/micro_timer.hpp"

namespace kvc::perf {
namespace {

std::string body_of(std::string_view workload) {
  const std::string request = http_questions({}, *find_http_workload(workload)).front();
  return request.substr(request.find("\r\n\r\n") + 4);
}

/// The same JSON, but with a letter of the first name written as an escape, which the plain reader leaves to the general one.
std::string less_plain(std::string body) {
  const std::string_view first = "\"model\"";
  return body.replace(body.find(first), first.size(), "\"\\u006dodel\"");
}

void add_reading(micro_rounds& to, const std::string& name, const std::string& body, net::wire_form form) {
  const auto document = std::make_shared<net::request_document>();
  to.add(name, [document, &body, form] {
    if (document->read(body, form, net::request_document::shape::single)) throw std::runtime_error("the reader refuses a request");
    micro_keep(*document);
  });
}

void take(const micro_rounds& from, bench_report& report) {
  for (const auto& [name, ns] : from.run()) report.add(name, ns);
}

void measure_reading(const micro_plan& plan, const std::string& name, const std::string& body, bench_report& report) {
  const std::string escaped = less_plain(body);
  std::string copy(body.size(), '\0');
  micro_rounds all(plan.milliseconds);
  add_reading(all, name + "_plain_ns", body, net::wire_form::json);
  add_reading(all, name + "_general_ns", escaped, net::wire_form::json);
  all.add(name + "_library_ns", [&] { micro_keep(library_json(body)); });
  all.add(name + "_copy_ns", [&] {
    std::memcpy(copy.data(), body.data(), body.size());
    micro_keep(copy[0]);
  });
  report.add(name + "_bytes", static_cast<double>(body.size()));
  take(all, report);
}

/// Rows as /query answers them.
void write_rows(net::answer_writer& out) {
  constexpr std::size_t rows = 64;
  out.object(1);
  out.key("default");
  out.object(rows);
  for (std::uint64_t row = 0; row < rows; ++row) {
    const std::uint64_t tokens = (row * 37) % 257 * 16;
    out.key("engine-" + std::to_string(row));
    out.object(5);
    out.plain_member("longest_matched", tokens);
    out.plain_member("GPU", tokens);
    out.key("DP");
    out.object(1);
    out.plain_member("0", tokens);
    out.end_object();
    out.plain_member("CPU", tokens);
    out.plain_member("DISK", 0);
    out.end_object();
  }
  out.end_object();
  out.end_object();
}

void write_answer(net::wire_form form, std::string& text) {
  text.clear();
  net::answer_writer out(text, form);
  write_rows(out);
}

}  // namespace

bench_report measure_json(const micro_plan& plan) {
  bench_report report;
  measure_reading(plan, "tokens_4096", body_of("query_json"), report);
  measure_reading(plan, "tokens_131072", body_of("query_long"), report);
  measure_reading(plan, "hashes_128", body_of("query_by_hash"), report);
  const std::string packed_body = body_of("query_msgpack");
  micro_rounds packed(plan.milliseconds);
  add_reading(packed, "tokens_4096_packed_ns", packed_body, net::wire_form::msgpack);
  take(packed, report);

  std::string text;
  write_answer(net::wire_form::json, text);
  report.add("answer_bytes", static_cast<double>(text.size()));
  const library_json_writer library(text);
  micro_rounds answers(plan.milliseconds);
  for (const auto& [name, form] :
       {std::pair{"answer_json_ns", net::wire_form::json}, std::pair{"answer_msgpack_ns", net::wire_form::msgpack}}) {
    answers.add(name, [&text, wanted = form] {
      write_answer(wanted, text);
      micro_keep(text);
    });
  }
  answers.add("answer_library_ns", [&library] { micro_keep(library.write()); });
  take(answers, report);
  return report;
}

}  // namespace kvc::perf
