# What pages are made of, inside the program: the HTML around them, their style, their scripts. The
# script that draws charts is bundled by npm; without npm, or with PLAIT_CHARTS off, it is empty and
# pages have their tables alone.
option(PLAIT_CHARTS "Bundle Vega-Lite by npm, for the charts of pages" ON)

set(web "${CMAKE_SOURCE_DIR}/src/page/web")
set(pages "${CMAKE_BINARY_DIR}/pages")
find_program(NPM npm)

if(PLAIT_CHARTS AND NPM)
    add_custom_command(OUTPUT "${pages}/charts.js" "${pages}/charts.js.json"
        COMMAND sh "${web}/bundle.sh" "${web}" "${pages}/charts.js"
        DEPENDS "${web}/bundle.sh" "${web}/charts.js" "${web}/package.json" "${web}/package-lock.json"
        COMMENT "Bundling the charts of pages" VERBATIM)
else()
    if(PLAIT_CHARTS)
        message(WARNING "npm not found; pages will have tables but no charts")
    endif()
    file(WRITE "${pages}/charts.js" "")
    file(WRITE "${pages}/charts.js.json" "{}")
endif()

plait_outer_room(src/page LIBRARIES plait_report)
plait_embed(plait_page page/page_parts.h page_part page_template=${web}/page.html
    page_style=${web}/page.css page_script=${web}/page.js page_charts=${pages}/charts.js)
