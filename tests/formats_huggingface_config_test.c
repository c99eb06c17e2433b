/* Hugging Face directories: what config.json and generation_config.json may say, and what is refused. */
#include "huggingface_files.h"

#include <math.h>

#include "model/position_tables.h"

static void refuse_edit(const char *key, const char *json, const char *part_of_message) {
    ModelConfig config = small_config();
    const char *directory = fresh_directory(&config);
    edit_config(directory, key, json);
    refuse_reading(directory, part_of_message);
}

TEST(test_config_refusals) {
    static const struct {
        const char *key, *json, *message;
    } edits[] = {
        {"attention_bias", "true", "attention_bias"},
        {"mlp_bias", "true", "mlp_bias"},
        {"hidden_act", "\"gelu\"", "gelu"},
        {"model_type", "\"mistral\"", "mistral"},
        {"architectures", "[\"LlamaForSequenceClassification\"]", "LlamaForCausalLM"},
        {"head_dim", "16", "head_dim"},
        {"num_attention_heads", "5", "num_heads"},
        {"num_key_value_heads", "3", "num_kv_heads"},
        {"hidden_size", "-1", "hidden_size"},
        {"hidden_size", "\"32\"", "hidden_size"},
        {"hidden_size", "32.5", "hidden_size"},
        {"hidden_size", "1e30", "hidden_size"},
        {"num_hidden_layers", "1000000000", "num_hidden_layers"},
        {"num_hidden_layers", "3", "model.layers.2.input_layernorm"},
        {"num_hidden_layers", "1", "has no place"},
        {"intermediate_size", "40", "48 x 32, and the model's config asks for 40 x 32"},
        {"vocab_size", "271", "271 x 32"},
        {"vocab_size", "null", "32000 x 32"}, /* the default of transformers */
        {"rms_norm_eps", "0", "rms_norm_eps"},
        {"tie_word_embeddings", "3", "tie_word_embeddings"},
        {"rope_theta", "-5", "rope_theta"},
        {"partial_rotary_factor", "0.5", "partial_rotary_factor"},
        {"rope_scaling", "{\"factor\": 2}", "rope_type"},
        {"rope_scaling", "{\"type\": \"longrope\", \"factor\": 2}", "longrope"},
        {"rope_scaling", "{\"rope_type\": \"linear\"}", "factor"},
        {"rope_scaling", "{\"rope_type\": \"llama3\", \"factor\": 2}", "low_freq_factor"},
        {"rope_scaling", "{\"rope_type\": \"yarn\", \"factor\": 2, \"attention_factor\": -1}",
         "attention_factor"},
        {"rope_scaling", "{\"rope_type\": \"yarn\", \"factor\": 2, \"mscale\": -1}", "mscale"},
        {"is_causal", "false", "is_causal"},
        {"sliding_window", "4096", "sliding_window is 4096; only null"},
        {"attention_chunk_size", "8", "attention_chunk_size"},
        {"layer_types", "[\"sliding_attention\"]", "layer_types"},
        {"per_layer_config", "{\"0\": {}}", "per_layer_config"},
        {"quantization_config", "{\"bits\": 4}", "quantization_config"},
        {"rope_scaling", "{\"rope_type\": \"yarn\", \"factor\": 2, \"truncate\": false}",
         "truncate"},
        {"rope_scaling", "[]", "rope_scaling"},
        {"rope_parameters", "{\"rope_type\": \"nosuch\"}", "nosuch"},
    };
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++)
        refuse_edit(edits[i].key, edits[i].json, edits[i].message);
}

/* Keys that are absent or null have transformers' defaults. */
TEST(test_defaults) {
    ModelConfig config = small_config();
    const char *directory = fresh_directory(&config);
    static const char *const optional[] = {
        "head_dim",      "num_key_value_heads", "hidden_act",         "attention_bias",
        "mlp_bias",      "rope_scaling",        "rope_theta",         "rms_norm_eps",
        "architectures", "bos_token_id",        "tie_word_embeddings"};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        edit_config(directory, optional[i], i % 2 ? "null" : NULL);
    edit_config(directory, "max_position_embeddings", NULL);
    ModelFile file = read_model(directory);
    assert_true(file.model->config.norm_eps == 1e-6);
    assert_int_equal(file.model->config.context_length, 2048);
    assert_int_equal(file.model->config.num_kv_heads, 4);
    assert_true(file.model->config.position.base == 10000);
    assert_int_equal(file.model->config.position.layout, LAYOUT_HALF);
    model_file_free(&file);
}

/* rope_theta inside rope_parameters, as transformers 5 writes it. */
TEST(test_rope_parameters) {
    ModelConfig config = small_config();
    const char *directory = fresh_directory(&config);
    edit_config(directory, "rope_theta", NULL);
    edit_config(directory, "rope_parameters",
                "{\"rope_theta\": 77, \"rope_type\": \"yarn\", \"factor\": 2.0, "
                "\"original_max_position_embeddings\": 12}");
    ModelFile file = read_model(directory);
    const PositionConfig *position = &file.model->config.position;
    assert_true(position->base == 77);
    assert_int_equal(position->scaling.type, ROPE_SCALING_YARN);
    assert_int_equal(position->scaling.original_context, 12);
    assert_true(position->scaling.beta_fast == 32 && position->scaling.beta_slow == 1);
    model_file_free(&file);
}

