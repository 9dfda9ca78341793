/* `supple info` of a trained model. */
#ifndef SUPPLE_CLI_INFO_MODEL_H
#define SUPPLE_CLI_INFO_MODEL_H

#include "cli.h"

/* Whether a path names a model, by its ending. */
bool cli_is_model(const char *path);

/* Describes one on stdout; returns the exit code. */
int cli_info_model(const char *path, bool json, const supple_config *config);

#endif
