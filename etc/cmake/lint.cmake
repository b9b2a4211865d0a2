# `cmake --build --preset dev --target lint`: clang-tidy with the short list of .clang-tidy over every source of ours, all findings fatal.
# Not part of the test run, since it takes as long as a build.
find_program(KVC_CLANG_TIDY NAMES clang-tidy clang-tidy-19 clang-tidy-16 clang-tidy-14)
find_program(KVC_RUN_CLANG_TIDY NAMES run-clang-tidy run-clang-tidy-19 run-clang-tidy-16 run-clang-tidy-14)
if(KVC_CLANG_TIDY AND KVC_RUN_CLANG_TIDY)
  # g++ needs flags clang does not know; the analysis runs on a copy of the compile commands without them.
  add_custom_target(lint
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lint
    COMMAND sed -e "s/ -fcoroutines / /g" -e "s/ -Wno-maybe-uninitialized / /g" -e "s/ -Wno-mismatched-new-delete / /g"
            -e "s/ -fsanitize=[a-z,]* / /g" ${CMAKE_BINARY_DIR}/compile_commands.json > ${CMAKE_BINARY_DIR}/lint/compile_commands.json
    COMMAND ${KVC_RUN_CLANG_TIDY} -clang-tidy-binary ${KVC_CLANG_TIDY} -quiet -p ${CMAKE_BINARY_DIR}/lint
            "${CMAKE_SOURCE_DIR}/(core|net|app|perf|tests)/[^/]*\\.cpp"
    VERBATIM USES_TERMINAL)
endif()
