// The behaviour suite, on the real index and on the strict model it is compared with elsewhere.
#include <tuple>

#include "tests/support/index_subjects.hpp"

namespace kvc::test {
using index_subjects = std::tuple<real_subject, model_subject>;
}  // namespace kvc::test

#include "tests/support/index_suite.hpp"
