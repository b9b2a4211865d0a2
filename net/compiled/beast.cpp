// Boost.Beast's non-template code, compiled here and nowhere else.
#include <boost/beast/src.hpp>
