#include "training/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "tokenizer/bpe_trainer.h"
#include "tokenizer/encoder.h"
#include "tokenizer/unicode.h"

static void notice(const CorpusOptions *options, char *line) {
    if (options->notice) options->notice(options->context, line);
    free(line);
}

/* A cache that is damaged or cannot be written costs time, not the run. */
static void warn(const CorpusOptions *options, const Error *reason) {
    notice(options, string_format("warning: the cache is not used: %s", reason->message));
}

static bool hash_file(const char *path, uint64_t *hash, Error *error) {
    MappedFile file;
    if (!file_map(&file, path, error)) return false;
    bool empty = file.size == 0;
    *hash = hash_bytes(0, file.data, file.size);
    file_unmap(&file);
    return !empty || error_set(error, "%s: is empty; put some text in it", path);
}

/* The same for a text of the corpus. The training text, whose hash is in the names of both the cached
 * tokenizer and the cached ids, is read only once. */
static bool hash_text(Corpus *corpus, const char *path, uint64_t *hash, Error *error) {
    bool training = path == corpus->train_path;
    *hash = training ? corpus->train_hash : 0;
    if (*hash == 0 && !hash_file(path, hash, error)) return false;
    if (training) corpus->train_hash = *hash;
    return true;
}

static bool is_npy(const char *path) {
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".npy") == 0;
}

/* ---- which files ---- */

static bool choose_files(Corpus *corpus, DataConfig *data, Error *error) {
    for (int64_t i = 0; i < data->train.count; i++) {
        const char *valid = data->valid.count ? data->valid.items[i] : NULL;
        /* A single candidate is used as it is: opening it reports what is wrong with it. */
        if (data->train.count > 1 &&
            (!file_exists(data->train.items[i]) || (valid && !file_exists(valid))))
            continue;
        corpus->choice = i;
        corpus->choices = data->train.count;
        data_config_choose(data, i);
        corpus->train_path = data->train.items[0];
        corpus->valid_path = valid;
        return true;
    }
    return error_set(error,
                     "%s: no such file, nor any other that data.train lists; get TinyStories with "
                     "scripts/get_tinystories.sh, or make our own stories with: make data",
                     data->train.items[0]);
}

/* ---- the tokenizer ---- */

/* The code that makes what is cached: a checksum of the tokenizer's sources, from the Makefile, and the
 * version of Unicode. An edit of the tokenizer takes effect in the next run. */
static uint64_t code_key(void) {
    return hash_bytes(TOKENIZER_CODE, unicode_version(), strlen(unicode_version()));
}

/* Folder of the cached tokenizer: named after the text, the size, the special tokens and the code. */
static bool tokenizer_cache(Corpus *corpus, const char *cache, const TokenizerConfig *config,
                            char **folder, Error *error) {
    uint64_t hash;
    if (!hash_text(corpus, corpus->train_path, &hash, error)) return false;
    uint64_t key = hash_word(hash_word(code_key(), hash), (uint64_t)config->vocab_size);
    for (int64_t i = 0; i < config->special_tokens.count; i++) {
        const char *token = config->special_tokens.items[i];
        key = hash_bytes(key, token, strlen(token));
    }
    *folder = string_format("%s/tokenizer-%016llx", cache, (unsigned long long)key);
    return true;
}

/* The file "fingerprint" is written last, and shows that the folder is whole. */
static char *fingerprint_text(const Tokenizer *tokenizer) {
    return string_format("%016llx\n", (unsigned long long)tokenizer_fingerprint(tokenizer));
}

/* NULL if it is missing (then without an error message) or damaged. */
static Tokenizer *load_cached(const char *folder, const char *mark, Error *error) {
    error->message[0] = '\0';
    if (!file_exists(mark)) return NULL;
    size_t size;
    char *wanted = file_read(mark, 64, &size, error);
    Tokenizer *tokenizer = wanted ? tokenizer_load(folder, error) : NULL;
    if (tokenizer) {
        char *found = fingerprint_text(tokenizer);
        bool whole = strcmp(found, wanted) == 0 || error_set(error, "%s: is damaged", folder);
        tokenizer = tokenizer_keep_if(tokenizer, whole);
        free(found);
    }
    free(wanted);
    return tokenizer;
}

static bool save_cached(const Tokenizer *tokenizer, const char *folder, const char *mark,
                        Error *error) {
    char *text = fingerprint_text(tokenizer);
    bool done =
        tokenizer_save(tokenizer, folder, error) && file_write(mark, text, strlen(text), error);
    free(text);
    return done;
}

