#include "formats/huggingface/safetensors_shards.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

enum { INDEX_LIMIT = 1 << 26 };

static bool open_file(SafetensorsShards *shards, const char *path, Error *error) {
    shards->files = reallocate(shards->files, (size_t)shards->count + 1, sizeof *shards->files);
    if (!safetensors_open(&shards->files[shards->count], path, error)) return false;
    shards->count++;
    return true;
}

static bool open_shard(SafetensorsShards *shards, const char *directory, const char *name,
                       Error *error) {
    for (int i = 0; i < shards->count; i++)
        if (strcmp(path_name(shards->files[i].path), name) == 0) return true;
    if (strchr(name, '/') || !*name)
        return error_set(error,
                         "%s: its index names the shard '%.200s'; a shard is a file beside it",
                         directory, name);
    char *path = path_join(directory, name);
    bool opened = open_file(shards, path, error);
    free(path);
    return opened;
}

static bool open_index(SafetensorsShards *shards, const char *directory, const char *index_path,
                       Error *error) {
    cJSON *index = json_read(index_path, INDEX_LIMIT, error), *entry;
    if (!index) return false;
    cJSON *map = json_get(index, "weight_map");
    bool good = cJSON_IsObject(map);
    if (!good) error_set(error, "%s: has no weight_map", index_path);
    cJSON_ArrayForEach(entry, map) {
        if (!good) break;
        if (cJSON_IsString(entry))
            good = open_shard(shards, directory, entry->valuestring, error);
        else
            good = error_set(error, "%s: the weight_map of '%.200s' is no file name", index_path,
                             entry->string);
    }
    cJSON_Delete(index);
    return good;
}

bool safetensors_shards_open(SafetensorsShards *shards, const char *path, Error *error) {
    *shards = (SafetensorsShards){0};
    char *single = path_join(path, "model.safetensors");
    char *index = path_join(path, "model.safetensors.index.json");
    bool is_indexed = !file_exists(single) && file_exists(index);
    bool good = is_indexed ? open_index(shards, path, index, error)
                           : open_file(shards, directory_exists(path) ? single : path, error);
    free(single);
    free(index);
    if (!good) safetensors_shards_close(shards);
    return good;
}

void safetensors_shards_close(SafetensorsShards *shards) {
    for (int i = 0; i < shards->count; i++) safetensors_close(&shards->files[i]);
    free(shards->files);
    *shards = (SafetensorsShards){0};
}
