# Fails when a file is not laid out by .clang-format: run as `cmake -DROOT=<source folder> -P layout.cmake`.
#
# By clang-format 14, which Debian 12 has, as others lay some lines out differently; where it is not installed nothing is checked. What it
# would change: `clang-format-14 -i $(git ls-files '*.cpp' '*.hpp')`.
cmake_minimum_required(VERSION 3.25)
if(NOT DEFINED ROOT)
  get_filename_component(ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
endif()
find_program(formatter clang-format-14)
if(NOT formatter)
  message("layout: skipped, as there is no clang-format-14")
  return()
endif()
foreach(room core net app perf tests)
  file(GLOB_RECURSE files RELATIVE "${ROOT}" "${ROOT}/${room}/*.hpp" "${ROOT}/${room}/*.cpp")
  execute_process(COMMAND "${formatter}" --dry-run --Werror ${files} WORKING_DIRECTORY "${ROOT}" RESULT_VARIABLE failed)
  if(failed)
    message(SEND_ERROR "layout: ${room} is not laid out by .clang-format")
  endif()
endforeach()
message("-- layout: looked at every file")
