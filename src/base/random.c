#include "base/random.h"

#include <math.h>

void random_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u; /* the key schedule: Weyl sequences */
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* 128 random bits for (seed, stream, index, draw). */
static void block(uint64_t seed, RandomStream stream, uint64_t index, uint32_t draw,
                  uint64_t out[2]) {
    uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), draw, (uint32_t)stream};
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, words[4];
    random_philox(counter, key, words);
    out[0] = (uint64_t)words[1] << 32 | words[0];
    out[1] = (uint64_t)words[3] << 32 | words[2];
}

static double unit(uint64_t bits) {
    return (double)(bits >> 11) * 0x1p-53;
}

uint64_t random_u64(uint64_t seed, RandomStream stream, uint64_t index) {
    uint64_t bits[2];
    block(seed, stream, index, 0, bits);
    return bits[0];
}

double random_uniform(uint64_t seed, RandomStream stream, uint64_t index) {
    return unit(random_u64(seed, stream, index));
}

uint64_t random_below(uint64_t seed, RandomStream stream, uint64_t index, uint64_t n) {
    /* The high half of a 64 × 64-bit product; its bias is below n · 2^-64. Spelt out in 32-bit
     * halves, since C11 has no 128-bit type. */
    uint64_t x = random_u64(seed, stream, index);
    uint64_t xl = (uint32_t)x, xh = x >> 32, nl = (uint32_t)n, nh = n >> 32;
    uint64_t middle = xh * nl + ((xl * nl) >> 32);
    uint64_t other = xl * nh + (uint32_t)middle;
    return xh * nh + (middle >> 32) + (other >> 32);
}

double random_truncated_normal(uint64_t seed, RandomStream stream, uint64_t index, double limit) {
    for (uint32_t draw = 0;; draw++) {
        uint64_t bits[2];
        block(seed, stream, index, draw, bits);
        double radius = sqrt(-2 * log(1 - unit(bits[0]))); /* 1 - u is never 0 */
        double value = radius * cos(2 * 3.14159265358979323846 * unit(bits[1]));
        if (fabs(value) <= limit) return value;
    }
}
