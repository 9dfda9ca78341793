/* A trained model in a program that has nothing else of Supple: <supple/playback.h> and libsupple_playback.
 *
 *     playback MODEL.supple                            what it is, and its joints
 *     playback MODEL.supple JOINT [SECONDS [OUT.obj [ball]]]
 *                                                      that joint swings to and fro at 60 Hz; the character as a file
 *
 * The program poses joints itself, as a game does: here all are at rest but one, which turns about its own z axis by up
 * to 40 degrees, once a second, with what hangs on it. Flesh follows, with its own weight, in steps of 1/120 s. With
 * `ball` a ball comes along z, dips into the belly after half a second and goes back. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <supple/playback.h>

typedef struct program {
    supple_model *model;
    supple_player *player;
    int32_t joint_count, joint; /* the one that swings */
    float *rest, *pose;         /* 16 numbers a joint: world matrices, column by column */
    double ms, worst;           /* of all steps, and of one */
    int32_t steps, vertex_count;
    const int32_t *triangle; /* the visual mesh, or the flesh's surface where a model has none */
    int32_t triangle_count;
    bool visual, throws;
    float *vertex; /* 6 numbers each, interleaved, as a graphics card likes it: position, normal */
    supple_collider ball;
    supple_error error;
} program;

/* c = a b of affine matrices. */
static void multiply(const float *a, const float *b, float *c)
{
    for (int column = 0; column < 4; column++)
        for (int row = 0; row < 4; row++) {
            double sum = 0;
            for (int k = 0; k < 4; k++) sum += (double)a[4 * k + row] * (double)b[4 * column + k];
            c[4 * column + row] = (float)sum;
        }
}

/* The inverse of one whose columns are at right angles: rotations, scaled. */
static void invert(const float *a, float *b)
{
    memset(b, 0, 16 * sizeof *b);
    for (int i = 0; i < 3; i++) {
        double square = 0;
        for (int k = 0; k < 3; k++) square += (double)a[4 * i + k] * (double)a[4 * i + k];
        for (int k = 0; k < 3; k++) {
            b[4 * k + i] = (float)((double)a[4 * i + k] / square);
            b[12 + i] -= (float)((double)a[4 * i + k] / square * (double)a[12 + k]);
        }
    }
    b[15] = 1;
}

