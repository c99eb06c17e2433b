/* Models through every format and back, and what a format cannot hold. */
#include "formats/directory_writer.h"
#include "formats/gguf/gguf.h"
#include "model_files.h"

#include <math.h>

static const char *const ENDINGS[MODEL_FORMAT_COUNT] = {"", "", ".gguf", ".bin"};

static const char *numbered_path(const char *name, int number, const char *ending) {
    char text[64];
    snprintf(text, sizeof text, "%s%d%s", name, number, ending);
    return scratch_path(text);
}

/* A model out of each format and into it again gives the same file, and the same weights. */
static void round_trip(const ModelConfig *config, int format, int number) {
    const char *first = numbered_path("first", number, ENDINGS[format]);
    const char *ours = numbered_path("ours", number, "");
    const char *second = numbered_path("second", number, ENDINGS[format]);
    ModelFile file = small_file(config, false);
    write_model(&file, format, first);
    ModelFile there = read_model(first);
    assert_ptr_equal(there.format, model_formats[format]);
    assert_same_weights(file.model, there.model);
    assert_int_equal(there.model->config.tie_embeddings, config->tie_embeddings);
    assert_int_equal(there.model->config.num_kv_heads, config->num_kv_heads);
    assert_int_equal(there.model->config.context_length, config->context_length);
    assert_true(there.model->config.norm_eps == config->norm_eps);
    write_model(&there, MODEL_TINYLM, ours);
    ModelFile back = read_model(ours);
    assert_ptr_equal(back.format, &tinylm_format);
    write_model(&back, format, second);
    if (format == MODEL_HUGGINGFACE || format == MODEL_TINYLM) {
        char *one = path_join(first, "model.safetensors"),
             *two = path_join(second, "model.safetensors");
        assert_same_bytes(one, two);
        free(one);
        free(two);
        one = path_join(first, "config.json"), two = path_join(second, "config.json");
        assert_same_bytes(one, two);
        free(one);
        free(two);
    } else {
        assert_same_bytes(first, second);
    }
    model_file_free(&file);
    model_file_free(&there);
    model_file_free(&back);
}

TEST(test_round_trips) {
    int number = 0;
    for (int variant = 0; variant < 4; variant++)
        for (int format = 0; format < MODEL_FORMAT_COUNT; format++) {
            ModelConfig config = small_config();
            if (variant == 1) config.num_kv_heads = 2;
            if (variant == 2) config.tie_embeddings = true;
            if (variant == 3) config.position.layout = LAYOUT_HALF;
            round_trip(&config, format, number++);
        }
}

/* Row r of a head in half order is row 2r, or 2(r − D/2) + 1, in interleaved order. */
TEST(test_row_order) {
    ModelConfig config = small_config();
    config.num_kv_heads = 2;
    Model *model = small_model(&config);
    real *half = llama_values(model, LAYOUT_HALF);
    const char *names[] = {"layers.1.attn.q_proj.weight", "layers.1.attn.k_proj.weight"};
    for (int which = 0; which < 2; which++) {
        const Parameter *part = parameters_find(&model->parameters, names[which]);
        const real *before = model->parameters.values + part->offset, *after = half + part->offset;
        for (int64_t head = 0; head < (which ? 2 : 4); head++)
            for (int64_t r = 0; r < 8; r++) {
                int64_t from = 8 * head + (r < 4 ? 2 * r : 2 * (r - 4) + 1);
                assert_memory_equal(after + (8 * head + r) * 32, before + from * 32,
                                    32 * sizeof(real));
            }
    }
    const Parameter *v = parameters_find(&model->parameters, "layers.1.attn.v_proj.weight");
    assert_memory_equal(half + v->offset, model->parameters.values + v->offset,
                        (size_t)parameter_size(v) * sizeof(real));
    free(half);
    model_free(model);
}

