/* The sliding thin skin: an Eulerian membrane on a moving body (Li, Sueda, Neog, Pai 2013, "Thin Skin Elastodynamics",
 * in the intrinsic form that docs/slide.md derives).
 *
 * State at every vertex i of the body: Y_i, the point of the skin that is there now, a place of the rest surface; and
 * v_i, the skin's velocity relative to the body in the rest shape's tangent plane (E_i). Kinematics Y_i' = -J_i v_i
 * with J_i = sum_j A_j J_j P_ij / sum_j A_j, J_j = D_Y R_j^-1; force f_i = J_i^T sum_j dW_j/dY_i, which is the gradient
 * that does virtual work; inertia M_i (6); a step is (7), (10), then advection (8, 9).
 *
 * Nothing is allocated after creation; the same bits at any number of threads. Lengths are metres. */
#ifndef SPL_SLIDE_DERMIS_H
#define SPL_SLIDE_DERMIS_H

#include "core/threads.h"
#include "math/mat3.h"
#include "slide/curves.h"
#include "slide/membrane.h"
#include "sparse/assembly.h"
#include "sparse/factor.h"
#include "sparse/pcg.h"

typedef enum spl_hold {
    SPL_HOLD_FREE,
    SPL_HOLD_FIXED,   /* v_i = 0 */
    SPL_HOLD_SLIDING, /* v_i along a curve: a^T v_i = 0 */
} spl_hold;

typedef struct spl_dermis_settings {
    spl_membrane_law law;
    double young, poisson;     /* Pa; below 1 */
    double thickness, density; /* m, kg/m^3 */
    double prestrain;          /* the skin is stretched by this much at rest, in all directions */
    double zeta;               /* 12: how much of the body's tangential motion takes the skin along, 0 to 1 */
    double limit;              /* 12: and at most this speed of it, m/s */
    bool paper_coupling;       /* 11 to 13 as printed: what is left behind is compared anew in every step */
    double delta;              /* 12, Delta max: and at most this much of it is taken back, m in a millisecond */
    double drag;               /* resistance to sliding, 1/s */
    double step;               /* seconds; 0: adaptive */
    double tolerance;          /* of adaptive steps: error of a displacement over the size of triangles */
    bool paper_force;          /* 5 with the triangle's own Jacobian, for comparison: the gradient of nothing */
    bool world;                /* the body's rigid motion acts on the skin too */
    spl_vec3 gravity;          /* m/s^2 */
} spl_dermis_settings;

spl_dermis_settings spl_dermis_settings_default(void);

/* What vertices are held by, and factors by vertex; any array may be NULL. */
typedef struct spl_dermis_parts {
    const uint8_t *hold; /* spl_hold; NULL: all free */
    const int32_t *edge; /* 2 an edge: the curves of the sliding vertices */
    size_t edge_count;
    const double *stiffness; /* times young (1) */
    const double *zeta;      /* in the settings' place */
    const double *drag;
    const double *prestrain;
    const double *tether_length;   /* m; 0: glued, INFINITY: none. NULL: no tethers at all */
    const double *tether_pressure; /* Pa, with lengths: what takes a tether to its length */
    const spl_vec3 *push;   /* Pa of the body as it is at rest, in the axes of x: what pulls at the skin (b of 7) */
    const spl_vec3 *stance; /* where vertices are when the skin is unstressed; NULL: where the net has them */
} spl_dermis_parts;

/* What an advance did. */
typedef struct spl_dermis_stats {
    int32_t steps, rejected, factorisations, iterations;
    int32_t broken;            /* triangles whose skin is inside out or torn thin, at the last step */
    double shortest;           /* step, seconds */
    double fastest;            /* m/s, relative to the body */
    double energy;             /* of skin and tethers, J, at the start of the last step */
    double ms_linear, ms_rest; /* linear solver (T_LS of the paper's table 2) and all else (T_R) */
} spl_dermis_stats;

