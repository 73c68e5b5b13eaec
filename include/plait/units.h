/*
 * units.h - factors between the units of data sheets and the base units used inside plait
 *
 * Every quantity in C is a double in bytes, seconds, FLOPs, or one of these per second. Code that
 * reads a file converts its values once: `link->latency_s = latency_us * PLAIT_US`.
 */
#ifndef PLAIT_UNITS_H
#define PLAIT_UNITS_H

/* bytes: memory sizes are powers of two, bandwidths and disks powers of ten */
#define PLAIT_KIB 1024.0
#define PLAIT_MIB 1048576.0
#define PLAIT_GIB 1073741824.0
#define PLAIT_KB 1e3
#define PLAIT_MB 1e6
#define PLAIT_GB 1e9
#define PLAIT_TB 1e12

/* network rates are in bits: 400 Gb/s is 400 * PLAIT_GBIT bytes per second */
#define PLAIT_GBIT 1.25e8

/* flops, and flops per second */
#define PLAIT_GFLOP 1e9
#define PLAIT_TFLOP 1e12
#define PLAIT_PFLOP 1e15

/* seconds */
#define PLAIT_NS 1e-9
#define PLAIT_US 1e-6
#define PLAIT_MS 1e-3
#define PLAIT_MINUTE 60.0
#define PLAIT_HOUR 3600.0
#define PLAIT_DAY 86400.0

#endif