TEST(test_scaling_survives) {
    static const RopeScaling scalings[] = {
        {.type = ROPE_SCALING_LINEAR, .factor = 2.5, .original_context = 24},
        {.type = ROPE_SCALING_DYNAMIC_NTK, .factor = 4, .original_context = 24},
        {.type = ROPE_SCALING_YARN,
         .factor = 3,
         .original_context = 8,
         .beta_fast = 16,
         .beta_slow = 2},
        {.type = ROPE_SCALING_YARN,
         .factor = 3,
         .original_context = 8,
         .beta_fast = 16,
         .beta_slow = 2,
         .attention_factor = 1.25},
        {.type = ROPE_SCALING_LLAMA3,
         .factor = 8,
         .original_context = 8,
         .low_freq_factor = 1,
         .high_freq_factor = 4.5},
    };
    for (int i = 0; i < 5; i++)
        for (int format = MODEL_HUGGINGFACE; format <= MODEL_GGUF; format++) {
            ModelConfig config = small_config();
            config.position.scaling = scalings[i];
            if (format == MODEL_GGUF && scalings[i].type == ROPE_SCALING_DYNAMIC_NTK) {
                refuse_writing(&config, MODEL_GGUF, "dynamic NTK");
                continue;
            }
            ModelFile file = small_file(&config, false);
            const char *path = numbered_path("scaled", 10 * i + format, ENDINGS[format]);
            write_model(&file, format, path);
            ModelFile back = read_model(path);
            const RopeScaling *got = &back.model->config.position.scaling;
            assert_int_equal(got->type, scalings[i].type);
            assert_true(got->factor == scalings[i].factor);
            assert_true(got->beta_fast == scalings[i].beta_fast &&
                        got->beta_slow == scalings[i].beta_slow);
            assert_true(got->low_freq_factor == scalings[i].low_freq_factor &&
                        got->high_freq_factor == scalings[i].high_freq_factor);
            assert_int_equal(got->original_context, scalings[i].original_context);
            assert_true(fabs(got->attention_factor - scalings[i].attention_factor) < 1e-6);
            assert_same_weights(file.model, back.model);
            model_file_free(&file);
            model_file_free(&back);
        }
}

/* A file with one matrix and these keys: reading ends at the first tensor that is missing, or before. */
static void write_keys(const char *path, const char *key, double value, bool yarn) {
    static const real table[64];
    GgufWriter *writer = gguf_writer_new();
    Error error;
    gguf_add_string(writer, "general.architecture", "llama");
    gguf_add_string(writer, "llama.rope.scaling.type", yarn ? "yarn" : "linear");
    gguf_add_float32(writer, "llama.rope.scaling.factor", 2);
    gguf_add_float32(writer, "llama.attention.layer_norm_rms_epsilon", 1e-5F);
    static const char *const numbers[] = {"context_length", "embedding_length",
                                          "feed_forward_length", "attention.head_count"};
    static const uint32_t values[] = {8, 8, 8, 2};
    for (int k = 0; k < 4; k++) {
        char *name = string_format("llama.%s", numbers[k]);
        gguf_add_uint32(writer, name, values[k]);
        free(name);
    }
    gguf_add_uint32(writer, "llama.block_count", 1);
    if (strcmp(key, "llama.attention.causal") == 0)
        gguf_add_bool(writer, key, value != 0);
    else
        gguf_add_float32(writer, key, (float)value);
    gguf_add_tensor(writer, "token_embd.weight", NUMBER_F32, 2, (int64_t[]){8, 8}, table);
    if (!gguf_write(writer, path, &error)) fail_msg("%s", error.message);
    gguf_writer_free(writer);
}

/* Keys of llama.cpp that our computation has no place for are refused, but for their usual value. */
TEST(test_foreign_keys) {
    static const struct {
        const char *key;
        double usual, other;
    } keys[] = {
        {"llama.rope.scaling.yarn_attn_factor", 1, 2},
        {"llama.rope.scaling.yarn_ext_factor", 1, 0},
        {"llama.rope.scaling.yarn_log_multiplier", 0, 0.1},
        {"llama.attention.scale", 0, 0.5},
        {"llama.attention.sliding_window", 0, 4096},
        {"llama.attention.clamp_kqv", 0, 8},
        {"llama.attention.max_alibi_bias", 0, 8},
        {"llama.attention.causal", 1, 0},
        {"llama.logit_scale", 1, 0.25},
        {"llama.embedding_scale", 1, 12},
        {"llama.residual_scale", 0, 0.22},
        {"llama.expert_count", 0, 8},
        {"llama.attn_logit_softcapping", 0, 50},
        {"llama.final_logit_softcapping", 0, 30},
    };
    const char *path = scratch_path("keys.gguf");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        write_keys(path, keys[i].key, keys[i].usual, i % 2);
        refuse_reading(path, "is missing");
        write_keys(path, keys[i].key, keys[i].other, i % 2);
        refuse_reading(path, keys[i].key);
    }
    write_keys(path, "llama.rope.scaling.attn_factor", 2, false); /* only yarn has it */
    refuse_reading(path, "llama.rope.scaling.attn_factor");
    write_keys(path, "llama.rope.scaling.attn_factor", 2, true);
    refuse_reading(path, "is missing");
}

