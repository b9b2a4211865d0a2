# Every header is compiled alone, so that none leans on what its includers happen to include first. A source does
# that for the header of its own name, which it includes before anything else (layering.cmake sees to that), where it is compiled by itself:
# the release build does so with all (see etc/cmake/groups.cmake). For the other headers one source each is generated, built with everything
# else and therefore only again when something changed. The ctest entry tells the result by name.
file(GLOB_RECURSE KVC_HEADERS CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
  ${CMAKE_SOURCE_DIR}/core/*.hpp ${CMAKE_SOURCE_DIR}/net/*.hpp ${CMAKE_SOURCE_DIR}/app/*.hpp ${CMAKE_SOURCE_DIR}/perf/*.hpp
  ${CMAKE_SOURCE_DIR}/tests/*.hpp)
set(lone_sources)
foreach(header IN LISTS KVC_HEADERS)
  cmake_path(REPLACE_EXTENSION header cpp OUTPUT_VARIABLE own_source)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${own_source})
    continue()
  endif()
  string(MAKE_C_IDENTIFIER ${header} name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/lone_headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n#include \"${header}\"\n")
  list(APPEND lone_sources ${source})
endforeach()
add_library(kvc_lone_headers OBJECT ${lone_sources})
target_link_libraries(kvc_lone_headers PRIVATE kvc_boost)
target_include_directories(kvc_lone_headers PRIVATE ${CMAKE_SOURCE_DIR})
# Our warnings, but neither optimisation nor sanitizers: nothing of this is ever run.
get_target_property(warnings kvc_flags INTERFACE_COMPILE_OPTIONS)
list(FILTER warnings EXCLUDE REGEX "^-fsanitize")
target_compile_options(kvc_lone_headers PRIVATE ${warnings} -O0 -g0)
add_test(NAME lone_headers COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target kvc_lone_headers)
set_tests_properties(lone_headers PROPERTIES TIMEOUT 900 RUN_SERIAL ON)
