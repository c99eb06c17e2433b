/* Limits of containers, in made-up trees of /proc and /sys/fs/cgroup. */
#include "helpers.h"

#include <stdio.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/file.h"
#include "base/parallel.h"

typedef struct Case {
    const char *what;
    const char *files[14]; /* path, content, …, up to NULL */
    int processors;
    int64_t memory;
} Case;

#define SELF "proc/self/cgroup"
#define FS   "sys/fs/cgroup/"
enum { NONE = INT32_MAX };

static const Case cases[] = {
    {"nothing", {NULL}, NONE, INT64_MAX},
    {"v2",
     {SELF, "0::/\n", FS "cpu.max", "150000 100000\n", FS "memory.max", "1000000\n"},
     2,
     1000000},
    {"v2 without limits",
     {SELF, "0::/a\n", FS "a/cpu.max", "max 100000\n", FS "a/memory.max", "max\n"},
     NONE,
     INT64_MAX},
    {"less than one processor", {SELF, "0::/a\n", FS "a/cpu.max", "5000 100000\n"}, 1, INT64_MAX},
    {"the parent is tighter",
     {SELF, "0::/a/b\n", FS "a/cpu.max", "300000 100000\n", FS "a/b/cpu.max", "700000 100000\n",
      FS "a/memory.max", "4096\n", FS "a/b/memory.max", "max\n"},
     3,
     4096},
    {"the child is tighter",
     {SELF, "0::/a/b\n", FS "a/cpu.max", "700000 100000\n", FS "a/b/cpu.max", "200000 100000\n",
      FS "memory.max", "8192\n", FS "a/b/memory.max", "4096\n"},
     2,
     4096},
    {"another group's limit",
     {SELF, "0::/a\n", FS "b/cpu.max", "100000 100000\n", FS "b/memory.max", "4096\n"},
     NONE,
     INT64_MAX},
    {"a container that sees its group as the root",
     {SELF, "0::/docker/0123\n", FS "cpu.max", "400000 100000\n", FS "memory.max", "4096\n"},
     4,
     4096},
    {"a group outside of the namespace",
     {SELF, "0::/../other\n", FS "cpu.max", "400000 100000\n", "sys/fs/other/cpu.max", "1 1\n"},
     4,
     INT64_MAX},
    {"v1",
     {SELF, "4:memory:/a\n3:cpuset:/x\n2:cpu,cpuacct:/a\n", FS "cpu/a/cpu.cfs_quota_us", "250000\n",
      FS "cpu/a/cpu.cfs_period_us", "100000\n", FS "memory/a/memory.limit_in_bytes", "4096\n"},
     3,
     4096},
    {"v1 under both names",
     {SELF, "2:cpuacct,cpu:/\n", FS "cpuacct,cpu/cpu.cfs_quota_us", "250000\n",
      FS "cpuacct,cpu/cpu.cfs_period_us", "50000\n"},
     5,
     INT64_MAX},
    {"v1 without limits",
     {SELF, "4:memory:/\n2:cpu:/\n", FS "cpu/cpu.cfs_quota_us", "-1\n", FS "cpu/cpu.cfs_period_us",
      "100000\n", FS "memory/memory.limit_in_bytes", "9223372036854771712\n"},
     NONE,
     INT64_MAX},
    {"both, v2 beside v1",
     {SELF, "2:cpu:/\n0::/a\n", FS "cpu/cpu.cfs_quota_us", "-1\n", FS "unified/a/cpu.max",
      "200000 100000\n"},
     2,
     INT64_MAX},
    {"garbage",
     {SELF, "\n:\n::\n0:\nx::y\n0::/a\n", FS "a/cpu.max", "lots of them\n", FS "a/memory.max", "",
      FS "cpu.max", "100000\n", FS "memory.max", "-5\n"},
     NONE,
     INT64_MAX},
    {"a period of 0", {SELF, "0::/\n", FS "cpu.max", "100000 0\n"}, NONE, INT64_MAX},
};

TEST(test_limits) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Case *c = &cases[i];
        char root[] = "/tmp/cgroup_test.XXXXXX", command[64];
        assert_non_null(mkdtemp(root));
        Error error;
        for (int k = 0; c->files[k]; k += 2) {
            char *path = path_join(root, c->files[k]), *folder = path_directory(path);
            const char *text = c->files[k + 1];
            if (!directory_create(folder, &error) || !file_write(path, text, strlen(text), &error))
                fail_msg("%s", error.message);
            free(folder);
            free(path);
        }
        int processors = cgroup_processors(root);
        int64_t memory = cgroup_memory(root);
        snprintf(command, sizeof command, "rm -rf %s", root);
        assert_int_equal(system(command), 0);
        if (processors != c->processors || memory != c->memory)
            fail_msg("%s: %d processors, %lld bytes", c->what, processors, (long long)memory);
    }
}

TEST(test_the_default_obeys) {
    assert_in_range(parallel_available(), 1, cgroup_processors(""));
}

int main(void) {
    return run_all_tests(NULL, NULL);
}
