/* Files that come with the tool: found from where the tool itself lies, so that a build tree, an installation and a
 * copied installation all work. */
#ifndef SUPPLE_CLI_BESIDE_H
#define SUPPLE_CLI_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* The tool's own path: as the kernel knows it, else as it was started. False if neither is known or fits. */
bool cli_tool_path(char *out, size_t size);

/* The first of `folders` (ended by NULL, relative to the tool's own) that has something called `name` ("" for the
 * folder itself), as a path in `out`. False if none has, or the path does not fit. */
bool cli_beside(const char *const *folders, const char *name, char *out, size_t size);

#endif
