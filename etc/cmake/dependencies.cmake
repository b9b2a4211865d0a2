# Finds every third-party library and wraps each in a system-include target, so that our warnings stay ours.
# A header-only package unpacked by etc/setup (see there) is looked for under build/deps first.
list(APPEND CMAKE_PREFIX_PATH "${CMAKE_SOURCE_DIR}/build/deps/usr")
find_package(Threads REQUIRED)
# Boost's own package description, not the module of CMake that 3.30 declared obsolete; before that the module asks the description first,
# too.
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)
endif()
find_package(Boost 1.81 REQUIRED)
find_package(TBB REQUIRED)
find_package(spdlog REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ZMQ REQUIRED IMPORTED_TARGET libzmq)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
find_path(KVC_CPPZMQ_INCLUDE zmq.hpp REQUIRED)
find_path(KVC_MSGPACK_INCLUDE msgpack.hpp REQUIRED HINTS "${CMAKE_SOURCE_DIR}/build/deps/usr/include")

add_library(kvc_boost INTERFACE)
target_link_libraries(kvc_boost INTERFACE Boost::headers Threads::Threads)
target_compile_definitions(kvc_boost INTERFACE
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_BEAST_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_BOOST_COROUTINE
  BOOST_JSON_NO_LIB BOOST_ALL_NO_LIB)

add_library(kvc_xxhash INTERFACE)
target_link_libraries(kvc_xxhash INTERFACE PkgConfig::XXHASH)
# Distributions build it for x86-64 with a choice of instructions at run time, and then install the header of that; elsewhere there is none.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES PkgConfig::XXHASH)
check_cxx_source_compiles("#include <xxh_x86dispatch.h>
int main() { return static_cast<int>(XXH3_64bits_dispatch(nullptr, 0)); }" KVC_HAS_XXHASH_DISPATCH)
unset(CMAKE_REQUIRED_LIBRARIES)
if(KVC_HAS_XXHASH_DISPATCH)
  target_compile_definitions(kvc_xxhash INTERFACE KVC_XXHASH_DISPATCH)
endif()
add_library(kvc_zmq INTERFACE)
target_include_directories(kvc_zmq SYSTEM INTERFACE ${KVC_CPPZMQ_INCLUDE})
target_link_libraries(kvc_zmq INTERFACE PkgConfig::ZMQ)
add_library(kvc_msgpack INTERFACE)
target_include_directories(kvc_msgpack SYSTEM INTERFACE ${KVC_MSGPACK_INCLUDE})
target_compile_definitions(kvc_msgpack INTERFACE MSGPACK_NO_BOOST)
add_library(kvc_spdlog INTERFACE)
target_link_libraries(kvc_spdlog INTERFACE spdlog::spdlog)
add_library(kvc_prometheus INTERFACE)
target_link_libraries(kvc_prometheus INTERFACE prometheus-cpp::core)
add_library(kvc_systemd INTERFACE)
target_link_libraries(kvc_systemd INTERFACE PkgConfig::SYSTEMD)
