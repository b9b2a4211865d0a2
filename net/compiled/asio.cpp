// Boost.Asio's non-template code, compiled here and nowhere else.
#include <boost/asio/impl/src.hpp>
