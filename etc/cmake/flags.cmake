# What every target of ours is compiled with: C++20 without extensions, short fatal warnings, the sanitizers of the preset.
find_program(KVC_CCACHE ccache)
if(KVC_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${KVC_CCACHE})
endif()
add_library(kvc_flags INTERFACE)
target_include_directories(kvc_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(kvc_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these from inside optimised coroutine frames and std containers, where they are false.
  target_compile_options(kvc_flags INTERFACE -fcoroutines -Wno-maybe-uninitialized -Wno-mismatched-new-delete)
  # What clang reports by itself, so that the build of the fuzz targets is not the first to hear of it.
  target_compile_options(kvc_flags INTERFACE -Wmismatched-tags)
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # libstdc++ 12's stable_sort uses what it has declared deprecated; its headers silence only g++ about that.
  target_compile_options(kvc_flags INTERFACE -Wno-error=deprecated-declarations)
endif()
if(KVC_SANITIZE)
  target_compile_options(kvc_flags INTERFACE -fsanitize=${KVC_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(kvc_flags INTERFACE -fsanitize=${KVC_SANITIZE})
  if(KVC_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13
     AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
    # g++ 13 moves locals that are aligned to 64 bytes to places aligned to 32 when it watches for uses after return (its bug 110027), of
    # which the other sanitizer complains. Other versions watch, where they do by default.
    target_compile_options(kvc_flags INTERFACE --param=asan-use-after-return=0)
  endif()
  if(KVC_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Asio and the shared_ptr of libstdc++ use fences, which g++'s thread sanitizer warns about and does not model.
    target_compile_options(kvc_flags INTERFACE -Wno-tsan)
  endif()
endif()
if(KVC_LIBFUZZER)
  # What the fuzzer is led by: without it inputs are mutated blindly. The engine itself is linked by the targets.
  target_compile_options(kvc_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  if(KVC_NATIVE)
    target_compile_options(kvc_flags INTERFACE -march=native)
  else()
    target_compile_options(kvc_flags INTERFACE -march=x86-64-v2)
  endif()
elseif(KVC_NATIVE)
  target_compile_options(kvc_flags INTERFACE -mcpu=native)
endif()

# Laying the program out by what running it has shown (see etc/tune): `gather` counts while it runs, `use` compiles with those counts, which
# lie beside the objects they are about. For the parts a server consists of; linked by them, PRIVATE.
add_library(kvc_profile INTERFACE)
if(KVC_PROFILE STREQUAL "gather" OR KVC_PROFILE STREQUAL "use")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    message(FATAL_ERROR "KVC_PROFILE needs g++; ${CMAKE_CXX_COMPILER_ID} keeps its counts in another way")
  endif()
  if(KVC_PROFILE STREQUAL "gather")
    # Lanes count at once; what is lost without atomic counters would make a loop look shorter than it is.
    target_compile_options(kvc_profile INTERFACE -fprofile-generate -fprofile-update=prefer-atomic)
    target_link_options(kvc_profile INTERFACE -fprofile-generate)
  else()
    file(GLOB_RECURSE KVC_COUNTS ${CMAKE_BINARY_DIR}/*.gcda)
    if(NOT KVC_COUNTS)
      message(FATAL_ERROR "There are no counts in ${CMAKE_BINARY_DIR}; call etc/tune, which makes them")
    endif()
    # What the training did not reach is compiled as without it, not for size: it may be what somebody's fleet does all day.
    target_compile_options(kvc_profile INTERFACE -fprofile-use -fprofile-partial-training -fprofile-correction -Wno-missing-profile)
  endif()
elseif(KVC_PROFILE)
  message(FATAL_ERROR "KVC_PROFILE is ${KVC_PROFILE}; known: gather, use")
endif()
