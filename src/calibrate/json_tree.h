/*
 * json_tree.h - a JSON document that can be changed and printed as our data files are
 *
 * Readers and writers of src/io go between files and structs; a struct has no room for the sources
 * and blanks of the file that it came from. Here a file keeps them: what is not changed is printed
 * as it was read.
 */
#pragma once

#include "io/json/json.h"

typedef enum tree_kind {
    TREE_NULL,
    TREE_BOOL,
    TREE_NUMBER,
    TREE_STRING,
    TREE_OBJECT,
    TREE_ARRAY
} tree_kind;

typedef struct json_tree {
    tree_kind kind;
    const char *key; /* NULL: not a member */
    bool truth;
    double number;
    const char *text;
    struct json_tree *first; /* of its members or elements */
    struct json_tree *next;  /* member or element of the parent */
} json_tree;

/** The tree of a document; it lives in `arena`. */
PLAIT_MUST_CHECK plait_status json_tree_read(const char *text, size_t length, const char *name,
                                             plait_arena *arena, json_tree **out, plait_error *err);

/** The member `key` of an object; NULL when there is none. */
json_tree *json_tree_member(const json_tree *object, const char *key);

/* These change an object, and return NULL or false only when out of memory. */

/** The member `key`, put behind the others when there is none, and emptied if of another kind. */
json_tree *json_tree_enter(json_tree *object, const char *key, tree_kind kind, plait_arena *arena);
bool json_tree_set_number(json_tree *object, const char *key, double number, plait_arena *arena);
bool json_tree_set_text(json_tree *object, const char *key, const char *text, plait_arena *arena);

/** Appends a number to an array. */
bool json_tree_append(json_tree *array, double number, plait_arena *arena);

void json_tree_remove(json_tree *object, const char *key);

json_tree *json_tree_copy(const json_tree *tree, plait_arena *arena);

/**
 * Four blanks a level; an array, and an object that ends before column 98 without its key, stay on
 * one line. NULL: out of memory.
 */
const char *json_tree_print(const json_tree *tree, plait_arena *arena, size_t *length);
