/* Hugging Face directories: weights, their names, shards and heads. */
#include "huggingface_files.h"

#include "formats/safetensors.h"

typedef struct Items {
    Safetensors file;
    StoredTensor items[64];
    int64_t count;
} Items;

static Items *items_of(const char *directory) {
    Items *items = calloc(1, sizeof *items);
    Error error = {""};
    char *path = path_join(directory, "model.safetensors");
    if (!safetensors_open(&items->file, path, &error)) fail_msg("%s", error.message);
    free(path);
    for (int64_t i = 0; i < items->file.tensors.count; i++) {
        items->items[items->count++] = items->file.tensors.items[i];
    }
    return items;
}

static void write_items(Items *items, const char *directory, const char *name, int64_t from,
                        int64_t to) {
    Error error = {""};
    char *path = path_join(directory, name);
    if (!safetensors_write(path, items->items + from, to - from, NULL, 0, false, NULL, &error))
        fail_msg("%s", error.message);
    free(path);
}

static void free_items(Items *items) {
    safetensors_close(&items->file);
    free(items);
}

static StoredTensor *find_item(Items *items, const char *name) {
    for (int64_t i = 0; i < items->count; i++)
        if (strcmp(items->items[i].name, name) == 0) return &items->items[i];
    fail_msg("no %s", name);
    return NULL;
}

TEST(test_heads) {
    ModelConfig config = small_config();
    const char *directory = fresh_directory(&config);
    edit_config(directory, "tie_word_embeddings", "true");
    ModelFile file = read_model(directory); /* the flag wins over a head that differs */
    assert_true(file.model->config.tie_embeddings);
    assert_true(warned(&file, "lm_head.weight differs"));
    model_file_free(&file);

    Items *items = items_of(directory); /* the same head twice: no warning */
    find_item(items, "lm_head.weight")->data = find_item(items, "model.embed_tokens.weight")->data;
    write_items(items, directory, "model.safetensors", 0, items->count);
    free_items(items);
    file = read_model(directory);
    assert_false(warned(&file, "lm_head"));
    model_file_free(&file);

    config.tie_embeddings = true; /* a missing head with the flag false */
    directory = fresh_directory(&config);
    edit_config(directory, "tie_word_embeddings", "false");
    refuse_reading(directory, "tie_word_embeddings is false");
}

/* One of its files may be named instead of the directory. */
TEST(test_file_in_directory) {
    ModelConfig config = small_config();
    const char *directory = fresh_directory(&config);
    char *path = path_join(directory, "model.safetensors"),
         *other = path_join(directory, "x.safetensors");
    ModelFile by_directory = read_model(directory), by_file = read_model(path);
    assert_same_weights(by_directory.model, by_file.model);
    assert_int_equal(rename(path, other), 0);
    ModelFile by_other = read_model(other);
    assert_same_weights(by_directory.model, by_other.model);
    refuse_reading(directory, "model.safetensors: no such file");
    model_file_free(&by_directory);
    model_file_free(&by_file);
    model_file_free(&by_other);
    free(path);
    free(other);
}

TEST(test_strange_tensors) {
    ModelConfig config = small_config();
    const char *directory = fresh_directory(&config);
    Items *items = items_of(directory);
    float numbers[32] = {1};
    StoredTensor *extra = &items->items[items->count];
    *extra = (StoredTensor){
        "model.layers.0.self_attn.rotary_emb.inv_freq", NUMBER_F32, 1, {4}, numbers, 0, 0};
    write_items(items, directory, "model.safetensors", 0, items->count + 1);
    ModelFile file = read_model(directory); /* old files carry the frequencies along */
    model_file_free(&file);
    *extra =
        (StoredTensor){"model.layers.0.self_attn.q_proj.bias", NUMBER_F32, 1, {32}, numbers, 0, 0};
    write_items(items, directory, "model.safetensors", 0, items->count + 1);
    refuse_reading(directory, "q_proj.bias");
    find_item(items, "model.norm.weight")->type = NUMBER_I32;
    write_items(items, directory, "model.safetensors", 0, items->count);
    refuse_reading(directory, "type I32");
    free_items(items);
}

