# PLAIT_SANITIZE is a list for -fsanitize=, such as "address,undefined"; PLAIT_FUZZ builds the fuzz
# targets with libFuzzer (clang only).
set(PLAIT_SANITIZE "" CACHE STRING "Sanitizers to build with, separated by commas")
option(PLAIT_FUZZ "Build the fuzz targets with libFuzzer" OFF)

if(PLAIT_SANITIZE)
    add_compile_options(-fsanitize=${PLAIT_SANITIZE} -fno-sanitize-recover=all
                        -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${PLAIT_SANITIZE})
endif()
if(PLAIT_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
    add_link_options(-fsanitize=fuzzer-no-link)
endif()
