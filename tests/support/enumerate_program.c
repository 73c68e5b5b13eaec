/* enumerate_program.c - a program of search/operators/program.h, choice by choice */
#include "support/enumerate_program.h"

#include "support/assert_near.h"

double program_combinations(const program *p)
{
    double product = 1.0;

    for (int v = 0; v < p->variables; v++) {
        int options = 0;
        for (int s = 0; s < p->variable[v].states; s++)
            options += p->variable[v].state[s].options;
        product *= options;
    }
    return product;
}

static void enumerate(const program *p, int v, program_choice *choice, enumeration *best)
{
    if (v == p->variables) {
        program_price(p, choice);
        if (choice->bytes < best->bytes)
            best->bytes = choice->bytes;
        if (choice->bytes <= p->limit_bytes && choice->time_s < best->time_s)
            best->time_s = choice->time_s;
        return;
    }
    for (choice->state[v] = 0; choice->state[v] < p->variable[v].states; choice->state[v]++)
        for (choice->option[v] = 0;
             choice->option[v] < p->variable[v].state[choice->state[v]].options;
             choice->option[v]++)
            enumerate(p, v + 1, choice, best);
}

enumeration program_enumerate(const program *p)
{
    enumeration best = {HUGE_VAL, HUGE_VAL};
    program_choice choice;

    enumerate(p, 0, &choice, &best);
    return best;
}

void assert_enumerated(const program *p, plait_arena *arena)
{
    const enumeration best = program_enumerate(p);
    program_answer answer;
    program_choice again;

    assert_int_equal(program_solve(p, 1 << 24, arena, &answer, NULL), PLAIT_OK);
    assert_int_equal(answer.feasible, best.bytes <= p->limit_bytes);
    again = answer.choice;
    program_price(p, &again);
    assert_near_relative(again.time_s, answer.choice.time_s, 1e-12);
    assert_near_relative(again.bytes, answer.choice.bytes, 1e-12);
    if (!answer.feasible) {
        assert_near_relative(answer.choice.bytes, best.bytes, 1e-9);
        return;
    }
    assert_true(answer.proven);
    assert_true(answer.choice.bytes <= p->limit_bytes);
    assert_near_relative(answer.choice.time_s, best.time_s, 1e-9);
}
