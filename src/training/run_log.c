#include "training/run_log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { LIMIT = 1 << 30 }; /* bytes of a log: more is not ours */

/* Rewrites the file with its first `size` bytes. */
static bool keep_prefix(const char *path, const char *text, size_t old_size, size_t size,
                        Error *error) {
    return size == old_size || file_write(path, text, size, error);
}

/* End of the last whole line that is the header or a row of a step up to last_step. */
static size_t kept_rows(const char *text, int64_t last_step) {
    size_t end = 0;
    for (const char *line = text, *next; (next = strchr(line, '\n')); line = next + 1) {
        if (line != text && strtoll(line, NULL, 10) > last_step) break;
        end = (size_t)(next + 1 - text);
    }
    return end;
}

bool run_log_open(RunLog *log, const char *path, int64_t last_step, Error *error) {
    *log = (RunLog){0};
    bool fresh = last_step == 0 || !file_exists(path);
    if (fresh) {
        if (!file_write(path, RUN_LOG_HEADER "\n", sizeof RUN_LOG_HEADER, error)) return false;
    } else {
        size_t size;
        char *text = file_read(path, LIMIT, &size, error);
        if (!text) return false;
        size_t header = sizeof RUN_LOG_HEADER;
        bool ours = size >= header && memcmp(text, RUN_LOG_HEADER "\n", header) == 0;
        bool kept = ours ? keep_prefix(path, text, size, kept_rows(text, last_step), error)
                         : error_set(error,
                                     "%s: does not begin with the columns of a log; move it "
                                     "away, or start over with --fresh",
                                     path);
        free(text);
        if (!kept) return false;
    }
    log->stream = fopen(path, "abe");
    if (!log->stream) return error_set(error, "%s: cannot be written: %s", path, strerror(errno));
    log->path = string_copy(path);
    return true;
}

bool run_log_write(RunLog *log, const RunLogRow *row, Error *error) {
    fprintf(log->stream, "%lld,%lld,%.6f,%.9g,%.9g,", (long long)row->step, (long long)row->tokens,
            row->seconds, row->learning_rate, row->train_loss);
    if (!isnan(row->valid_loss)) fprintf(log->stream, "%.9g", row->valid_loss);
    fprintf(log->stream, ",%.9g,%.1f\n", row->grad_norm, row->tokens_per_second);
    if (fflush(log->stream) == 0) return true;
    return error_set(error, "%s: cannot be written: %s; free some space and --resume", log->path,
                     strerror(errno));
}

void run_log_close(RunLog *log) {
    if (log->stream) fclose(log->stream);
    free(log->path);
    *log = (RunLog){0};
}

bool run_log_last(const char *path, RunLogRow *row) {
    Error ignored;
    size_t size, header = sizeof RUN_LOG_HEADER;
    char *text = file_read(path, LIMIT, &size, &ignored);
    bool ours = text && size >= header && memcmp(text, RUN_LOG_HEADER "\n", header) == 0;
    *row = (RunLogRow){0};
    for (const char *line = ours ? text + header : ""; strchr(line, '\n');
         line = strchr(line, '\n') + 1) {
        long long step;
        if (sscanf(line, "%lld,%*[^,],%*[^,],%*[^,],%lf", &step, &row->train_loss) == 2)
            row->step = step;
    }
    free(text);
    return ours;
}

bool samples_truncate(const char *path, int64_t last_step, Error *error) {
    if (!file_exists(path)) return true;
    size_t size;
    char *text = file_read(path, LIMIT, &size, error);
    if (!text) return false;
    size_t end = size;
    static const char mark[] = "=== step ";
    for (size_t at = 0; at < size && end == size;) {
        const char *next = memchr(text + at, '\n', size - at);
        if (size - at > sizeof mark && memcmp(text + at, mark, sizeof mark - 1) == 0 &&
            strtoll(text + at + sizeof mark - 1, NULL, 10) > last_step)
            end = at;
        at = next ? (size_t)(next + 1 - text) : size;
    }
    bool kept = keep_prefix(path, text, size, end, error);
    free(text);
    return kept;
}
