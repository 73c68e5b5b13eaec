# Warnings that gcc and clang both know; errors where PLAIT_WERROR is on, as in CI.
option(PLAIT_WERROR "Treat warnings as errors" OFF)

add_compile_options(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes
                    -Wdouble-promotion)
if(PLAIT_WERROR)
    add_compile_options(-Werror)
endif()