/* Where rope's settings stand, and which of them count: what transformers 5.24 computes with
 * max_position_embeddings 64 and heads of 8. */
TEST(test_rope_keys) {
    static const struct {
        const char *scaling, *parameters, *theta, *original;
        double frequencies[4], magnitude;
    } cases[] = {
        {"{\"rope_type\": \"yarn\", \"factor\": 4}",
         NULL,
         NULL,
         "16",
         {1, 0.025, 0.0025, 0.00025},
         1.138629436111989},
        {"{\"rope_type\": \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": 32}",
         NULL,
         NULL,
         "16",
         {1, 0.025, 0.0025, 0.00025},
         1.138629436111989},
        {NULL,
         "{\"rope_type\": \"yarn\", \"factor\": 4}",
         NULL,
         NULL,
         {1, 0.0625, 0.0025, 0.00025},
         1.138629436111989},
        {"{\"rope_type\": \"llama3\", \"factor\": 4, \"low_freq_factor\": 1, "
         "\"high_freq_factor\": 4}",
         NULL,
         NULL,
         "16",
         {0.6366197466850281, 0.025, 0.0025, 0.00025},
         1},
        {"{\"rope_type\": \"llama3\", \"factor\": 4, \"low_freq_factor\": 1, "
         "\"high_freq_factor\": 4}",
         NULL,
         NULL,
         NULL,
         {1, 0.02546478994190693, 0.0025, 0.00025},
         1},
        {"{\"rope_type\": \"yarn\", \"factor\": 4, \"attention_factor\": 1.5}",
         NULL,
         NULL,
         NULL,
         {1, 0.0625, 0.0025, 0.00025},
         1.5},
        {"{\"rope_type\": \"yarn\", \"factor\": 4, \"mscale\": 0.7, \"mscale_all_dim\": 1}",
         NULL,
         NULL,
         NULL,
         {1, 0.0625, 0.0025, 0.00025},
         0.9634746568860826},
        {"{\"rope_type\": \"yarn\", \"factor\": 4, \"mscale\": 0.7}",
         NULL,
         NULL,
         NULL,
         {1, 0.0625, 0.0025, 0.00025},
         1.138629436111989},
        {"{\"rope_type\": \"linear\", \"factor\": 2, \"attention_factor\": 3}",
         NULL,
         NULL,
         NULL,
         {0.5, 0.05, 0.005, 0.0005},
         1},
        {"{\"rope_type\": \"default\", \"type\": \"linear\", \"factor\": 2}",
         NULL,
         NULL,
         NULL,
         {1, 0.1, 0.01, 0.001},
         1},
        {"{}",
         "{\"rope_type\": \"linear\", \"factor\": 2}",
         NULL,
         NULL,
         {0.5, 0.05, 0.005, 0.0005},
         1},
        /* both: rope_scaling counts, and of the other not even rope_theta */
        {"{\"rope_type\": \"linear\", \"factor\": 2}",
         "{\"rope_type\": \"default\", \"rope_theta\": 500000}",
         NULL,
         NULL,
         {0.5, 0.05, 0.005, 0.0005},
         1},
        {"{\"rope_type\": \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": 16}",
         "{\"rope_type\": \"default\", \"rope_theta\": 10000}",
         NULL,
         NULL,
         {1, 0.025, 0.0025, 0.00025},
         1.138629436111989},
        {"{\"rope_type\": \"linear\", \"factor\": 2}",
         "{}",
         "500000",
         NULL,
         {0.5, 0.01880301535129547, 0.000707106722984463, 2.6591478672344238e-05},
         1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ModelConfig config = small_config();
        const char *directory = fresh_directory(&config);
        edit_config(directory, "max_position_embeddings", "64");
        edit_config(directory, "rope_scaling", cases[i].scaling);
        edit_config(directory, "rope_parameters", cases[i].parameters);
        edit_config(directory, "rope_theta", cases[i].theta);
        edit_config(directory, "original_max_position_embeddings", cases[i].original);
        ModelFile file = read_model(directory);
        double frequencies[4], magnitude;
        position_rope_frequencies(&file.model->config.position, 8, 64, 1, frequencies, &magnitude);
        for (int k = 0; k < 4; k++)
            if (fabs(frequencies[k] / cases[i].frequencies[k] - 1) > 1e-6)
                fail_msg("case %zu: frequency %d is %.9g", i, k, frequencies[k]);
        if (fabs(magnitude - cases[i].magnitude) > 1e-9)
            fail_msg("case %zu: the magnitude is %.9g", i, magnitude);
        bool both = cases[i].scaling && cases[i].parameters && strlen(cases[i].scaling) > 2 &&
                    strlen(cases[i].parameters) > 2;
        assert_true(warned(&file, "all of rope_parameters is ignored") == both);
        model_file_free(&file);
    }
}

