#include "info_model.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool cli_is_model(const char *path)
{
    size_t n = strlen(path);
    return n > 7 && strcmp(path + n - 7, ".supple") == 0;
}

static void print_report(const char *path, const supple_model *model)
{
    const supple_model_info *i = supple_model_get_info(model);
    printf("%s: a trained model (method subspace)\n", path);
    printf("body: %d vertices, %d tetrahedra, %s\n", (int)i->vertices, (int)i->tets, i->law);
    printf("domains: %d, rank %d to %d, %d in all; they meet at %d interfaces\n", (int)i->domains, (int)i->min_rank,
           (int)i->max_rank, (int)i->rank, (int)i->interfaces);
    printf("cubature: %d tetrahedra, training error at most %.1f%%\n", (int)i->cubature, 100 * i->training_error);
    printf("trained on %d poses; the lowest vibration has %.2f Hz\n", (int)i->poses, i->frequency);
    printf("surface: %d vertices, %d triangles\njoints:", (int)supple_model_vertex_count(model),
           (int)supple_model_triangle_count(model));
    for (int32_t j = 0; j < supple_model_joint_count(model); j++) printf(" %s", supple_model_joint_name(model, j));
    printf("\n");
}

static int print_json(const char *path, const supple_model *model)
{
    const supple_model_info *i = supple_model_get_info(model);
    json_t *joints = json_array();
    for (int32_t j = 0; j < supple_model_joint_count(model); j++)
        json_array_append_new(joints, json_string(supple_model_joint_name(model, j)));
    json_t *root = json_pack("{s:s,s:s,s:s,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:f,s:i,s:f,s:s,s:i,s:i,s:o}", "supple",
                             supple_version(), "input", path, "method", "subspace", "vertices", (int)i->vertices,
                             "tets", (int)i->tets, "domains", (int)i->domains, "interfaces", (int)i->interfaces, "rank",
                             (int)i->rank, "min_rank", (int)i->min_rank, "max_rank", (int)i->max_rank, "cubature",
                             (int)i->cubature, "training_error", i->training_error, "poses", (int)i->poses, "frequency",
                             i->frequency, "law", i->law, "surface_vertices", (int)supple_model_vertex_count(model),
                             "surface_triangles", (int)supple_model_triangle_count(model), "joints", joints);
    char *text = root ? json_dumps(root, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text) return cli_fail(&(supple_error){SUPPLE_ERROR_MEMORY, "out of memory for the report"});
    puts(text);
    free(text);
    return 0;
}

int cli_info_model(const char *path, bool json, const supple_config *config)
{
    supple_error error;
    supple_model *model = NULL;
    int code = 0;
    if (supple_model_load(path, config, &model, &error) != SUPPLE_OK) return cli_fail(&error);
    if (json)
        code = print_json(cli_shown(path), model);
    else
        print_report(cli_shown(path), model);
    supple_model_destroy(model);
    return code;
}