TEST(test_parts_of_a_split_file) {
    const char *path = scratch_path("part.gguf");
    Error error;
    GgufWriter *writer = gguf_writer_new();
    gguf_add_uint32(writer, "split.no", 1);
    gguf_add_uint32(writer, "split.count", 3);
    assert_true(gguf_write(writer, path, &error));
    gguf_writer_free(writer);
    refuse_reading(path, "is part 2 of 3 of a split GGUF");
    for (int part = 1; part <= 2; part++) {
        char *name = string_format("cases/turn2/split_gguf/tiny-0000%d-of-00002.gguf", part);
        char *message = string_format("is part %d of 2", part);
        cases_folder = shared_folder();
        const char *shared = case_path(name);
        if (shared) refuse_reading(shared, message);
        free(name);
        free(message);
    }
}

TEST(test_refusals) {
    for (int format = MODEL_HUGGINGFACE; format <= MODEL_LLAMA2C; format++) {
        ModelConfig config = small_config();
        config.norm = NORM_POST;
        refuse_writing(&config, format, "'post'");
        config.norm = NORM_NONE;
        refuse_writing(&config, format, "'none'");
        config = small_config(), config.ffn = FFN_SILU;
        refuse_writing(&config, format, "'silu'");
        config = small_config(), config.position = (PositionConfig){.type = POSITION_NONE};
        refuse_writing(&config, format, "rotary");
        config = small_config(), config.position.fraction = 0.5;
        refuse_writing(&config, format, "0.5");
        config = small_config(), config.position.rotate_values = true;
        refuse_writing(&config, format, "values");
    }
    ModelConfig config = small_config();
    config.position.base = 500000;
    refuse_writing(&config, MODEL_LLAMA2C, "theta 10000");
    config = small_config(), config.norm_eps = 1e-6;
    refuse_writing(&config, MODEL_LLAMA2C, "norm_eps");
}

/* A directory that is there is not touched; nothing is left of a write that failed. */
TEST(test_nothing_half_written) {
    ModelConfig config = small_config();
    ModelFile file = small_file(&config, true);
    Error error = {""};
    const char *path = scratch_path("taken"), *inside = scratch_path("taken/file");
    assert_true(directory_create(path, &error));
    write_bytes(inside, "x", 1);
    for (int format = MODEL_TINYLM; format <= MODEL_HUGGINGFACE; format++) {
        assert_false(model_file_write(&file, model_formats[format], path, false, &error));
        assert_non_null(strstr(error.message, "already exists"));
    }
    assert_true(file_exists(inside));
    assert_false(model_file_write(&file, model_formats[MODEL_GGUF], path, false, &error));
    assert_false(model_file_write(&file, model_formats[MODEL_LLAMA2C],
                                  scratch_path("taken/file/x.bin"), false, &error));
    assert_true(directory_create(scratch_path("is-a-directory.bin/x"), &error));
    assert_false(model_file_write(&file, model_formats[MODEL_LLAMA2C],
                                  scratch_path("is-a-directory.bin"), false, &error));
    assert_false(file_exists(scratch_path("is-a-directory-tokenizer.bin")));
    char *command = string_format("ls -d '%s'/*.tmp.* 2>/dev/null | grep -q .", scratch);
    assert_int_not_equal(system(command), 0);
    free(command);
    model_file_free(&file);
}

/* ---- tokenizers ---- */

TEST(test_tokenizer_travels) {
    ModelConfig config = small_config(); /* 270 rows, five of them without a token */
    ModelFile file = small_file(&config, true);
    for (int format = MODEL_TINYLM; format <= MODEL_GGUF; format++) {
        const char *path = numbered_path("tokens", format, ENDINGS[format]);
        write_model(&file, format, path);
        ModelFile back = read_model(path);
        if (!back.tokenizer.bpe) fail_msg("%s: the tokenizer is lost", path);
        assert_true(tokenizer_fingerprint(back.tokenizer.bpe) ==
                    tokenizer_fingerprint(file.tokenizer.bpe));
        assert_int_equal(model_tokenizer_size(&back.tokenizer), 265);
        assert_int_equal(model_tokenizer_start(&back.tokenizer), 0);
        assert_true(model_tokenizer_ends(&back.tokenizer, 0));
        model_file_free(&back);
    }
    model_file_free(&file);
}

