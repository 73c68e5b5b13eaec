/* user_buffers.h - whether Transformer Engine's user buffers work where a plan runs */
#pragma once

#include "plait/job.h"
#include "plait/degrees.h"

typedef enum user_buffers {
    USER_BUFFERS_NONE,     /* the first layer would raise an error */
    USER_BUFFERS_IPC,      /* by CUDA IPC, once UB_SKIPMC=1 says so */
    USER_BUFFERS_MULTICAST /* as they come */
} user_buffers;

user_buffers user_buffers_of(const plait_problem *problem, const plait_degrees *degrees);