static Tokenizer *learn_tokenizer(const Corpus *corpus, const TokenizerConfig *config,
                                  const CorpusOptions *options, Error *error) {
    notice(options, string_format("training a tokenizer of %lld tokens on %s",
                                  (long long)config->vocab_size, corpus->train_path));
    BpeStats stats = {0};
    Tokenizer *tokenizer = bpe_train(&corpus->train_path, 1, config->vocab_size,
                                     (const char *const *)config->special_tokens.items,
                                     (int)config->special_tokens.count, NULL, &stats, error);
    if (tokenizer && stats.stopped_early)
        notice(options, string_format("no pair of tokens is left to merge: the tokenizer stops at "
                                      "%lld tokens",
                                      (long long)tokenizer_vocab_size(tokenizer)));
    return tokenizer;
}

static Tokenizer *train_tokenizer(Corpus *corpus, const TokenizerConfig *config,
                                  const CorpusOptions *options, Error *error) {
    char *folder;
    if (is_npy(corpus->train_path)) {
        error_set(error,
                  "%s: holds ids, and a tokenizer cannot be trained on those; name one with "
                  "\"tokenizer\": {\"load\": DIR}, or leave \"tokenizer\" out",
                  corpus->train_path);
        return NULL;
    }
    if (!tokenizer_cache(corpus, options->cache, config, &folder, error)) return NULL;
    char *mark = path_join(folder, "fingerprint");
    Error reason;
    Tokenizer *tokenizer = load_cached(folder, mark, &reason);
    if (!tokenizer) {
        if (reason.message[0]) warn(options, &reason);
        tokenizer = learn_tokenizer(corpus, config, options, error);
        if (tokenizer && !save_cached(tokenizer, folder, mark, &reason)) warn(options, &reason);
    }
    free(mark);
    free(folder);
    return tokenizer;
}

static bool open_tokenizer(Corpus *corpus, TrainConfig *config, const CorpusOptions *options,
                           Error *error) {
    const TokenizerConfig *wanted = &config->tokenizer;
    if (!wanted->present) return true;
    const char *path = options->run_tokenizer ? options->run_tokenizer : wanted->load;
    corpus->tokenizer =
        path ? tokenizer_load(path, error) : train_tokenizer(corpus, wanted, options, error);
    if (!corpus->tokenizer) return false;
    if (corpus->tokenizer->fixed_length)
        notice(options, string_format("warning: %s: " TOKENIZER_FIXED_LENGTH_WARNING, path));
    for (int64_t i = 0; i < wanted->special_tokens.count; i++)
        if (!tokenizer_add_special(corpus->tokenizer, wanted->special_tokens.items[i], error))
            return false;

    int64_t size = tokenizer_vocab_size(corpus->tokenizer);
    if (config->model.vocab_size == 0) config->model.vocab_size = size;
    if (config->model.vocab_size < size)
        return error_set(error,
                         "model.vocab_size is %lld, but the tokenizer has %lld tokens; raise it or "
                         "leave it out",
                         (long long)config->model.vocab_size, (long long)size);
    corpus->token_bytes =
        allocate_zeroed((size_t)config->model.vocab_size, sizeof *corpus->token_bytes);
    for (int64_t id = 0; id < size; id++) {
        size_t length = 0;
        tokenizer_token(corpus->tokenizer, (uint32_t)id, &length);
        corpus->token_bytes[id] = (uint32_t)length;
    }
    if (wanted->special_tokens.count > 0)
        corpus->separator =
            tokenizer_special_id(corpus->tokenizer, wanted->special_tokens.items[0]);
    return true;
}

/* ---- the ids ---- */

static bool write_ids(void *writer, const uint32_t *ids, size_t count, Error *error) {
    return npy_writer_write(writer, ids, count) || npy_writer_commit(writer, error);
}

/* Encodes a text into `path`. Two processes that do the same at once both succeed: each writes its
 * own temporary file, and the contents are equal. */
static bool encode_text(const Corpus *corpus, const char *text, const char *path, Error *error) {
    NpyWriter writer;
    NpyType type = tokenizer_vocab_size(corpus->tokenizer) > 65536 ? NPY_UINT32 : NPY_UINT16;
    if (!npy_writer_open(&writer, path, type, error)) return false;
    if (encode_file(corpus->tokenizer, text, 0, write_ids, &writer, NULL, error))
        return npy_writer_commit(&writer, error);
    npy_writer_abort(&writer);
    return false;
}

/* The same into memory, which belongs to the corpus. */
static bool encode_in_memory(Corpus *corpus, const char *text, NpyArray *ids, Error *error) {
    IdList list = {0};
    id_list_reserve(&list, 1);
    bool done = encode_file(corpus->tokenizer, text, 0, encode_into_list, &list, NULL, error);
    corpus->memory[ids - corpus->files] = list.ids;
    *ids = (NpyArray){.data = list.ids, .type = NPY_UINT32, .count = (int64_t)list.count};
    return done;
}

/* Position of the first id outside of the vocabulary; the number of ids if there is none. */
static int64_t first_invalid(const NpyArray *ids, int64_t vocab_size) {
    int64_t i = 0;
    while (i < ids->count && npy_get(ids, i) < vocab_size) i++;
    return i;
}

