/* Files that are replaced: whoever reads one while it is written finds the old or the new one, whole. */
#include "formats_helpers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/file.h"

/* What is called in place of the system's functions: 'f' for fsync, 'r' for rename, in this order. */
static char calls[16];
static void note_call(char what) {
    size_t length = strlen(calls);
    if (length + 1 < sizeof calls) calls[length] = what, calls[length + 1] = '\0';
}
int fsync(int file) {
    note_call('f');
    return fdatasync(file);
}
int rename(const char *from, const char *to) {
    note_call('r');
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

enum { SIZE = 5000, REPLACED = 2000 };

/* Writes SIZE times the same letter. */
static void write_letter(const char *path, const char *previous, char letter) {
    FileWriter writer;
    Error error;
    if (!file_writer_open(&writer, path, &error)) fail_msg("%s", error.message);
    writer.remakable = true; /* no waiting for the disk */
    for (int i = 0; i < SIZE; i++) putc(letter, writer.stream);
    if (!file_writer_commit(&writer, previous, &error)) fail_msg("%s", error.message);
}

/* The letter of a whole file, 0 for anything else. */
static char letter_of(const char *path) {
    char text[SIZE + 1];
    int file = open(path, O_RDONLY);
    if (file < 0) return 0;
    ssize_t size = read(file, text, sizeof text);
    close(file);
    for (int i = 1; i < SIZE && size == SIZE; i++)
        if (text[i] != text[0]) return 0;
    return size == SIZE ? text[0] : 0;
}

static int entries(const char *path) {
    int count = 0;
    DIR *directory = opendir(path);
    assert_non_null(directory);
    for (struct dirent *e; (e = readdir(directory));) count += e->d_name[0] != '.';
    closedir(directory);
    return count;
}

/* The content is on the disk before the name is, and the name before commit returns: a machine that
 * loses power finds the old or the new file. */
TEST(commit_waits_for_the_disk) {
    static const struct {
        bool remakable, keep;
        const char *calls;
    } rows[] = {{false, false, "frf"}, {false, true, "frrf"}, {true, false, "r"}};
    char *path = string_copy(scratch_path("durable")),
         *previous = string_copy(scratch_path("before"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        FileWriter writer;
        Error error;
        assert_true(file_writer_open(&writer, path, &error));
        writer.remakable = rows[i].remakable;
        fputs("text", writer.stream);
        calls[0] = '\0';
        assert_true(file_writer_commit(&writer, rows[i].keep ? previous : NULL, &error));
        assert_string_equal(calls, rows[i].calls);
    }
    unlink(path);
    unlink(previous);
    free(path);
    free(previous);
}

/* Two processes: one replaces the file again and again, the other looks. */
TEST(a_file_is_never_absent_or_half) {
    char *path = string_copy(scratch_path("current")),
         *previous = string_copy(scratch_path("previous"));
    write_letter(path, previous, 'z');
    assert_false(file_exists(previous)); /* there was none to keep */
    write_letter(path, previous, 'a');
    pid_t reader = fork();
    if (reader == 0) {
        signal(SIGTERM, SIG_DFL);
        while (letter_of(path) && letter_of(previous)) continue;
        _exit(3);
    }
    for (int i = 1; i <= REPLACED; i++) write_letter(path, previous, (char)('a' + i % 26));
    int status;
    kill(reader, SIGTERM);
    assert_int_equal(waitpid(reader, &status, 0), reader);
    assert_true(WIFSIGNALED(status)); /* it saw nothing wrong to the end */
    assert_int_equal(letter_of(path), 'a' + REPLACED % 26);
    assert_int_equal(letter_of(previous), 'a' + (REPLACED - 1) % 26);
    assert_int_equal(entries(scratch), 2); /* no temporary file is left */
    free(path);
    free(previous);
}

TEST(an_aborted_file_changes_nothing) {
    char *path = string_copy(scratch_path("kept"));
    write_letter(path, NULL, 'k');
    int before = entries(scratch);
    FileWriter writer;
    Error error;
    assert_true(file_writer_open(&writer, path, &error));
    fputs("half", writer.stream);
    assert_int_equal(entries(scratch), before + 1);
    file_writer_abort(&writer);
    assert_int_equal(letter_of(path), 'k');
    assert_int_equal(entries(scratch), before);
    file_writer_abort(&writer); /* once more is fine */
    assert_false(file_writer_open(&writer, scratch_path("missing/file"), &error));
    assert_non_null(strstr(error.message, "its folder is not there"));
    free(path);
}

int main(void) {
    return run_all_tests(make_scratch, remove_scratch);
}
