/*
 * json_tree.h - changes to a document's tree, and printing it in the form of the data files
 *
 * The readers and writers of src/io go between files and structs, and a struct has no room for the
 * sources and the layout of its file. A tree keeps both: members that are not changed are printed as
 * they were read. Functions that return NULL or false fail only when memory runs out.
 */
#pragma once

#include "io/json/json.h"

typedef struct cJSON json_tree;

/** Reads a file whose tree can be printed: its numbers are finite and its strings are plain text. */
PLAIT_MUST_CHECK plait_status json_tree_read(const char *path, plait_arena *arena,
                                             json_document *doc, plait_error *err);

/** The member `key` of an object; NULL if the object does not have it. */
json_tree *json_tree_member(const json_tree *object, const char *key);

/** The text of the member `key`; "" if the object has no such string. */
const char *json_tree_text(const json_tree *object, const char *key);

/** The member `key`, an object; a missing member, or one of another kind, becomes an empty object. */
json_tree *json_tree_enter(json_tree *object, const char *key);

/* Each gives a member a new value. The member keeps its place; a new one is appended. */
json_tree *json_tree_set_object(json_tree *object, const char *key); /* empty */
json_tree *json_tree_set_array(json_tree *object, const char *key);  /* empty */
bool json_tree_set_number(json_tree *object, const char *key, double number);
bool json_tree_set_text(json_tree *object, const char *key, const char *text);

bool json_tree_append(json_tree *array, double number);
void json_tree_remove(json_tree *object, const char *key);

/** A copy, which the caller frees with json_tree_free(). */
json_tree *json_tree_copy(const json_tree *tree);
void json_tree_free(json_tree *tree);

/**
 * Prints four blanks a level. An array stays on one line, and so does an object that ends before
 * column 98 without its key.
 */
const char *json_tree_print(const json_tree *tree, plait_arena *arena, size_t *length);
