/* What the importer may do at most: a bounded amount of work, and once its one file is read, nothing but compute and
 * write its answer. */
#ifndef SUPPLE_IMPORT_SANDBOX_H
#define SUPPLE_IMPORT_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

/* Before the file is opened: memory, processor time, written bytes and open files by the input's size; no core, no new
 * privileges, and it does not outlive whoever waits for it. `out` is the file that the answer goes to. */
void import_limit(size_t input, int out);

/* Once it is read: no file, process or socket can be had any more (seccomp). False where this build or this kernel has
 * no such filter. */
bool import_shut(void);

#endif
