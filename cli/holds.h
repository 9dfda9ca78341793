/* What each joint holds of a body, for `mesh` and `info`. */
#ifndef CLI_HOLDS_H
#define CLI_HOLDS_H

#include <jansson.h>

#include <supple/body.h>

/* A line a joint. */
void cli_print_holds(const supple_body *body);

/* An array of objects: name, vertices, merged_into (null where the joint moves its flesh itself). */
json_t *cli_holds_json(const supple_body *body);

#endif
