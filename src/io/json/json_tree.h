/*
 * json_tree.h - changing a document's tree, and printing it in the format of the data files
 *
 * The other readers and writers of src/io convert between files and structs, which have no place
 * for the sources and the layout of a file. A tree preserves both: unchanged members are printed as
 * they were read. Functions that return NULL or false fail only if memory runs out.
 */
#pragma once

#include "io/json/json.h"

typedef struct cJSON json_tree;

/**
 * Reads a file. Fails unless all numbers are finite and all strings are plain text, so that its
 * tree can be printed.
 */
PLAIT_MUST_CHECK plait_status json_tree_read(const char *path, plait_arena *arena,
                                             json_document *doc, plait_error *err);

/** Returns the member `key` of an object; NULL if the object does not have it. */
json_tree *json_tree_member(const json_tree *object, const char *key);

/** Returns the string of the member `key`; "" if the object has no such string. */
const char *json_tree_text(const json_tree *object, const char *key);

/**
 * Returns the member `key`, which is an object. A missing member, or one of another type, is
 * replaced by an empty object.
 */
json_tree *json_tree_enter(json_tree *object, const char *key);

/* Set the value of a member, which keeps its position; a new member is appended. */
json_tree *json_tree_set_object(json_tree *object, const char *key); /* empty */
json_tree *json_tree_set_array(json_tree *object, const char *key);  /* empty */
bool json_tree_set_number(json_tree *object, const char *key, double number);
bool json_tree_set_text(json_tree *object, const char *key, const char *text);

bool json_tree_append(json_tree *array, double number);
void json_tree_remove(json_tree *object, const char *key);

/** Returns a copy, which the caller frees with json_tree_free(). */
json_tree *json_tree_copy(const json_tree *tree);
void json_tree_free(json_tree *tree);

/**
 * Prints a tree with four blanks of indentation per level. An array is on one line, and so is an
 * object that ends before column 98, not counting its key.
 */
const char *json_tree_print(const json_tree *tree, plait_arena *arena, size_t *length);
