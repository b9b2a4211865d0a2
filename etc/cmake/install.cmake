# What `cmake --install` puts where: the program, its service unit and user, what its operators need, and the configuration if there is none
# yet.
include(GNUInstallDirs)
install(TARGETS kv-conductor RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# The unit names the program by its full path, which is known when it is installed: `--prefix` may say another one than was configured.
# `file(INSTALL)` puts DESTDIR in front of its destination by itself.
install(CODE "
  cmake_path(APPEND program \"\${CMAKE_INSTALL_PREFIX}\" \"${CMAKE_INSTALL_BINDIR}\" kv-conductor)
  file(READ \"${CMAKE_SOURCE_DIR}/etc/kv-conductor.service\" unit)
  string(REPLACE \"ExecStart=/usr/bin/kv-conductor\" \"ExecStart=\${program}\" unit \"\${unit}\")
  file(WRITE \"${CMAKE_BINARY_DIR}/kv-conductor.service\" \"\${unit}\")
  file(INSTALL \"${CMAKE_BINARY_DIR}/kv-conductor.service\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/systemd/system\")")
install(FILES etc/kv-conductor.sysusers DESTINATION lib/sysusers.d RENAME kv-conductor.conf)
install(FILES etc/kv-conductor.rules.yaml etc/operating.md DESTINATION share/kv-conductor)

# The service looks for its configuration in /etc whatever the prefix; one that is there belongs to the operator.
install(CODE "
  if(NOT EXISTS \"\$ENV{DESTDIR}/etc/kv-conductor/kv-conductor.json\")
    file(INSTALL \"${CMAKE_SOURCE_DIR}/etc/kv-conductor.json\" DESTINATION /etc/kv-conductor)
  else()
    message(STATUS \"Kept: \$ENV{DESTDIR}/etc/kv-conductor/kv-conductor.json\")
  endif()")
