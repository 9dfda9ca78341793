/* Files that appear whole or not at all, and reading with a limit. */
#ifndef SPL_CORE_FILE_H
#define SPL_CORE_FILE_H

#include <stdio.h>
#include <supple/base.h>

/* Reads a regular file into memory. A missing, unreadable, special or too large file is SUPPLE_ERROR_INPUT. */
supple_result spl_file_read(const char *path, size_t limit, const supple_allocator *a, uint8_t **data, size_t *size,
                            supple_error *error);

/* Whether two paths name the same existing file. */
bool spl_file_same(const char *a, const char *b);

/* A file being written beside its final name. Bytes go to `stream`; commit() checks, flushes and renames. */
typedef struct spl_output {
    supple_allocator allocator;
    char *path, *temporary;
    FILE *stream;
} spl_output;

/* SUPPLE_ERROR_OUTPUT with the system's reason if the file cannot be made. The stream can be read back. */
supple_result spl_output_open(spl_output *output, const char *path, const supple_allocator *a, supple_error *error);
supple_result spl_output_commit(spl_output *output, supple_error *error);

/* A new folder beside an output, for several files that get their names together. *lock is held for as long as somebody
 * is at it: close it once the folder is gone. The text belongs to the caller. */
supple_result spl_output_folder(const char *path, const supple_allocator *a, char **folder, int *lock,
                                supple_error *error);

/* Removes what killed processes left unfinished of an output: files and folders STEM...partial-XXXXXXXX beside it that
 * nobody writes any more, where STEM is the output's name without its ending (a sequence has numbers behind it). */
void spl_output_sweep(const char *path);

/* Removes the unfinished file. Safe on a zeroed, committed or discarded output. */
void spl_output_discard(spl_output *output);

/* fwrite that reports a full disk as SUPPLE_ERROR_OUTPUT. */
supple_result spl_output_bytes(spl_output *output, const void *data, size_t size, supple_error *error);

#endif
