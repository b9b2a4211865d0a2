# Files that are compiled together beneath sanitizers, by what they are about: reading headers and instantiating what is in them is most of
# compiling each of them. All others, new ones as well, are compiled one by one, and so are these in the release build, which is where an
# include that is missing shows. A group must not name one thing twice outside of its classes; the compiler says so.

# What a file has for itself is no news to the next. A library, since its options have to come behind those that warn.
add_library(kvc_together INTERFACE)
target_compile_options(kvc_together INTERFACE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)

# kvc_group(TARGET NAME FILE ...): these files of the target, relative to its folder and without their ending, as one unit.
function(kvc_group target name)
  foreach(file IN LISTS ARGN)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file}.cpp)
      message(FATAL_ERROR "group ${name} has ${file}, which does not exist; it is named in ${CMAKE_CURRENT_LIST_FILE}")
    endif()
    set_source_files_properties(${CMAKE_CURRENT_SOURCE_DIR}/${file}.cpp PROPERTIES UNITY_GROUP ${name})
  endforeach()
  get_target_property(mode ${target} UNITY_BUILD_MODE)
  if(NOT mode STREQUAL GROUP)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    target_link_libraries(${target} PRIVATE kvc_together)
  endif()
endfunction()
