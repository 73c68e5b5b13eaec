/* pipelining.h - the parts of pipeline.py that no plan changes */
#pragma once

/** From the head of the file to the plan's constants. */
extern const char pipelining_imports[];

/** What follows the constants: a stand-in for the model, and one step of it. */
extern const char pipelining_body[];