/* A token that begins texts and another one that ends them: Hugging Face and GGUF name both. */
TEST(test_start_and_end_travel) {
    Error error;
    ModelConfig config = small_config();
    ModelFile file = small_file(&config, true);
    assert_true(tokenizer_add_token(file.tokenizer.bpe, 265, (const uint8_t *)"<end>", 5, &error) &&
                tokenizer_add_special(file.tokenizer.bpe, "<end>", &error));
    model_tokenizer_set_ends(&file.tokenizer, (const int64_t[]){265, 7, 264, 9}, 4);
    model_tokenizer_set_start(&file.tokenizer, 264); /* no special token: not taken */
    static const int kept[] = {[MODEL_TINYLM] = 0, [MODEL_HUGGINGFACE] = 4, [MODEL_GGUF] = 3};
    for (int format = MODEL_TINYLM; format <= MODEL_GGUF; format++) {
        const char *path = numbered_path("ends", format, ENDINGS[format]);
        int warnings = file.warning_count;
        write_model(&file, format, path);
        assert_int_equal(file.warning_count - warnings, kept[format] < 4);
        ModelFile back = read_model(path);
        assert_int_equal(model_tokenizer_start(&back.tokenizer), 0);
        assert_int_equal(model_tokenizer_end(&back.tokenizer), kept[format] ? 265 : 0);
        static const uint32_t ends[] = {265, 7, 264, 9};
        for (int i = 0; i < 4; i++)
            assert_true(model_tokenizer_ends(&back.tokenizer, ends[i]) == (i < kept[format]));
        assert_true(model_tokenizer_ends(&back.tokenizer, 0) == (kept[format] == 0));
        model_file_free(&back);
    }
    int warnings = file.warning_count;
    write_model(&file, MODEL_LLAMA2C, scratch_path("ends.bin"));
    assert_int_equal(file.warning_count - warnings, 1);
    model_file_free(&file);
}

/* What llama2.c's `run` makes of a text is what our merges make of it, ids renumbered. */
TEST(test_llama2c_ids) {
    static const char *const texts[] = {
        "the",        "and the band",         "ababab",
        "aabb the\n", "caf\xc3\xa9 \xc3\xa8", "\xf0\x9f\x98\x80\xff\x80"};
    ModelConfig config = small_config();
    ModelFile file = small_file(&config, true);
    const char *path = scratch_path("renumbered.bin");
    write_model(&file, MODEL_LLAMA2C, path);
    ModelFile back = read_model(path);
    assert_non_null(back.tokenizer.pieces);
    assert_int_equal(back.model->config.vocab_size, 265 - 1 + 3);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint32_t *ids, *pieces;
        size_t count, piece_count;
        Error error;
        char *spaced = string_format(" %s", texts[i]); /* run.c puts a blank before every prompt */
        assert_true(tokenizer_encode(file.tokenizer.bpe, (uint8_t *)spaced, strlen(spaced), &ids,
                                     &count, &error));
        assert_true(model_tokenizer_encode(&back.tokenizer, (const uint8_t *)texts[i],
                                           strlen(texts[i]), &pieces, &piece_count, &error));
        assert_int_equal(piece_count, count + 1);
        assert_int_equal(pieces[0], LLAMA2C_BEGIN);
        const Parameter *table =
            parameters_find(&file.model->parameters, "token_embeddings.weight");
        for (size_t k = 0; k < count; k++) /* the same row of the table */
            assert_memory_equal(file.model->parameters.values + table->offset + ids[k] * 32,
                                back.model->parameters.values + table->offset + pieces[k + 1] * 32,
                                32 * sizeof(real));
        free(spaced);
        free(ids);
        free(pieces);
    }
    model_file_free(&file);
    model_file_free(&back);
}

