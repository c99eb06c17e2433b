#include "base/cgroup.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Reads up to two numbers from the first line of folder/name and returns how many there are; "max" is
 * none. */
static int read_numbers(const char *folder, const char *name, double numbers[2]) {
    char *path = string_format("%s/%s", folder, name), line[128];
    FILE *file = fopen(path, "re");
    free(path);
    if (!file) return 0;
    int count = 0;
    if (fgets(line, sizeof line, file)) count = sscanf(line, "%lf %lf", &numbers[0], &numbers[1]);
    fclose(file);
    return count < 0 ? 0 : count;
}

/* The limit one folder sets; infinity: none. */
static double processors_of(const char *folder) {
    double v2[2], quota[2], period[2];
    if (read_numbers(folder, "cpu.max", v2) == 2 && v2[0] > 0 && v2[1] > 0) return v2[0] / v2[1];
    if (read_numbers(folder, "cpu.cfs_quota_us", quota) && quota[0] > 0 &&
        read_numbers(folder, "cpu.cfs_period_us", period) && period[0] > 0)
        return quota[0] / period[0];
    return HUGE_VAL;
}

static double memory_of(const char *folder) {
    double bytes[2];
    if (read_numbers(folder, "memory.max", bytes) && bytes[0] > 0) return bytes[0];
    if (read_numbers(folder, "memory.limit_in_bytes", bytes) && bytes[0] > 0) return bytes[0];
    return HUGE_VAL;
}

/* The tightest limit from the folder mount + path up to `mount`. */
static double tightest(const char *mount, const char *path, double (*limit_of)(const char *)) {
    char *folder = string_format("%s%s", mount, strstr(path, "..") ? "" : path);
    double least = HUGE_VAL;
    size_t root = strlen(mount);
    for (;;) {
        least = fmin(least, limit_of(folder));
        if (strlen(folder) <= root) break;
        *strrchr(folder, '/') = '\0';
    }
    free(folder);
    return least;
}

/* Whether a comma-separated list has the word. */
static bool lists(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* The tightest limit over the groups of /proc/self/cgroup, lines of "number:controllers:path". The
 * hierarchy of v2 has no controllers; where v1 is mounted beside it, it is the folder `unified`. */
static double limit(const char *root, const char *controller, double (*limit_of)(const char *)) {
    char *name = string_format("%s/proc/self/cgroup", root), line[PATH_MAX + 128];
    FILE *file = fopen(name, "re");
    free(name);
    double least = HUGE_VAL;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path || path[1] != '/') continue;
        controllers++;
        *path++ = '\0';
        bool v2 = *controllers == '\0';
        if (!v2 && !lists(controllers, controller)) continue;
        /* "cpu" is a link to "cpu,cpuacct" where they are mounted together, but not everywhere. */
        const char *const mounts[2] = {v2 ? "" : controller, v2 ? "unified" : controllers};
        for (int i = 0; i < 2; i++) {
            char *mount = string_format("%s/sys/fs/cgroup/%s", root, mounts[i]);
            least = fmin(least, tightest(mount, path, limit_of));
            free(mount);
        }
    }
    if (file) fclose(file);
    return least;
}

int cgroup_processors(const char *root) {
    double processors = ceil(limit(root, "cpu", processors_of));
    return processors < INT32_MAX ? (int)processors : INT32_MAX;
}

int64_t cgroup_memory(const char *root) {
    double bytes = limit(root, "memory", memory_of);
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}
