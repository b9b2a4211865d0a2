// A main() for fuzz targets where there is no libFuzzer: runs every file of the given folders, then seeded random mutations of them.
//
// Command line, a part of libFuzzer's: `-runs=N` mutated inputs (default 0), `-seed=S` (default 1), `-max_len=B` bytes per input (default
// 4096), and folders or files. Input i depends on S + i and the corpus only, so one failure is repeated by `-seed=S+i -runs=1`.
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Part of the sanitizers' runtime; absent in a build without them.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace {

using input = std::vector<std::uint8_t>;

struct options {
  std::uint64_t runs = 0;
  std::uint64_t seed = 1;
  std::uint64_t max_len = 4096;
  std::vector<std::string> paths;
};

// What is being run, for the message of a crash.
const char* current_file = nullptr;
std::uint64_t current_seed = 0;

void tell_what_failed() {
  if (current_file != nullptr) {
    std::fprintf(stderr, "fuzz: failed on file %s\n", current_file);
  } else {
    std::fprintf(stderr, "fuzz: failed on a mutation; repeat with -seed=%llu -runs=1\n", static_cast<unsigned long long>(current_seed));
  }
}

void on_abort(int) {
  tell_what_failed();
  std::signal(SIGABRT, SIG_DFL);
}

bool take_number(std::string_view argument, std::string_view name, std::uint64_t& value) {
  if (!argument.starts_with(name)) return false;
  const std::string_view digits = argument.substr(name.size());
  return std::from_chars(digits.data(), digits.data() + digits.size(), value).ec == std::errc();
}

options parse(int count, char** arguments) {
  options parsed;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const bool known = take_number(argument, "-runs=", parsed.runs) || take_number(argument, "-seed=", parsed.seed) ||
                       take_number(argument, "-max_len=", parsed.max_len);
    if (!known && argument.front() != '-') parsed.paths.emplace_back(argument);
  }
  return parsed;
}

/// Files in the order of their names, so that a seed means the same everywhere.
std::vector<std::string> files_in(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (std::filesystem::is_regular_file(path)) files.push_back(path);
    if (!std::filesystem::is_directory(path)) continue;
    std::vector<std::string> inside;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.is_regular_file()) inside.push_back(entry.path().string());
    }
    std::ranges::sort(inside);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

input read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Makes one input out of the corpus by a handful of random edits.
class mutator {
 public:
  mutator(const std::vector<input>& corpus, std::uint64_t seed, std::size_t max_len) : corpus_(&corpus), max_len_(max_len), random_(seed) {}

  input make() {
    input bytes = (*corpus_)[below(corpus_->size())];
    for (std::size_t edits = 1 + below(8); edits > 0; --edits) edit(bytes);
    if (bytes.size() > max_len_) bytes.resize(max_len_);
    return bytes;
  }

 private:
  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }
  std::uint8_t any_byte() { return static_cast<std::uint8_t>(random_()); }

  /// Lengths, signs and markers hide at the ends of the number range.
  std::uint8_t interesting_byte() {
    static constexpr std::uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0x90, 0x9f, 0xa0, 0xc0, 0xc1, 0xc4, 0xc6,
                                              0xc9, 0xcf, 0xd3, 0xdb, 0xdd, 0xdf, 0xe0, 0xff, '"',  '[',  ']',
                                              '{',  '}',  ',',  ':',  '-',  '.',  'e',  '\\', ' ',  '9'};
    return values[below(std::size(values))];
  }

  void edit(input& bytes) {
    const std::size_t at = below(bytes.size() + 1);
    const auto here = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t left = bytes.size() - at;
    switch (below(7)) {
      case 0:
        if (left > 0) *here = static_cast<std::uint8_t>(*here ^ (1U << below(8)));
        break;
      case 1:
        if (left > 0) *here = interesting_byte();
        break;
      case 2: bytes.insert(here, below(2) == 0 ? any_byte() : interesting_byte()); break;
      case 3: bytes.erase(here, here + static_cast<std::ptrdiff_t>(std::min(left, 1 + below(8)))); break;
      case 4: bytes.resize(at); break;
      case 5: repeat(bytes, at); break;
      default: splice(bytes, at); break;
    }
  }

  void repeat(input& bytes, std::size_t at) {
    const std::size_t length = std::min(bytes.size() - at, 1 + below(32));
    const input piece(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(at + length));
    bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), piece.begin(), piece.end());
  }

  void splice(input& bytes, std::size_t at) {
    const input& other = (*corpus_)[below(corpus_->size())];
    const std::size_t from = below(other.size() + 1);
    bytes.resize(at);
    bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
  }

  const std::vector<input>* corpus_;
  std::size_t max_len_;
  std::mt19937_64 random_;
};

}  // namespace

int main(int count, char** arguments) {
  const options wanted = parse(count, arguments);
  std::signal(SIGABRT, on_abort);
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(tell_what_failed);

  std::vector<input> corpus;
  const std::vector<std::string> files = files_in(wanted.paths);
  for (const std::string& path : files) {
    corpus.push_back(read_file(path));
    current_file = path.c_str();
    LLVMFuzzerTestOneInput(corpus.back().data(), corpus.back().size());
  }
  current_file = nullptr;
  if (corpus.empty()) corpus.emplace_back();
  for (std::uint64_t i = 0; i < wanted.runs; ++i) {
    current_seed = wanted.seed + i;
    const input made = mutator(corpus, current_seed, wanted.max_len).make();
    LLVMFuzzerTestOneInput(made.data(), made.size());
  }
  std::printf("fuzz: %zu files, %llu mutations, seed %llu\n", files.size(), static_cast<unsigned long long>(wanted.runs),
              static_cast<unsigned long long>(wanted.seed));
  return 0;
}