/* The joint turned by an angle; joints below it move along as they stood to their parents at rest. */
static void set_pose(program *p, double angle)
{
    float c = (float)cos(angle), s = (float)sin(angle);
    const float turn[16] = {c, s, 0, 0, -s, c, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    for (int32_t j = 0; j < p->joint_count; j++) { /* parents come first */
        int32_t parent = supple_model_joint_parent(p->model, j);
        float *world = p->pose + 16 * j, up[16], motion[16];
        memcpy(world, p->rest + 16 * j, 16 * sizeof *world);
        if (j == p->joint) {
            multiply(p->rest + 16 * j, turn, world);
        } else if (parent >= 0) {
            invert(p->rest + 16 * parent, up);
            multiply(p->pose + 16 * parent, up, motion);
            multiply(motion, p->rest + 16 * j, world);
        }
    }
}

static void read_vertices(program *p)
{
    size_t stride = 6 * sizeof *p->vertex;
    if (p->visual) {
        supple_player_read_visual_positions(p->player, p->vertex, stride);
        supple_player_read_visual_normals(p->player, p->vertex + 3, stride);
    } else {
        supple_player_read_positions(p->player, p->vertex, stride);
        supple_player_read_normals(p->player, p->vertex + 3, stride);
    }
}

/* A tenth of the height, aimed at what is in front of the middle: b keeps where its centre turns round. */
static void aim(program *p)
{
    float low[3] = {1e30F, 1e30F, 1e30F}, high[3] = {-1e30F, -1e30F, -1e30F}, *at = p->ball.b;
    read_vertices(p);
    for (const float *v = p->vertex, *end = v + 6 * (size_t)p->vertex_count; v < end; v += 6)
        for (int i = 0; i < 3; i++) low[i] = fminf(low[i], v[i]), high[i] = fmaxf(high[i], v[i]);
    p->ball.radius = 0.07F * (high[1] - low[1]);
    at[0] = 0.5F * (low[0] + high[0]);
    at[1] = low[1] + 0.6F * (high[1] - low[1]);
    at[2] = low[2];
    for (const float *v = p->vertex, *end = v + 6 * (size_t)p->vertex_count; v < end; v += 6)
        if (fabsf(v[0] - at[0]) < p->ball.radius && fabsf(v[1] - at[1]) < p->ball.radius) at[2] = fmaxf(at[2], v[2]);
    at[2] += 0.6F * p->ball.radius; /* it dips in by 0.4 of its radius */
}

static supple_result throw_ball(program *p, double time)
{
    for (int i = 0; i < 3; i++) p->ball.a[i] = p->ball.b[i];
    p->ball.a[2] += (float)(28 * (double)p->ball.radius * fabs(time - 0.5)); /* two heights a second */
    return supple_player_set_colliders(p->player, &p->ball, 1, &p->error);
}

static supple_result play(program *p, double seconds)
{
    supple_result result = SUPPLE_OK;
    int32_t frames = (int32_t)(60 * seconds) + 1;
    for (int32_t frame = 0; frame < frames && result == SUPPLE_OK; frame++) {
        set_pose(p, 0.7 * sin(6.2831853 * frame / 60.0));
        if (p->throws && frame > 0) result = throw_ball(p, frame / 60.0);
        if (result != SUPPLE_OK) break;
        result = supple_player_step(p->player, p->pose, p->joint_count, 1 / 60.0, &p->error);
        if (frame == 0 && p->throws) aim(p);
        if (frame == 0) continue; /* finds the equilibrium to start from */
        double ms = supple_player_get_stats(p->player)->ms_total;
        p->ms += ms;
        p->worst = ms > p->worst ? ms : p->worst;
        p->steps++;
    }
    return result;
}

static supple_result write_obj(program *p, const char *path)
{
    const int32_t *t = p->triangle;
    FILE *file = fopen(path, "w");
    if (file) {
        read_vertices(p);
        for (const float *v = p->vertex; v < p->vertex + 6 * (size_t)p->vertex_count; v += 6)
            fprintf(file, "v %.6g %.6g %.6g\nvn %.3f %.3f %.3f\n", (double)v[0], (double)v[1], (double)v[2],
                    (double)v[3], (double)v[4], (double)v[5]);
        for (int32_t k = 0; k < p->triangle_count; k++, t += 3)
            fprintf(file, "f %d//%d %d//%d %d//%d\n", t[0] + 1, t[0] + 1, t[1] + 1, t[1] + 1, t[2] + 1, t[2] + 1);
    }
    bool written = file && fclose(file) == 0;
    if (!written) snprintf(p->error.message, sizeof p->error.message, "%.200s: cannot be written", path);
    return written ? SUPPLE_OK : SUPPLE_ERROR_OUTPUT;
}

static supple_result prepare(program *p, const char *path, const char *joint)
{
    supple_result result = supple_model_load(path, NULL, &p->model, &p->error);
    if (result != SUPPLE_OK) return result;
    p->joint_count = supple_model_joint_count(p->model);
    for (p->joint = 0; joint && p->joint < p->joint_count; p->joint++)
        if (strcmp(supple_model_joint_name(p->model, p->joint), joint) == 0) break;
    if (joint && p->joint == p->joint_count) {
        snprintf(p->error.message, sizeof p->error.message, "the model has no joint '%.100s'", joint);
        return SUPPLE_ERROR_ARGUMENT;
    }
    p->rest = malloc((size_t)p->joint_count * 16 * sizeof *p->rest);
    p->pose = malloc((size_t)p->joint_count * 16 * sizeof *p->pose);
    p->visual = supple_model_visual_vertex_count(p->model) > 0;
    p->vertex_count = p->visual ? supple_model_visual_vertex_count(p->model) : supple_model_vertex_count(p->model);
    p->triangle = p->visual ? supple_model_visual_triangles(p->model) : supple_model_triangles(p->model);
    p->triangle_count =
        p->visual ? supple_model_visual_triangle_count(p->model) : supple_model_triangle_count(p->model);
    p->vertex = malloc((size_t)p->vertex_count * 6 * sizeof *p->vertex);
    if (!p->rest || !p->pose || !p->vertex) return SUPPLE_ERROR_MEMORY;
    supple_player_config config = supple_player_config_default();
    config.visual = true;
    config.fixed_step = 1 / 120.0;
    config.colliders = 1;
    for (int32_t j = 0; j < p->joint_count; j++) supple_model_joint_rest(p->model, j, p->rest + 16 * j);
    return supple_player_create(p->model, &config, NULL, &p->player, &p->error);
}

int main(int argc, char **argv)
{
    program p = {0};
    double seconds = argc > 3 ? atof(argv[3]) : 2;
    p.throws = argc == 6 && strcmp(argv[5], "ball") == 0;
    if (argc < 2 || argc > 6 || (argc == 6 && !p.throws) || !(seconds > 0 && seconds < 1e5)) {
        fprintf(stderr, "usage: playback MODEL.supple [JOINT [SECONDS [OUT.obj [ball]]]]\n");
        return 2;
    }
    supple_result result = prepare(&p, argv[1], argc > 2 ? argv[2] : NULL);
    if (result == SUPPLE_OK && argc == 2) {
        const supple_model_info *i = supple_model_get_info(p.model);
        printf("%d domains of rank %d in all, %d vertices of surface, %d of the character; joints:\n", i->domains,
               i->rank, supple_model_vertex_count(p.model), supple_model_visual_vertex_count(p.model));
        for (int32_t j = 0; j < p.joint_count; j++) printf("  %s\n", supple_model_joint_name(p.model, j));
    } else if (result == SUPPLE_OK) {
        result = play(&p, seconds);
        printf("%d steps, %.0f a second; %.2f ms each, %.2f at worst\n", p.steps, 1e3 * p.steps / p.ms, p.ms / p.steps,
               p.worst);
        if (result == SUPPLE_OK && argc > 4) result = write_obj(&p, argv[4]);
    }
    if (result != SUPPLE_OK) fprintf(stderr, "playback: %s: %s\n", supple_result_name(result), p.error.message);
    supple_player_destroy(p.player);
    supple_model_destroy(p.model);
    free(p.vertex);
    free(p.rest);
    free(p.pose);
    return (int)result;
}