/* Maps cached ids. */
static bool open_cached(NpyArray *ids, const char *path, int64_t vocab_size, Error *error) {
    if (!npy_open(ids, path, error)) return false;
    if (first_invalid(ids, vocab_size) == ids->count) return true;
    npy_close(ids);
    return error_set(error, "%s: is damaged", path);
}

/* The ids of a data file: the file itself, or its encoding in the cache. */
static bool open_ids(Corpus *corpus, const char *path, NpyArray *ids, const CorpusOptions *options,
                     Error *error) {
    if (is_npy(path)) return npy_open(ids, path, error);
    if (!corpus->tokenizer)
        return error_set(
            error,
            "%s: is text, and the config has no \"tokenizer\" to turn it into ids; add "
            "one, or name an .npy file of ids",
            path);
    uint64_t hash, key = tokenizer_fingerprint(corpus->tokenizer) ^ code_key();
    if (!hash_text(corpus, path, &hash, error)) return false;
    char *cached = string_format("%s/%016llx-%016llx.npy", options->cache, (unsigned long long)hash,
                                 (unsigned long long)key);
    int64_t vocab_size = tokenizer_vocab_size(corpus->tokenizer);
    Error reason;
    bool done = file_exists(cached) && open_cached(ids, cached, vocab_size, &reason);
    if (!done) {
        if (file_exists(cached)) warn(options, &reason);
        notice(options, string_format("encoding %s", path));
        done = directory_create(options->cache, &reason) &&
               encode_text(corpus, path, cached, &reason) &&
               open_cached(ids, cached, vocab_size, &reason);
        if (!done) {
            done = encode_in_memory(corpus, path, ids, error);
            if (done) warn(options, &reason);
        }
    }
    free(cached);
    return done;
}

static bool check_ids(const NpyArray *ids, const char *path, int64_t vocab_size, int64_t T,
                      Error *error) {
    if (ids->count < T + 1)
        return error_set(error,
                         "%s: has %lld tokens, but a window needs %lld (context_length + 1); use a "
                         "longer text or a smaller model.context_length",
                         path, (long long)ids->count, (long long)T + 1);
    int64_t at = first_invalid(ids, vocab_size);
    return at == ids->count ||
           error_set(error,
                     "%s: id %lld at position %lld is outside of the vocabulary (%lld); set "
                     "model.vocab_size, or encode the text with this model's tokenizer",
                     path, (long long)npy_get(ids, at), (long long)at, (long long)vocab_size);
}

/* A part of a mapped array. */
static NpyArray view(const NpyArray *file, int64_t begin, int64_t count) {
    NpyArray part = *file;
    size_t size = file->type == NPY_UINT16 ? 2 : 4;
    part.data = (const char *)file->data + (size_t)begin * size;
    part.count = count;
    return part;
}

/* The last 1 % of the training ids, at least one window and at most half of them, for validation. */
static bool hold_out(Corpus *corpus, int64_t T, Error *error) {
    int64_t n = corpus->train.count, held = n / 100 > T + 1 ? n / 100 : T + 1;
    if (n - held < T + 1)
        return error_set(
            error,
            "%s: has %lld tokens, too few for a training and a validation window of %lld "
            "each; use a longer text or a smaller model.context_length",
            corpus->train_path, (long long)n, (long long)T + 1);
    corpus->valid = view(&corpus->files[0], n - held, held);
    corpus->train = view(&corpus->files[0], 0, n - held);
    return true;
}

bool corpus_open(Corpus *corpus, TrainConfig *config, const CorpusOptions *options, Error *error) {
    *corpus = (Corpus){.separator = -1};
    int64_t T = config->model.context_length;
    const char *valid = NULL;
    bool opened =
        choose_files(corpus, &config->data, error) &&
        open_tokenizer(corpus, config, options, error) &&
        open_ids(corpus, corpus->train_path, &corpus->files[0], options, error) &&
        check_ids(&corpus->files[0], corpus->train_path, config->model.vocab_size, T, error);
    if (opened) {
        valid = corpus->valid_path;
        corpus->train = corpus->files[0];
    }
    if (opened && valid)
        opened = open_ids(corpus, valid, &corpus->files[1], options, error) &&
                 check_ids(&corpus->files[1], valid, config->model.vocab_size, T, error);
    if (opened && valid)
        corpus->valid = corpus->files[1];
    else if (opened)
        opened = hold_out(corpus, T, error);
    if (!opened) corpus_close(corpus);
    return opened;
}

void corpus_close(Corpus *corpus) {
    for (int i = 0; i < 2; i++) {
        if (corpus->files[i].data) npy_close(&corpus->files[i]);
        free(corpus->memory[i]);
    }
    tokenizer_free(corpus->tokenizer);
    free(corpus->token_bytes);
    *corpus = (Corpus){.separator = -1};
}