/* Other special tokens than <|endoftext|> are no merges: `run` never makes them of a text. */
TEST(test_llama2c_special) {
    ModelConfig config = small_config();
    ModelFile file = small_file(&config, true);
    Error error;
    Tokenizer *bpe = file.tokenizer.bpe;
    assert_true(tokenizer_add_special(bpe, "xy", &error));
    static const char *const parts[][2] = {{"<", "u"}, {"n", "k"}, {"u", "n"}, {"<u", "nk"}};
    for (int i = 0; i < 4; i++) {
        char *joined = string_format("%s%s", parts[i][0], parts[i][1]);
        assert_true(tokenizer_add_token(bpe, 266 + i, (uint8_t *)joined, strlen(joined), &error));
        free(joined);
        uint32_t ids[2];
        for (int k = 0; k < 2; k++)
            ids[k] = tokenizer_find(bpe, (const uint8_t *)parts[i][k], strlen(parts[i][k]));
        assert_true(tokenizer_add_merge(bpe, ids[0], ids[1], &error));
    }
    write_model(&file, MODEL_LLAMA2C, scratch_path("special.bin"));
    ModelFile back = read_model(scratch_path("special.bin"));
    static const uint32_t wanted[] = {LLAMA2C_BEGIN, LLAMA2C_FIRST_BYTE + ' ',
                                      LLAMA2C_FIRST_BYTE + 'x', LLAMA2C_FIRST_BYTE + 'y'};
    uint32_t *ids;
    size_t count;
    llama2c_tokenizer_encode(back.tokenizer.pieces, (const uint8_t *)"xy", 2, &ids, &count);
    assert_int_equal(count, 4);
    assert_memory_equal(ids, wanted, sizeof wanted);
    free(ids);
    /* nor <unk>, though "<unk" and ">" are tokens; "un", of higher rank, comes too late */
    llama2c_tokenizer_encode(back.tokenizer.pieces, (const uint8_t *)"<unk>", 5, &ids, &count);
    assert_int_equal(count, 4);
    assert_int_equal(ids[3], LLAMA2C_FIRST_BYTE + '>');
    free(ids);
    model_file_free(&file);
    model_file_free(&back);
}

/* Two models with different tokenizers in one folder keep one each. */
TEST(test_llama2c_neighbours) {
    ModelConfig config = small_config();
    Error error;
    assert_true(directory_create(scratch_path("two"), &error));
    ModelFile one = small_file(&config, true), two = small_file(&config, true);
    static const uint8_t token[] = "xyz";
    assert_true(tokenizer_add_token(two.tokenizer.bpe, 265, token, 3, &error));
    write_model(&one, MODEL_LLAMA2C, scratch_path("two/one.bin"));
    assert_int_equal(one.warning_count, 0);
    write_model(&two, MODEL_LLAMA2C, scratch_path("two/two.bin"));
    assert_int_equal(two.warning_count, 1);
    assert_true(file_exists(scratch_path("two/two-tokenizer.bin")));
    assert_false(file_exists(scratch_path("two/one-tokenizer.bin")));
    ModelFile again = read_model(scratch_path("two/one.bin"));
    assert_int_equal(model_tokenizer_size(&again.tokenizer), 267);
    model_file_free(&again);
    again = read_model(scratch_path("two/two.bin"));
    assert_int_equal(model_tokenizer_size(&again.tokenizer), 268);
    model_file_free(&again);
    model_file_free(&one);
    model_file_free(&two);
}