/* The names with `from` at their beginning have `to` there instead; the head has none of both. */
static void rename_tensors(const char *directory, const char *from, const char *to) {
    Items *items = items_of(directory);
    char *names[64];
    for (int64_t i = 0; i < items->count; i++) {
        const char *name = items->items[i].name;
        bool match = strncmp(name, from, strlen(from)) == 0;
        items->items[i].name = names[i] =
            string_format("%s%s", match ? to : "", name + (match ? strlen(from) : 0));
    }
    write_items(items, directory, "model.safetensors", 0, items->count);
    for (int64_t i = 0; i < items->count; i++) free(names[i]);
    free_items(items);
}

/* Base models, which lack "model.", and what torch.compile was applied to: whole, inside, a layer. */
TEST(test_prefixes) {
    static const char *const renamed[][2] = {{"model.", ""},
                                             {"model.", "_orig_mod."},
                                             {"", "_orig_mod."},
                                             {"model.", "model._orig_mod."},
                                             {"model.layers.1.", "model.layers.1._orig_mod."}};
    ModelConfig config = small_config();
    for (int tied = 0; tied < 2; tied++)
        for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++) {
            config.tie_embeddings = tied;
            const char *directory = fresh_directory(&config);
            ModelFile usual = read_model(directory);
            rename_tensors(directory, renamed[i][0], renamed[i][1]);
            edit_config(directory, "architectures",
                        i == 0 ? "[\"LlamaModel\"]" : "[\"LlamaForCausalLM\"]");
            ModelFile file = read_model(directory);
            assert_same_weights(usual.model, file.model);
            model_file_free(&usual);
            model_file_free(&file);
        }
    const char *directory = fresh_directory(&config); /* tied, so that there is no head */
    rename_tensors(directory, "model.", "");
    edit_config(directory, "tie_word_embeddings", "false");
    refuse_reading(directory, "is a base model (LlamaModel) without the tensor 'lm_head.weight'");
    rename_tensors(directory, "", "other.");
    refuse_reading(directory, "is missing");

    ModelFile file = small_file(&config, false); /* a course's model with the same mark */
    const char *ours = scratch_path("compiled");
    write_model(&file, MODEL_TINYLM, ours);
    model_file_free(&file);
    rename_tensors(ours, "", "_orig_mod.");
    refuse_reading(ours, "its names begin with '_orig_mod.'");
}

TEST(test_shards) {
    ModelConfig config = small_config();
    const char *directory = fresh_directory(&config);
    ModelFile whole = read_model(directory);
    Items *items = items_of(directory);
    int64_t middle = items->count / 2;
    write_items(items, directory, "model-00001-of-00002.safetensors", 0, middle);
    write_items(items, directory, "model-00002-of-00002.safetensors", middle, items->count);
    char *index = path_join(directory, "model.safetensors.index.json");
    cJSON *json = cJSON_CreateObject(), *map = cJSON_AddObjectToObject(json, "weight_map");
    for (int64_t i = 0; i < items->count; i++)
        cJSON_AddStringToObject(map, items->items[i].name,
                                i < middle ? "model-00001-of-00002.safetensors"
                                           : "model-00002-of-00002.safetensors");
    char *text = cJSON_Print(json);
    write_bytes(index, text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(json);
    char *single = path_join(directory, "model.safetensors");
    unlink(single);
    ModelFile file = read_model(directory);
    assert_same_weights(whole.model, file.model);
    model_file_free(&file);
    model_file_free(&whole);

    write_items(items, directory, "model-00002-of-00002.safetensors", middle - 1, items->count);
    refuse_reading(directory, "in two shards");
    write_items(items, directory, "model-00002-of-00002.safetensors", middle + 1, items->count);
    refuse_reading(directory, "is missing");
    static const char *const bad[] = {"{}", "{\"weight_map\": {\"a\": 1}}",
                                      "{\"weight_map\": {\"a\": \"../x.safetensors\"}}",
                                      "{\"weight_map\": {\"a\": \"nosuch.safetensors\"}}"};
    static const char *const messages[] = {"weight_map", "no file name", "beside it",
                                           "no such file"};
    for (int i = 0; i < 4; i++) {
        write_bytes(index, bad[i], strlen(bad[i]));
        refuse_reading(directory, messages[i]);
    }
    free_items(items);
    free(single);
    free(index);
}

int main(void) {
    return run_all_tests(make_scratch, remove_scratch);
}
