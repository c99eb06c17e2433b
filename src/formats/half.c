#include "formats/half.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files are mapped and read in place, which needs a little-endian machine");

static float float_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t float_to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float half_to_float(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = (half >> 10) & 31, fraction = half & 0x3ff;
    if (exponent == 31) return float_from_bits(sign | 0x7f800000 | fraction << 13);
    if (exponent == 0) {
        if (fraction == 0) return float_from_bits(sign);
        /* subnormal: fraction · 2^-24, a normal float32 once its leading bit is the implicit one */
        int shift = __builtin_clz(fraction) - 21;
        return float_from_bits(sign | (uint32_t)(113 - shift) << 23 |
                               ((fraction << shift) & 0x3ff) << 13);
    }
    return float_from_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

/* bits >> shift, rounded to nearest, ties to even; 1 <= shift <= 31. */
static uint32_t shift_rounded(uint32_t bits, int shift) {
    uint32_t kept = bits >> shift, rest = bits & ((UINT32_C(1) << shift) - 1);
    uint32_t half = UINT32_C(1) << (shift - 1);
    return kept + (rest > half || (rest == half && (kept & 1)));
}

uint16_t half_from_float(float value) {
    uint32_t bits = float_to_bits(value), magnitude = bits & 0x7fffffff;
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    if (magnitude > 0x7f800000) /* NaN: quiet, so that a payload in the low bits is not lost */
        return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
    if (magnitude >= 0x47800000) return sign | 0x7c00; /* 65536 and up, infinity */
    if (magnitude >= 0x38800000) /* normal: rebias; a carry runs into the exponent as it should */
        return (uint16_t)(sign | shift_rounded(magnitude - (UINT32_C(112) << 23), 13));
    if (magnitude < 0x33000000) return sign; /* below half of the smallest subnormal */
    uint32_t fraction = (magnitude & 0x7fffff) | 0x800000;
    return (uint16_t)(sign | shift_rounded(fraction, 126 - (int)(magnitude >> 23)));
}

float bfloat16_to_float(uint16_t bits) {
    return float_from_bits((uint32_t)bits << 16);
}

uint16_t bfloat16_from_float(float value) {
    uint32_t bits = float_to_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)shift_rounded(bits, 16);
}
