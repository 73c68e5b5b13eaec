/* page_parts.h - the files of src/page/web, which cmake/embed.cmake embeds in the program */
#pragma once

#include <stddef.h>

typedef struct page_part {
    const char *text;
    size_t length;
} page_part;

extern const page_part page_template; /* page.html, with its {{slots}} */
extern const page_part page_style;    /* page.css */
extern const page_part page_script;   /* page.js */
extern const page_part page_charts; /* charts.js with all its imports; empty if built without npm */
