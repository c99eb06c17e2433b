/* The limits a container or a service manager sets on this process: Linux control groups, v1 and v2.
 * The tightest limit of the process's own group and of all groups above it counts. Where the folders
 * of /proc/self/cgroup are not there (a container sees its own group as the root of /sys/fs/cgroup),
 * those that are there count. A missing or unreadable file sets no limit.
 *
 * `root` stands before /proc and /sys: "" in programs, a made-up folder in tests. */
#ifndef TINYLM_BASE_CGROUP_H
#define TINYLM_BASE_CGROUP_H

#include <stdint.h>

/* ⌈quota / period⌉ of cpu.max (v2) or cpu.cfs_quota_us and cpu.cfs_period_us (v1): the number of
 * processors the process can keep busy, at least 1. INT32_MAX: no limit. */
int cgroup_processors(const char *root);

/* Bytes, of memory.max (v2) or memory.limit_in_bytes (v1). INT64_MAX: no limit. */
int64_t cgroup_memory(const char *root);

#endif
