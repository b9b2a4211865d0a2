# What `cmake --install` puts where: the program, its service unit and user, and the configuration if there is none yet.
include(GNUInstallDirs)
install(TARGETS kv-conductor RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# The unit names the program by its full path, which depends on the prefix.
file(READ etc/kv-conductor.service unit)
string(REPLACE "ExecStart=/usr/bin/" "ExecStart=${CMAKE_INSTALL_FULL_BINDIR}/" unit "${unit}")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/kv-conductor.service CONTENT "${unit}" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS etc/kv-conductor.service)
install(FILES ${CMAKE_BINARY_DIR}/kv-conductor.service DESTINATION lib/systemd/system)
install(FILES etc/kv-conductor.sysusers DESTINATION lib/sysusers.d RENAME kv-conductor.conf)

# The service looks for its configuration in /etc whatever the prefix; one that is there belongs to the operator.
install(CODE "
  if(NOT EXISTS \"\$ENV{DESTDIR}/etc/kv-conductor/kv-conductor.json\")
    file(INSTALL \"${CMAKE_SOURCE_DIR}/etc/kv-conductor.json\" DESTINATION \"\$ENV{DESTDIR}/etc/kv-conductor\")
  else()
    message(STATUS \"Kept: \$ENV{DESTDIR}/etc/kv-conductor/kv-conductor.json\")
  endif()")
