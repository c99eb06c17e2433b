/* Half-size floating point types against shared cases and against each other, all codes. */
#include "formats_helpers.h"

#include <math.h>

#include "formats/half.h"
#include "formats/stored_tensor.h"

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Every code is a float32 value, and comes back as the same code. */
TEST(test_all_codes) {
    for (uint32_t code = 0; code < 65536; code++) {
        float half = half_to_float((uint16_t)code), brain = bfloat16_to_float((uint16_t)code);
        uint32_t exponent = code >> 10 & 31, fraction = code & 1023;
        double wanted =
            exponent ? ldexp(1024 + fraction, (int)exponent - 25) : ldexp(fraction, -24);
        if (exponent == 31) wanted = fraction ? NAN : INFINITY;
        if (code & 0x8000) wanted = -wanted;
        if (isnan(wanted)) {
            assert_true(isnan(half));
            assert_true(isnan(half_to_float(half_from_float(half))));
        } else {
            assert_true((double)half == wanted && !signbit(half) == !signbit(wanted));
            assert_int_equal(half_from_float(half), code);
        }
        assert_int_equal(bits_of(brain), code << 16);
        if (isnan(brain))
            assert_true(isnan(bfloat16_to_float(bfloat16_from_float(brain))));
        else
            assert_int_equal(bfloat16_from_float(brain), code);
    }
}

/* Rounding: around every midpoint of two neighbours the nearer one wins, and the even one at it. */
TEST(test_rounding) {
    for (uint16_t code = 0; code < 0x7bff; code++) {
        float low = half_to_float(code), high = half_to_float((uint16_t)(code + 1));
        float middle = low + (high - low) / 2; /* exact: one more bit than a half has */
        assert_int_equal(half_from_float(middle), code + (code & 1));
        assert_int_equal(half_from_float(nextafterf(middle, 0)), code);
        assert_int_equal(half_from_float(nextafterf(middle, 1e9f)), code + 1);
        assert_int_equal(half_from_float(-middle), 0x8000 | (code + (code & 1)));
    }
    for (uint32_t code = 0; code < 0x7f80; code += 7) {
        uint32_t middle = code << 16 | 0x8000;
        assert_int_equal(bfloat16_from_float(from_bits(middle)), code + (code & 1));
        assert_int_equal(bfloat16_from_float(from_bits(middle - 1)), code);
        assert_int_equal(bfloat16_from_float(from_bits(middle + 1)), code + 1);
    }
}

static uint32_t hex(const cJSON *object, const char *key, bool *nan) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, key));
    *nan = strcmp(text, "nan") == 0;
    return (uint32_t)strtoul(text, NULL, 16);
}

CASES_TEST(test_cases) {
    const char *path = need_case("cases/num/f11_half_types.json");
    cJSON *cases = read_json(path), *item;
    bool nan, ignored;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(cases, "to_half")) {
        float value = from_bits(hex(item, "f32", &ignored));
        uint32_t wanted = hex(item, "bf16", &nan);
        uint16_t brain = bfloat16_from_float(value), half = half_from_float(value);
        assert_true(nan ? isnan(bfloat16_to_float(brain)) : brain == wanted);
        wanted = hex(item, "f16", &nan);
        assert_true(nan ? isnan(half_to_float(half)) : half == wanted);
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(cases, "from_f16")) {
        float value = half_to_float((uint16_t)hex(item, "f16", &ignored));
        uint32_t wanted = hex(item, "f32", &nan);
        assert_true(nan ? isnan(value) : bits_of(value) == wanted);
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(cases, "from_bf16")) {
        float value = bfloat16_to_float((uint16_t)hex(item, "bf16", &ignored));
        uint32_t wanted = hex(item, "f32", &nan);
        assert_true(nan ? isnan(value) : bits_of(value) == wanted);
    }
    cJSON_Delete(cases);
}

static void read_array(NumberType type, const uint8_t *at, real out[4]) {
    StoredTensor tensor = {.type = type, .rank = 1, .shape = {4}, .data = at};
    assert_true(stored_tensor_measure(&tensor) && stored_tensor_to_real(&tensor, out));
}

/* Arrays at odd addresses. */
TEST(test_arrays) {
    uint8_t bytes[33];
    double wide[4] = {1.5, -2, 1e30, 0.1};
    float single[4] = {1.5F, -2, 1e30F, 0.1F};
    uint16_t half[4] = {0x3e00, 0xc000, 0x7c00, 0x0001};
    uint16_t brain[4] = {0x3fc0, 0xc000, 0x7f80, 0x0001};
    real out[4];
    memcpy(bytes + 1, wide, sizeof wide);
    read_array(NUMBER_F64, bytes + 1, out);
    for (int i = 0; i < 4; i++) assert_true(out[i] == (real)wide[i]);
    memcpy(bytes + 1, single, sizeof single);
    read_array(NUMBER_F32, bytes + 1, out);
    for (int i = 0; i < 4; i++) assert_true(out[i] == (real)single[i]);
    memcpy(bytes + 1, half, sizeof half);
    read_array(NUMBER_F16, bytes + 1, out);
    for (int i = 0; i < 4; i++) assert_true(out[i] == (real)half_to_float(half[i]));
    memcpy(bytes + 1, brain, sizeof brain);
    read_array(NUMBER_BF16, bytes + 1, out);
    for (int i = 0; i < 4; i++) assert_true(out[i] == (real)bfloat16_to_float(brain[i]));
    assert_true(out[0] == 1.5 && out[3] > 0);
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