/* Decoding gives the text back, for any bytes. */
TEST(test_llama2c_decoding) {
    const char *path = need_shared("data/models/tok512.bin");
    Error error = {""};
    Llama2cTokenizer *pieces = llama2c_tokenizer_read(path, 512, &error);
    if (!pieces) fail_msg("%s", error.message);
    assert_null(llama2c_tokenizer_read(path, 511, &error));
    assert_null(llama2c_tokenizer_read(path, 513, &error));
    uint8_t text[2000];
    for (int round = 0; round < 20; round++) {
        size_t length = 0, count;
        while (length < sizeof text - 60) {
            uint64_t draw = random_u64(3, RANDOM_TEST, (uint64_t)round << 32 | length);
            if (draw % 8 == 0)
                text[length++] = (uint8_t)(draw >> 32);
            else
                length +=
                    (size_t)snprintf((char *)text + length, 40, "%s",
                                     (const char *[]){" once", " upon", "a", "time,", " Lily ",
                                                      "\n\n", "\xc3\xa9"}[(draw >> 8) % 7]);
        }
        uint32_t *ids;
        llama2c_tokenizer_encode(pieces, text, length, &ids, &count);
        assert_true(count < length); /* it does merge */
        size_t at = 0;
        for (size_t i = 1; i < count; i++) {
            size_t size;
            const uint8_t *bytes = llama2c_tokenizer_bytes(pieces, ids[i - 1], ids[i], &size);
            assert_true(size <= length - at);
            assert_memory_equal(bytes, text + at, size);
            at += size;
        }
        assert_int_equal(at, length);
        free(ids);
    }
    /* the ids that run.c gives */
    static const uint32_t wanted[] = {1, 403, 407, 261, 378};
    uint32_t *ids;
    size_t count;
    llama2c_tokenizer_encode(pieces, (const uint8_t *)"Once upon a time", 16, &ids, &count);
    assert_int_equal(count, 5);
    assert_memory_equal(ids, wanted, sizeof wanted);
    free(ids);
    llama2c_tokenizer_encode(pieces, NULL, 0, &ids, &count);
    assert_int_equal(count, 1);
    free(ids);
    llama2c_tokenizer_free(pieces);
}

/* A copy of a file with the byte `after` bytes behind the first occurrence of `text` changed. */
static const char *patched(const char *path, const char *text, size_t after, char byte) {
    size_t size, at = 0;
    char *bytes = read_bytes(path, &size);
    while (memcmp(bytes + at, text, strlen(text)) != 0) assert_true(++at + strlen(text) < size);
    bytes[at + after] = byte;
    const char *copy = scratch_path("patched.gguf");
    write_bytes(copy, bytes, size);
    free(bytes);
    return copy;
}

/* A tokenizer that makes other ids of a text than ours would is not used. */
TEST(test_foreign_gguf_tokenizers) {
    static const struct {
        bool pieces;
        const char *text;
        size_t after; /* a key is followed by its type in four bytes, then by its value */
        char byte;
    } cases[] = {
        {false, "tokenizer.ggml.pre", 18 + 4 + 8, 'x'},
        {true, "tokenizer.ggml.add_bos_token", 28 + 4, 0},
        {true, "tokenizer.ggml.add_space_prefix", 31 + 4, 0},
        {true, "tokenizer.ggml.bos_token_id", 27 + 4, 2},
        {true, "tokenizer.ggml.unknown_token_id", 31 + 4, 7},
        {true, "<0x41>", 4, '2'},
        {true, "<0xFF>", 4, '0'},
    };
    ModelConfig config = small_config();
    ModelFile bpe = small_file(&config, true);
    write_model(&bpe, MODEL_GGUF, scratch_path("bpe.gguf"));
    write_model(&bpe, MODEL_LLAMA2C, scratch_path("foreign.bin"));
    ModelFile pieces = read_model(scratch_path("foreign.bin"));
    write_model(&pieces, MODEL_GGUF, scratch_path("pieces.gguf"));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = scratch_path(cases[i].pieces ? "pieces.gguf" : "bpe.gguf");
        ModelFile file = read_model(path);
        assert_true(model_tokenizer_present(&file.tokenizer));
        model_file_free(&file);
        file = read_model(patched(path, cases[i].text, cases[i].after, cases[i].byte));
        if (model_tokenizer_present(&file.tokenizer)) fail_msg("used: %s", cases[i].text);
        assert_int_equal(file.warning_count, 1);
        assert_non_null(strstr(file.warnings[0], "only ids"));
        model_file_free(&file);
    }
    model_file_free(&pieces);
    model_file_free(&bpe);
}

