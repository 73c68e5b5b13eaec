/* text_nearest.c - the known word nearest to a misspelt one */
#include <stddef.h>
#include <string.h>

#include "base/text.h"

/* Length of the longest word whose edit distance is computed; no name is longer. */
enum { LONGEST = 63 };

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

/*
 * Returns the number of edits from word a to word b if each position is edited at most once
 * ("optimal string alignment"). With d(i,j) edits from the first i letters of a to the first j
 * letters of b,
 *
 *     d(i,j) = min( d(i-1,j) + 1, d(i,j-1) + 1, d(i-1,j-1) + [a_i != b_j],
 *                   d(i-2,j-2) + 1  when a_(i-1) a_i = b_j b_(j-1) )
 *
 * The function stores only the rows i-2, i-1 and i of d.
 */
static int edit_distance(const char *a, const char *b)
{
    const size_t columns = strlen(b);
    int rows[3][LONGEST + 1];
    int *two_before = rows[0], *before = rows[1], *row = rows[2];

    for (size_t j = 0; j <= columns; j++)
        before[j] = (int)j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        int *oldest = two_before;

        row[0] = (int)i;
        for (size_t j = 1; j <= columns; j++) {
            const char p = text_lower(a[i - 1]), q = text_lower(b[j - 1]);

            row[j] = min_int(min_int(before[j], row[j - 1]) + 1, before[j - 1] + (p != q));
            if (i > 1 && j > 1 && p == text_lower(b[j - 2]) && text_lower(a[i - 2]) == q)
                row[j] = min_int(row[j], two_before[j - 2] + 1);
        }
        two_before = before;
        before = row;
        row = oldest;
    }
    return before[columns];
}

static const char *first_that_begins(const char *word, const char *const *known)
{
    for (; *word != '\0' && *known != NULL; known++) {
        size_t i = 0;

        while (word[i] != '\0' && text_lower(word[i]) == text_lower((*known)[i]))
            i++;
        if (word[i] == '\0')
            return *known;
    }
    return NULL;
}

const char *text_nearest(const char *word, const char *const *known)
{
    const size_t length = strlen(word);
    int fewest = (int)(length + 2) / 3 + 1; // one more than the largest accepted distance
    const char *nearest = NULL;

    if (length > LONGEST)
        return NULL;
    for (const char *const *candidate = known; *candidate != NULL; candidate++) {
        int distance;

        if (strlen(*candidate) > LONGEST)
            continue;
        distance = edit_distance(word, *candidate);
        if (distance < fewest) {
            fewest = distance;
            nearest = *candidate;
        }
    }
    return nearest != NULL ? nearest : first_that_begins(word, known);
}
