#include "holds.h"

#include <stdio.h>
#include <string.h>

void cli_print_holds(const supple_body *body)
{
    int32_t count;
    const supple_body_hold *hold = supple_body_holds(body, &count);
    int width = 12;
    for (int32_t i = 0; i < count; i++) {
        int length = (int)strnlen(hold[i].name, 40);
        width = length > width ? length : width;
    }
    for (int32_t i = 0; i < count; i++) {
        printf("  %-*.60s %6d", width, hold[i].name, (int)hold[i].vertices);
        if (hold[i].merged_into) printf("  merged into %.60s", hold[i].merged_into);
        printf("\n");
    }
}

json_t *cli_holds_json(const supple_body *body)
{
    int32_t count;
    const supple_body_hold *hold = supple_body_holds(body, &count);
    json_t *list = json_array();
    for (int32_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:s,s:i,s:s?}", "name", hold[i].name, "vertices", (int)hold[i].vertices,
                                              "merged_into", hold[i].merged_into));
    return list;
}