/* A tokenizer that puts BOS first does so from GGUF too. */
TEST(test_gguf_with_bos) {
    ModelConfig config = small_config();
    ModelFile file = small_file(&config, true);
    write_model(&file, MODEL_GGUF, scratch_path("plain.gguf"));
    ModelFile begun =
        read_model(patched(scratch_path("plain.gguf"), "tokenizer.ggml.add_bos_token", 28 + 4, 1));
    assert_int_equal(begun.tokenizer.bpe->begin, model_tokenizer_start(&file.tokenizer));
    uint32_t *ids;
    size_t count;
    Error error;
    assert_true(
        model_tokenizer_encode(&begun.tokenizer, (const uint8_t *)"a", 1, &ids, &count, &error));
    assert_int_equal(count, 2);
    assert_int_equal(ids[0], begun.tokenizer.bpe->begin);
    free(ids);
    /* a split that llama.cpp has under another name, and one that it has not */
    begun.tokenizer.bpe->pretokenizer = &pretokenizers[PRETOKENIZER_DIGITS];
    write_model(&begun, MODEL_GGUF, scratch_path("digits.gguf"));
    ModelFile again = read_model(scratch_path("digits.gguf"));
    assert_true(tokenizer_fingerprint(again.tokenizer.bpe) ==
                tokenizer_fingerprint(begun.tokenizer.bpe));
    begun.tokenizer.bpe->pretokenizer = &pretokenizers[PRETOKENIZER_CL100K];
    assert_false(model_file_write(&begun, model_formats[MODEL_GGUF], scratch_path("none.gguf"),
                                  false, &error));
    assert_non_null(strstr(error.message, "cl100k"));
    model_file_free(&again);
    model_file_free(&begun);
    model_file_free(&file);
}

TEST(test_half_gguf) {
    ModelConfig config = small_config();
    ModelFile file = small_file(&config, false);
    Error error;
    const char *path = scratch_path("half.gguf");
    assert_true(model_file_write(&file, model_formats[MODEL_GGUF], path, true, &error));
    ModelFile back = read_model(path);
    for (int64_t i = 0; i < file.model->parameters.part_count; i++) {
        const Parameter *part = &file.model->parameters.parts[i];
        const real *a = file.model->parameters.values + part->offset;
        const real *b = back.model->parameters.values + part->offset;
        bool exact = memcmp(a, b, (size_t)parameter_size(part) * sizeof *a) == 0;
        assert_int_equal(exact, part->rank == 1);
        for (int64_t k = 0; k < parameter_size(part); k++)
            assert_true(b[k] - a[k] < 0.0005 && a[k] - b[k] < 0.0005);
    }
    model_file_free(&back);
    /* the largest float16, what is just rounded to it, and what is too large */
    static const struct {
        float weight;
        bool fits;
    } large[] = {{65504, true}, {-65519.996F, true}, {65520, false}, {-1e30F, false}};
    for (int i = 0; i < 4; i++) {
        file.model->parameters.values[7] = (real)large[i].weight;
        path = numbered_path("large", i, ".gguf");
        assert_true(model_file_write(&file, model_formats[MODEL_GGUF], path, true, &error) ==
                    large[i].fits);
        assert_true(file_exists(path) == large[i].fits);
        if (!large[i].fits) assert_non_null(strstr(error.message, "too large for f16"));
    }
    model_file_free(&file);
}

/* A signal in the middle of a folder, of a file in it, or just before it has its name. What was there
 * before stays, and what is done is done. */
TEST(test_interrupted_folder) {
    const char *path = scratch_path("interrupted"), *beside = scratch_path("beside");
    Error error;
    assert_true(file_write(beside, "stays", 5, &error));
    for (int moment = 0; moment < 3; moment++) {
        DirectoryWriter folder;
        FileWriter file = {0};
        assert_true(directory_writer_open(&folder, path, &error));
        char *inner = path_join(folder.temporary_path, "tokenizer");
        char *first = path_join(inner, "vocab.json"), *second = path_join(inner, "merges.txt");
        if (moment > 0) {
            assert_true(directory_create(inner, &error));
            assert_true(file_write(first, "{}", 2, &error));
        }
        if (moment > 1) assert_true(file_writer_open(&file, second, &error));
        file_remove_unfinished();
        assert_false(directory_exists(folder.temporary_path));
        assert_true(file_exists(beside));
        if (moment > 1) file_writer_abort(&file);
        directory_writer_abort(&folder);
        free(inner);
        free(first);
        free(second);
    }
    DirectoryWriter folder;
    assert_true(directory_writer_open(&folder, path, &error));
    char *inside = path_join(folder.temporary_path, "file");
    assert_true(file_write(inside, "x", 1, &error));
    assert_true(directory_writer_commit(&folder, &error));
    free(inside);
    file_remove_unfinished();
    inside = path_join(path, "file");
    assert_true(file_exists(inside));
    free(inside);
}

int main(void) {
    return run_all_tests(make_scratch, remove_scratch);
}
