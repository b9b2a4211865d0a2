# `cmake --install` into another root and under another prefix than was configured: what a packager does, and what etc/README.md tells.
# Run by ctest as: cmake -DBUILD=<build folder> -DWHERE=<empty folder> -P tests/install.cmake
function(install_into root prefix)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env DESTDIR=${root} ${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix}
    OUTPUT_VARIABLE told ERROR_VARIABLE told RESULT_VARIABLE code)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "cmake --install ended with ${code}:\n${told}")
  endif()
endfunction()

function(expect_files root)
  file(GLOB_RECURSE there RELATIVE ${root} ${root}/*)
  set(wanted ${ARGN})
  list(SORT there)
  list(SORT wanted)
  if(NOT there STREQUAL wanted)
    message(FATAL_ERROR "installed: ${there}\nwanted:    ${wanted}")
  endif()
endfunction()

set(service lib/systemd/system/kv-conductor.service)
set(config etc/kv-conductor/kv-conductor.json)

foreach(prefix usr opt/kv)
  set(root ${WHERE}/${prefix})
  file(REMOVE_RECURSE ${root})
  install_into(${root} /${prefix})
  expect_files(${root} ${config} ${prefix}/bin/kv-conductor ${prefix}/${service} ${prefix}/lib/sysusers.d/kv-conductor.conf
    ${prefix}/share/kv-conductor/kv-conductor.rules.yaml ${prefix}/share/kv-conductor/operating.md)
  file(STRINGS ${root}/${prefix}/${service} started REGEX "^ExecStart=")
  if(NOT started STREQUAL "ExecStart=/${prefix}/bin/kv-conductor")
    message(FATAL_ERROR "the unit under /${prefix} starts what is not there: ${started}")
  endif()
endforeach()

# A configuration that is there belongs to the operator.
file(WRITE ${root}/${config} "{}")
install_into(${root} /opt/kv)
file(READ ${root}/${config} kept)
if(NOT kept STREQUAL "{}")
  message(FATAL_ERROR "an operator's configuration was replaced")
endif()
file(REMOVE_RECURSE ${WHERE})
