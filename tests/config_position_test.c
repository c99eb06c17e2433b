/* The positions of a config: every type with its options and defaults. */
#include "config_helpers.h"

/* ---- positions ---- */

static TrainConfig *accept_position(const char *position) {
    char *set = string_format("model.position=%s", position);
    const char *sets[] = {set};
    TrainConfig *c = accept_set(SMALL, sets, 1);
    expect_round_trip(c);
    free(set);
    return c;
}

static void refuse_position(const char *position, const char *message) {
    char *text = string_format("{" DATA ", \"model\": {" MODEL
                               ", \"position\": %s}, \"training\": {" TRAINING "}}",
                               position);
    refuse(text, message);
    free(text);
}

TEST(test_position_defaults) {
    static const struct {
        const char *text;
        PositionConfig expected;
    } cases[] = {
        {"{}", {.type = POSITION_ROPE, .base = 10000, .fraction = 1}},
        {"{\"type\": \"none\"}", {.type = POSITION_NONE}},
        {"{\"type\": \"sinusoidal\"}", {.type = POSITION_SINUSOIDAL, .base = 10000}},
        {"{\"type\": \"sinusoidal_learned\"}",
         {.type = POSITION_SINUSOIDAL_LEARNED, .base = 10000}},
        {"{\"type\": \"learned\"}", {.type = POSITION_LEARNED}},
        {"{\"type\": \"t5\"}", {.type = POSITION_T5, .buckets = 32, .max_distance = 128}},
        {"{\"type\": \"window\"}", {.type = POSITION_WINDOW, .max_distance = 16}},
        {"{\"type\": \"shaw\"}", {.type = POSITION_SHAW, .max_distance = 16, .values = true}},
        {"{\"type\": \"transformer_xl\"}", {.type = POSITION_TRANSFORMER_XL}},
        {"{\"type\": \"alibi\"}", {.type = POSITION_ALIBI}},
        {"{\"type\": \"index\"}", {.type = POSITION_INDEX}},
        {"{\"layout\": \"half\", \"theta\": 5e5, \"fraction\": 0.5, \"rotate_values\": true}",
         {.type = POSITION_ROPE,
          .base = 5e5,
          .layout = LAYOUT_HALF,
          .fraction = 0.5,
          .rotate_values = true}},
        {"{\"type\": \"sinusoidal\", \"layout\": \"concat\", \"base\": 100, \"inject\": \"gate\"}",
         {.type = POSITION_SINUSOIDAL, .base = 100, .layout = LAYOUT_HALF, .inject = INJECT_GATE}},
        {"{\"type\": \"learned\", \"stretch\": 32, \"inject\": \"concat\"}",
         {.type = POSITION_LEARNED, .stretch = 32, .inject = INJECT_CONCAT}},
        {"{\"type\": \"t5\", \"buckets\": 8, \"max_distance\": 16}",
         {.type = POSITION_T5, .buckets = 8, .max_distance = 16}},
        {"{\"type\": \"window\", \"max_distance\": 64}",
         {.type = POSITION_WINDOW, .max_distance = 64}},
        {"{\"type\": \"shaw\", \"max_distance\": 4, \"values\": false}",
         {.type = POSITION_SHAW, .max_distance = 4}},
        {"{\"scaling\": {\"type\": \"none\"}}",
         {.type = POSITION_ROPE, .base = 10000, .fraction = 1}},
        {"{\"scaling\": {\"type\": \"linear\", \"factor\": 4}}",
         {.type = POSITION_ROPE,
          .base = 10000,
          .fraction = 1,
          .scaling = {.type = ROPE_SCALING_LINEAR, .factor = 4, .original_context = 16}}},
        {"{\"scaling\": {\"type\": \"dynamic_ntk\", \"original_context\": 4}}",
         {.type = POSITION_ROPE,
          .base = 10000,
          .fraction = 1,
          .scaling = {.type = ROPE_SCALING_DYNAMIC_NTK, .factor = 4, .original_context = 4}}},
        {"{\"scaling\": {\"type\": \"yarn\", \"factor\": 2.5}}",
         {.type = POSITION_ROPE,
          .base = 10000,
          .fraction = 1,
          .scaling = {.type = ROPE_SCALING_YARN,
                      .factor = 2.5,
                      .original_context = 16,
                      .beta_fast = 32,
                      .beta_slow = 1}}},
        {"{\"scaling\": {\"type\": \"llama3\", \"factor\": 8, \"original_context\": 8192}}",
         {.type = POSITION_ROPE,
          .base = 10000,
          .fraction = 1,
          .scaling = {.type = ROPE_SCALING_LLAMA3,
                      .factor = 8,
                      .original_context = 8192,
                      .low_freq_factor = 1,
                      .high_freq_factor = 4}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TrainConfig *c = accept_position(cases[i].text);
        PositionConfig p = c->model.position, e = cases[i].expected;
        if (p.type != e.type || p.base != e.base || p.layout != e.layout ||
            p.fraction != e.fraction || p.rotate_values != e.rotate_values ||
            p.inject != e.inject || p.stretch != e.stretch || p.buckets != e.buckets ||
            p.max_distance != e.max_distance || p.values != e.values ||
            p.scaling.type != e.scaling.type || p.scaling.factor != e.scaling.factor ||
            p.scaling.original_context != e.scaling.original_context ||
            p.scaling.beta_fast != e.scaling.beta_fast ||
            p.scaling.beta_slow != e.scaling.beta_slow ||
            p.scaling.low_freq_factor != e.scaling.low_freq_factor ||
            p.scaling.high_freq_factor != e.scaling.high_freq_factor)
            fail_msg("%s", cases[i].text);
        train_config_free(c);
    }
}

TEST(test_position_refusals) {
    refuse_position("\"rope\"",
                    ": model.position is \"rope\"; it must be an object: { \"key\": value, … }");
    refuse_position("{\"type\": \"roep\"}",
                    ": model.position.type is \"roep\"; it must be \"none\", \"sinusoidal\", "
                    "\"sinusoidal_learned\", \"learned\", \"rope\", \"t5\", \"window\", \"shaw\", "
                    "\"transformer_xl\", \"alibi\" or \"index\"; did you mean \"rope\"?");
    /* Every option with a type that it does not belong to. */
    static const struct {
        const char *type, *options;
    } owners[] = {
        {"none", ""},
        {"sinusoidal", " layout base inject "},
        {"sinusoidal_learned", " base inject "},
        {"learned", " stretch inject "},
        {"rope", " theta layout fraction rotate_values scaling "},
        {"t5", " buckets max_distance "},
        {"window", " max_distance "},
        {"shaw", " max_distance values "},
        {"transformer_xl", ""},
        {"alibi", ""},
        {"index", " inject "},
    };
    static const char *const options[] = {"layout",  "base",         "inject",  "stretch",
                                          "theta",   "fraction",     "scaling", "rotate_values",
                                          "buckets", "max_distance", "values"};
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        for (size_t j = 0; j < sizeof options / sizeof *options; j++) {
            char *set = string_format("model.position={\"type\":\"%s\",\"%s\":[]}", owners[i].type,
                                      options[j]);
            const char *sets[] = {set};
            Error error;
            assert_null(parse_set(SMALL, sets, 1, &error)); /* [] is right for none of them */
            bool unknown = strstr(error.message, "unknown key") != NULL;
            char *word = string_format(" %s ", options[j]);
            bool owned = strstr(owners[i].options, word) != NULL;
            free(word);
            if (unknown == owned) fail_msg("%s", error.message);
            free(set);
        }
    }
    refuse_position("{\"type\": \"alibi\", \"theta\": 1}",
                    ": unknown key \"model.position.theta\" for \"alibi\"; known here: \"type\"");
    refuse_position(
        "{\"layout\": \"concat\"}",
        ": model.position.layout is \"concat\"; it must be \"interleaved\" or \"half\"");
    refuse_position(
        "{\"type\": \"sinusoidal\", \"layout\": \"half\"}",
        ": model.position.layout is \"half\"; it must be \"interleaved\" or \"concat\"");
    refuse_position("{\"theta\": 1}",
                    ": model.position.theta is 1; it must be a number in (1, 1e12]");
    refuse_position("{\"fraction\": 0}",
                    ": model.position.fraction is 0; it must be a number in (0, 1]");
    refuse_position("{\"scaling\": {}}",
                    ": model.position.scaling.type is missing; it has no default");
    refuse_position("{\"scaling\": {\"factor\": 2}}",
                    ": model.position.scaling.type is missing; it has no default");
    refuse_position("{\"scaling\": {\"type\": \"linear\"}}",
                    ": model.position.scaling.factor is missing; it has no default");
    refuse_position("{\"scaling\": {\"type\": \"linear\", \"factor\": 0}}",
                    ": model.position.scaling.factor is 0; it must be a number in (0, 1e6]");
    refuse_position(
        "{\"scaling\": {\"type\": \"linear\", \"factor\": 2, \"beta_fast\": 1}}",
        ": unknown key \"model.position.scaling.beta_fast\" for \"linear\"; known here: "
        "\"type\", \"original_context\", \"factor\"");
    refuse_position(
        "{\"scaling\": {\"type\": \"none\", \"factor\": 2}}",
        ": unknown key \"model.position.scaling.factor\" for \"none\"; known here: \"type\"");
    refuse_position(
        "{\"fraction\": 0.25, \"scaling\": {\"type\": \"ntk\", \"factor\": 2}}",
        ": model.position.scaling.type: the NTK rules need at least 4 rotated elements, and "
        "this head has 2; use linear");
    refuse_position(
        "{\"scaling\": {\"type\": \"yarn\", \"factor\": 2, \"beta_slow\": 32}}",
        ": model.position.scaling.beta_slow: 32 must be above 0 and below beta_fast, which is 32");
    refuse_position(
        "{\"scaling\": {\"type\": \"llama3\", \"factor\": 2, \"low_freq_factor\": 4}}",
        ": model.position.scaling.high_freq_factor: 4 must be above low_freq_factor, which is 4");
    refuse_position("{\"type\": \"t5\", \"buckets\": 32, \"max_distance\": 16}",
                    ": model.position.max_distance is 16; it must be above buckets / 2 (16)");
    refuse_position(
        "{\"type\": \"window\", \"max_distance\": 15}",
        ": model.position.max_distance is 15; it must be at least model.context_length (16)");
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