typedef struct spl_dermis {
    supple_allocator allocator;
    spl_pool *pool;
    spl_net net; /* owned */
    spl_curves curves;
    spl_dermis_settings set;
    /* constant, by vertex */
    uint8_t *hold;
    double *zeta, *drag;
    spl_vec3 *push;                          /* NULL: none anywhere */
    double *patch;                           /* a third of the area of its triangles */
    double *tether_length, *tether_pressure; /* NULL: there are no tethers */
    double *size;      /* about the height of the triangles around it, or half of the body's mean */
    int32_t *unknown;  /* 2 a vertex: of v_i's components, -1 where they are held */
    int32_t *diagonal; /* 3 a vertex: entries of the matrix for 00, 10, 11; -1 */
    /* constant, by live triangle: one with a vertex that is not fixed, and area */
    int32_t live_count;
    int32_t *live; /* the triangle */
    double *over;  /* the cosine to the normals below which it is inside out */
    double *mu, *lambda, *shrink;
    double *relax; /* 4: the 2x2 matrix that takes edges as they are in the stance to those at rest; or NULL */
    int32_t *mine; /* 3 x triangles: of a corner, the live triangle's number times 3 plus the corner; -1 */
    /* state */
    spl_vec3 *x; /* the body */
    spl_place *place;
    spl_vec3 *Y;   /* of the places */
    double *theta; /* by slot of the curves */
    double *v;     /* 2 a vertex */
    spl_mat3 turn; /* from the axes that forces are given in to those of x */
    int32_t level; /* of adaptive steps: frame / 2^level */
    bool moving;   /* x is of a frame, not the rest shape */
    /* of a step */
    spl_vec3 *x_new, *x_frame, *x_begin; /* at its end; at the frame's end and beginning */
    spl_place *place_new;
    spl_vec3 *Y_new;
    double *theta_new, *v_new, *slip; /* 2 a vertex: velocity after the solve; slip (13) */
    double *jacobian;                 /* 6 a vertex: J_i */
    spl_vec3 *up;                     /* by vertex: the smooth normal at its place, unit */
    double *element_jacobian;         /* 6 a live triangle: J_j */
    double *element_W, *element_f;    /* 1 and 6 a live triangle */
    double *element_mass;             /* 9 a live triangle: 00, 10, 11 of each corner */
    double *element_K;                /* 21 a live triangle */
    double *force, *mass;             /* 2 and 3 a vertex */
    double *tether_W, *tether_K;      /* 1 and 3 a vertex: energy, and stiffness as 00, 10, 11; or NULL */
    bool *element_broken;
    /* the linear system */
    spl_assembly assembly;
    spl_rows rows;
    double *value; /* of the matrix */
    double *right, *solution;
    float *single; /* room for a preconditioner's vector */
    spl_factor *factor;
    spl_pcg *pcg;
    bool factored;
    double factor_h;     /* of the step that the factor was made for */
    int32_t skip, skips; /* steps that will not try an old factor, and how many the last failure made it */
    spl_dermis_stats stats;
} spl_dermis;

/* Makes a skin at rest on a net, which becomes the skin's, also on failure. */
supple_result spl_dermis_create(spl_net *net, const spl_dermis_settings *settings, const spl_dermis_parts *parts,
                                spl_pool *pool, const supple_allocator *a, spl_dermis **out, supple_error *error);
void spl_dermis_destroy(spl_dermis *s);

/* The skin as it was made: at rest, unmoved. */
void spl_dermis_reset(spl_dermis *s);

/* Puts the skin somewhere: a place for each vertex (initial strain, 3.1). Curves keep their skin. */
void spl_dermis_put(spl_dermis *s, const spl_place *place);

/* The body moves to x (a position for each vertex of the net) within dt seconds: steps as the settings say. After
 * creation or a reset the first call only puts the body there, the skin glued to it. Positions that are not finite are
 * taken as unmoved; a body that jumps farther than its own size takes the skin along. */
supple_result spl_dermis_advance(spl_dermis *s, const spl_vec3 *x, double dt, supple_error *error);

/* The body stands at x, and the skin goes to its equilibrium there, without inertia: at most `most` steps, fewer where
 * it arrives. */
supple_result spl_dermis_settle(spl_dermis *s, const spl_vec3 *x, int32_t most, supple_error *error);

/* One step of h seconds with the body at x, for tests and benchmarks. */
supple_result spl_dermis_step(spl_dermis *s, const spl_vec3 *x, double h, supple_error *error);

/* Area of the body now over area of skin, around each vertex. */
void spl_dermis_stretch(const spl_dermis *s, double *out);

/* Energy of skin and tethers, and kinetic energy, J, of the state with the body as it stands. */
double spl_dermis_energy(spl_dermis *s, double *kinetic);

/* ---- the parts of a step, shared by the files ---- */

/* (11) to (13): the slip of every vertex as the body goes from x to x_new; false if there is none anywhere. */
bool spl_dermis_couple(spl_dermis *s, double h);

/* The same as printed, after the slip: skin is taken back to where it was at rest by the share zeta of a millisecond;
 * and what friction leaves of v_new. */
void spl_dermis_take_back(spl_dermis *s, double h);
void spl_dermis_rub(spl_dermis *s, double h);

/* Jacobians, forces, masses and, with `stiff`, element stiffness at Y_new on the body x_new. Stiffness is projected
 * unless `exact`. */
void spl_dermis_evaluate(spl_dermis *s, bool stiff, bool exact);

/* Solves (10) for v_new. */
supple_result spl_dermis_solve(spl_dermis *s, double h, supple_error *error);

/* Backtraces from every vertex along -scale * displacement: place, Y and theta of the second set from the first (which
 * may not be the same), and, if v_from is given, velocities. */
typedef struct spl_dermis_move {
    const double *displacement; /* 2 a vertex */
    double scale;
    const spl_place *place;
    const spl_vec3 *Y;
    const double *theta;
    spl_place *place_out;
    spl_vec3 *Y_out;
    double *theta_out;
    const double *v;
    double *v_out;          /* both or neither */
    const double *jacobian; /* 6 a vertex, or NULL: less than half a triangle's way moves Y by them, not by beta */
} spl_dermis_move;
void spl_dermis_advect(spl_dermis *s, const spl_dermis_move *move);

#endif
