/* families.c - the list of families */
#include "calibrate/family.h"

const family *const families[] = {
    &family_memory,     &family_gemm,      &family_sustained, &family_weight_gradient,
    &family_grouped,    &family_attention, &family_backward,  &family_decode,
    &family_collective, &family_p2p,
};
const int family_count = sizeof families / sizeof *families;
