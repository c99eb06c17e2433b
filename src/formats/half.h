/* The half-size floating point types of model files.
 *
 * float16 (IEEE 754 binary16): 1 sign, 5 exponent, 10 fraction bits. bfloat16: the upper half of a
 * float32. Every float16 and bfloat16 value is a float32 value, so reading is exact, subnormals,
 * infinities and NaN included. Writing rounds to nearest, ties to even; what is too large becomes
 * infinite; NaN stays NaN. All conversions work on the bits, so that they give the same result in
 * threads that flush subnormals to zero. */
#ifndef TINYLM_FORMATS_HALF_H
#define TINYLM_FORMATS_HALF_H

#include <stdint.h>

float half_to_float(uint16_t half);
uint16_t half_from_float(float value);
float bfloat16_to_float(uint16_t bits);
uint16_t bfloat16_from_float(float value);

#endif
