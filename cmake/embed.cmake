# Files as C: cmake -DOUT=page_parts.c -DHEADER=page/page_parts.h -DTYPE=page_part
#     -DPARTS="name=file;..." -P embed.cmake
#
# Of each a constant `name` of the type, with its text and length, as the header declares it.
set(text "#include \"${HEADER}\"\n")
foreach(part IN LISTS PARTS)
    string(REGEX MATCH "^([a-z_]+)=(.*)$" part "${part}")
    set(name ${CMAKE_MATCH_1})
    file(READ "${CMAKE_MATCH_2}" bytes HEX)
    string(LENGTH "${bytes}" length)
    math(EXPR length "${length} / 2")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "static const unsigned char ${name}_bytes[] = {${bytes}0};\n"
        "const ${TYPE} ${name} = {(const char *)${name}_bytes, ${length}};\n")
endforeach()
file(WRITE "${OUT}" "${text}")
