/* The files that fuzzing is kept in (found_KIND/, corpus_KIND/), one after another. */
#ifndef SPL_TESTS_FUZZ_CORPUS_H
#define SPL_TESTS_FUZZ_CORPUS_H

#include "core/file.h"
#include "core/memory.h"

#include <dirent.h>
#include <stdio.h>

typedef void corpus_visit(void *user, const char *name, const uint8_t *data, size_t size);

/* Hands every file of a folder below tests/fuzz to `visit`; returns how many there were. */
static inline int corpus_each(const char *folder, corpus_visit *visit, void *user)
{
    char path[4096];
    supple_allocator a = spl_allocator_of(NULL);
    snprintf(path, sizeof path, "%s/tests/fuzz/%s", SPL_SOURCE_DIR, folder);
    DIR *dir = opendir(path);
    int files = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        uint8_t *data;
        size_t size;
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/tests/fuzz/%s/%s", SPL_SOURCE_DIR, folder, entry->d_name);
        if (spl_file_read(path, 1 << 24, &a, &data, &size, NULL) != SUPPLE_OK) continue;
        visit(user, entry->d_name, data, size);
        spl_free(&a, data);
        files++;
    }
    if (dir) closedir(dir);
    return files;
}

#endif
