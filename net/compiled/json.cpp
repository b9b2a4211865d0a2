// Boost.JSON, compiled here and nowhere else, so that no packaged binary of another Boost version is needed.
#include <boost/json/src.hpp>
