/* The safetensors files of a directory: model.safetensors, or the shards that Hugging Face's
 * model.safetensors.index.json names ({"weight_map": {tensor: file}}). */
#ifndef TINYLM_FORMATS_HUGGINGFACE_SHARDS_H
#define TINYLM_FORMATS_HUGGINGFACE_SHARDS_H

#include "formats/safetensors.h"

typedef struct SafetensorsShards {
    Safetensors *files;
    int count;
} SafetensorsShards;

/* Opens them all; `path` may also be a single file. Errors: none there, a broken one, an index that
 * names files elsewhere. Nothing to close on error. */
bool safetensors_shards_open(SafetensorsShards *shards, const char *path, Error *error);
void safetensors_shards_close(SafetensorsShards *shards);

#endif
