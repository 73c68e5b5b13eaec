# The build that users get: fast, hardened, and without a trace of where it was built.
#
# No -ffast-math, no contraction into fused multiply-adds: the same input gives the same bytes.
# Asserts stay in: a call against its contract should stop, not answer.
set(CMAKE_C_FLAGS_RELEASE "-O3 -g")
if(EMSCRIPTEN) # which keeps all debug information in the program
    set(CMAKE_C_FLAGS_RELEASE "-O3")
endif()
add_compile_options(-ffp-contract=off)

# A price crosses five small files. gcc inlines them into each other in libplait and where a program
# asks for it (plait_inline_across); others link the ordinary code that the same objects hold.
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set(PLAIT_LTO ON)
endif()

# A program that needs nothing of the system it is copied to but a kernel: `./dev static`. Its libraries
# are archives, which Debian builds for programs at one address.
option(PLAIT_STATIC "link the program with archives alone" OFF)
if(PLAIT_STATIC)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
    add_link_options(-static)
endif()

# What distributions ask of a program that reads others' files; tests/hardened.sh looks for each.
# Names of files in asserts and debug information begin at the root of the tree, so that another
# folder gives the same bytes. Code that is generated when linking needs both said again.
set(PLAIT_RELEASE_OPTIONS -fstack-protector-strong
    "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=" "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build")
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT EMSCRIPTEN) # WebAssembly has its own memory and stack
    include(CheckPIESupported)
    check_pie_supported()
    add_compile_options(${PLAIT_RELEASE_OPTIONS} -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
    add_link_options(${PLAIT_RELEASE_OPTIONS} LINKER:-z,relro,-z,now)
endif()
