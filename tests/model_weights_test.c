/* Weights to a file and back, and what is said when file and model do not fit together. */
#include "formats_helpers.h"

#include "formats/model_weights.h"
#include "formats/safetensors.h"
#include "generation_helpers.h"

static void assert_refused(const ModelConfig *config, const char *path, const char *part) {
    Error error = {""};
    Model *model = model_create(config, false, &error);
    assert_non_null(model);
    assert_false(model_weights_load(model, path, &error));
    if (!strstr(error.message, part)) fail_msg("'%s' does not say '%s'", error.message, part);
    assert_non_null(strstr(error.message, path));
    model_free(model);
}

TEST(weights_survive_a_round_trip) {
    for (int tied = 0; tied < 2; tied++) {
        ModelConfig config = tiny_config();
        config.tie_embeddings = tied;
        Model *model = tiny_model(&config), *other = tiny_model(&config);
        const char *path = scratch_path("model.safetensors");
        const char *again = scratch_path("again.safetensors");
        Error error;
        memset(other->parameters.values, 0, (size_t)other->parameters.size * sizeof(real));
        assert_true(model_weights_save(model, path, &error));
        assert_true(model_weights_load(other, path, &error));
        assert_memory_equal(model->parameters.values, other->parameters.values,
                            (size_t)model->parameters.size * sizeof(real));
        assert_true(model_weights_save(other, again, &error));
        size_t size, size_again;
        char *bytes = read_bytes(path, &size), *bytes_again = read_bytes(again, &size_again);
        assert_int_equal(size, size_again);
        assert_memory_equal(bytes, bytes_again, size);
        free(bytes);
        free(bytes_again);
        model_free(model);
        model_free(other);
    }
}

TEST(what_does_not_fit_is_named) {
    ModelConfig config = tiny_config(), other;
    Model *model = tiny_model(&config);
    const char *path = scratch_path("model.safetensors");
    Error error;
    assert_true(model_weights_save(model, path, &error));
    other = config, other.d_ff += 8;
    assert_refused(&other, path,
                   "'layers.0.ffn.w1.weight' is 24 x 16, and the model's config asks "
                   "for 32 x 16");
    other = config, other.num_layers += 1;
    assert_refused(&other, path, "'layers.2.ln1.weight' is missing");
    other = config, other.num_layers -= 1;
    assert_refused(&other, path, "'layers.1.ln1.weight' has no place");
    other = config, other.tie_embeddings = true;
    assert_refused(&other, path, "'lm_head.weight' has no place");
    assert_refused(&config, scratch_path("absent.safetensors"), "no such file");
    model_free(model);
}

TEST(whole_numbers_are_no_weights) {
    ModelConfig config = tiny_config();
    Model *model = tiny_model(&config);
    Parameters *p = &model->parameters;
    StoredTensor *items = allocate_zeroed((size_t)p->part_count, sizeof *items);
    for (int64_t i = 0; i < p->part_count; i++)
        items[i] = (StoredTensor){.name = p->parts[i].name,
                                  .type = i == 3 ? NUMBER_I32 : NUMBER_REAL,
                                  .rank = p->parts[i].rank,
                                  .shape = {p->parts[i].shape[0], p->parts[i].shape[1]},
                                  .data = p->values + p->parts[i].offset};
    const char *path = scratch_path("whole.safetensors");
    Error error;
    assert_true(safetensors_write(path, items, p->part_count, NULL, 0, false, NULL, &error));
    assert_refused(&config, path, "has type I32");
    free(items);
    model_free(model);
}

/* A checkpoint holds moments beside the weights, and a checksum that must be right. */
TEST(a_checkpoint_gives_its_weights) {
    ModelConfig config = tiny_config();
    Model *model = tiny_model(&config), *other = tiny_model(&config);
    Parameters *p = &model->parameters;
    StoredTensor *items = allocate_zeroed((size_t)p->part_count + 1, sizeof *items);
    for (int64_t i = 0; i < p->part_count; i++)
        items[i] = (StoredTensor){.name = p->parts[i].name,
                                  .type = NUMBER_REAL,
                                  .rank = p->parts[i].rank,
                                  .shape = {p->parts[i].shape[0], p->parts[i].shape[1]},
                                  .data = p->values + p->parts[i].offset};
    items[p->part_count] = items[0];
    items[p->part_count].name = "optimizer.m.token_embeddings.weight";
    const char *path = scratch_path("checkpoint.safetensors");
    Error error;
    assert_true(safetensors_write(path, items, p->part_count + 1, NULL, 0, true, NULL, &error));
    memset(other->parameters.values, 0, (size_t)p->size * sizeof(real));
    assert_true(model_weights_load(other, path, &error));
    assert_memory_equal(p->values, other->parameters.values, (size_t)p->size * sizeof(real));
    size_t size;
    char *bytes = read_bytes(path, &size);
    bytes[size - 1] ^= 1;
    write_bytes(path, bytes, size);
    assert_refused(&config, path, "checksum");
    free(bytes);
    free(items);
    model_free(model);
    model_free(other);
}

int main(void) {
    return run_all_tests(make_scratch, remove_scratch);
}