/* An original context longer than any we allocate, also on the way through our own config. */
TEST(test_long_original_context) {
    ModelConfig config = small_config();
    const char *directory = fresh_directory(&config), *ours = scratch_path("long-original");
    edit_config(directory, "rope_scaling",
                "{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, "
                "\"high_freq_factor\": 4, \"original_max_position_embeddings\": 2097152}");
    ModelFile file = read_model(directory);
    write_model(&file, MODEL_TINYLM, ours);
    model_file_free(&file);
    file = read_model(ours);
    assert_int_equal(file.model->config.position.scaling.original_context, 2097152);
    model_file_free(&file);
}

/* Keys that transformers does not look at are named, those that it knows are not. */
TEST(test_ignored_keys) {
    ModelConfig config = small_config();
    const char *directory = fresh_directory(&config);
    edit_config(directory, "attention_dropout", "0.1");
    edit_config(directory, "pretraining_tp", "2");
    ModelFile file = read_model(directory);
    assert_false(warned(&file, "ignored"));
    model_file_free(&file);
    edit_config(directory, "logit_scale", "2");
    edit_config(directory, "rope_scaling",
                "{\"rope_type\": \"linear\", \"factor\": 2, \"beta_fast\": 3}");
    file = read_model(directory);
    assert_true(warned(&file, "transformers' Llama models: logit_scale, rope_scaling.beta_fast"));
    model_file_free(&file);
}

/* Frequencies of the shared cases, whatever the spelling. */
CASES_TEST(test_scaling_cases) {
    const char *path = need_case("cases/num/f07_rope_scaling.json");
    cJSON *json = read_json(path), *item;
    int count = 0;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(json, "cases")) {
        const cJSON *given = cJSON_GetObjectItem(item, "config");
        int64_t d_head = (int64_t)cJSON_GetObjectItem(given, "head_dim")->valuedouble;
        ModelConfig config = small_config();
        config.num_heads = config.num_kv_heads = 1;
        config.d_model = d_head;
        const char *directory = fresh_directory(&config);
        const cJSON *theta = cJSON_GetObjectItem(given, "rope_theta");
        char *scaling = cJSON_PrintUnformatted(cJSON_GetObjectItem(given, "rope_scaling"));
        char *theta_text = theta ? cJSON_PrintUnformatted(theta) : NULL;
        edit_config(directory, "rope_scaling", scaling);
        edit_config(directory, "rope_theta", theta_text);
        if (cJSON_GetObjectItem(item, "error")) {
            refuse_reading(directory, "rope_scaling");
        } else {
            ModelFile file = read_model(directory);
            const ModelConfig *read = &file.model->config;
            double frequencies[64], magnitude;
            position_rope_frequencies(&read->position, d_head, read->context_length, 1, frequencies,
                                      &magnitude);
            const cJSON *wanted = cJSON_GetObjectItem(item, "inv_freq");
            assert_int_equal(cJSON_GetArraySize(wanted), d_head / 2);
            for (int i = 0; i < d_head / 2; i++) {
                double value = cJSON_GetArrayItem(wanted, i)->valuedouble;
                assert_true(frequencies[i] > value * (1 - 1e-6) &&
                            frequencies[i] < value * (1 + 1e-6));
            }
            model_file_free(&file);
        }
        cJSON_free(scaling);
        cJSON_free(theta_text);
        count++;
    }
    assert_true(count > 0);
    cJSON_Delete(json);
}

/* Lists of end tokens; generation_config.json goes before config.json where it names some. The model
 * has no tokenizer here: ids end all the same. */
TEST(test_end_tokens) {
    static const struct {
        const char *config, *generation;
        int64_t ends[3]; /* up to the first -1 */
    } cases[] = {
        {"3", NULL, {3, -1}},        {"[3, 4]", NULL, {3, 4, -1}}, {"[3, 4]", "null", {3, 4, -1}},
        {"3", "5", {5, -1}},         {"3", "[6, 5]", {6, 5, -1}},  {NULL, "[6, 5]", {6, 5, -1}},
        {"[300, 4]", NULL, {4, -1}}, /* 270 rows */
        {NULL, NULL, {-1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ModelConfig config = small_config();
        const char *directory = fresh_directory(&config);
        edit_config(directory, "eos_token_id", cases[i].config);
        edit_file(directory, "generation_config.json", "eos_token_id", cases[i].generation);
        ModelFile file = read_model(directory);
        int count = 0;
        for (; cases[i].ends[count] >= 0; count++)
            assert_true(model_tokenizer_ends(&file.tokenizer, (uint32_t)cases[i].ends[count]));
        assert_int_equal(file.tokenizer.end_count, count);
        assert_int_equal(model_tokenizer_end(&file.tokenizer), cases[i].ends[0]);
        model_file_free(&file);
    }
}

int main(void) {
    return run_all_tests(make_scratch, remove_scratch);
}
