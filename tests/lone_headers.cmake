# Every header is compiled alone, so that none leans on what its includers happen to include first: one generated source per header, built
# with everything else and therefore only again when something changed. The ctest entry tells the result by name.
file(GLOB_RECURSE KVC_HEADERS CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/core/*.hpp ${CMAKE_SOURCE_DIR}/net/*.hpp ${CMAKE_SOURCE_DIR}/app/*.hpp ${CMAKE_SOURCE_DIR}/perf/*.hpp
  ${CMAKE_SOURCE_DIR}/tests/*.hpp)
set(lone_sources)
foreach(header IN LISTS KVC_HEADERS)
  string(MAKE_C_IDENTIFIER ${header} name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/lone_headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
  list(APPEND lone_sources ${source})
endforeach()
add_library(kvc_lone_headers OBJECT ${lone_sources})
target_link_libraries(kvc_lone_headers PRIVATE kvc_flags kvc_boost kvc_zmq kvc_msgpack kvc_spdlog)
target_compile_options(kvc_lone_headers PRIVATE -O0 -g0 -fno-sanitize=all)
add_test(NAME lone_headers COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target kvc_lone_headers)
set_tests_properties(lone_headers PROPERTIES TIMEOUT 900 RUN_SERIAL ON)
