/* Contacts: where the surface of a body has gone into another part of the body, or into something of the world.
 *
 * One set for all methods; each answers it in its own way (edge constraints, penalty springs, subspace forces). A
 * vertex has at most one contact with the body and one with the world, so that room is made once. Found by a
 * spatial hash of the free surface vertices that every deformed tet looks into (hits.h); a vertex inside a tet is
 * brought out through that tet's own triangle (prisms), or through the place on the surface that is nearest at rest, by
 * the nearest way that faces it. Neighbours through flesh, what touches at rest and the two sides of one limb are no
 * pairs (near.h). Deterministic at any number of threads. */
#ifndef SPL_CONTACT_CONTACT_H
#define SPL_CONTACT_CONTACT_H

#include "body/solid.h"
#include "contact/collider.h"
#include "contact/feasible.h"

typedef struct spl_contact {
    int32_t vertex;    /* of the body */
    int32_t corner[3]; /* the vertices of the surface triangle that it touches; -1 -1 -1: the world. In motion with a
                        * feasible state: all others of two edges, or of a point and a triangle */
    int32_t partner;   /* that triangle's number in body.tets.surface; or the collider's */
    int32_t age;       /* finds in a row that had this pair, 0 for a new one */
    double bary[3];    /* the touching point in that triangle; of what presses in motion they may be negative */
    double offset;     /* how far from it the vertex is to be, along the normal */
    double push;       /* the part of it that makes up for what springs alone leave (spl_contacts_learn) */
    spl_vec3 target;   /* the touching point and the offset: nearest free place of the vertex */
    spl_vec3 normal;   /* unit, out of what was entered */
    double share;      /* of its stiffness, 0 to 1: what the flesh on both sides bears (spl_contacts_bear) */
    double depth;      /* (target - x) . normal: negative for a pair that is kept while it rests nearby */
} spl_contact;

typedef struct spl_contact_options {
    bool self, world;
    double keep; /* pairs that touched are kept while they are nearer than this, of the surface's mean edge */
} spl_contact_options;

spl_contact_options spl_contact_options_default(void); /* both, keep 0.25 (projective paper, section 6) */

/* A contact as a spring that a method put there, for residuals and --dump-sim: force -k (x_v - target) on the vertex,
 * or its part along the normal, and the opposite on the corners by `bary`. */
typedef struct spl_contact_spring {
    int32_t vertex, corner[3];
    double bary[3], offset; /* target: the touching point and the offset along the normal */
    spl_vec3 target, normal;
    double stiffness; /* N/m */
    bool along;       /* only along the normal */
} spl_contact_spring;

typedef struct spl_contacts spl_contacts;

/* Prepares for a solid, which must outlive it, as must `colliders` (NULL: an empty world). Vertices that bones hold
 * make no contacts, but their tets are obstacles. */
supple_result spl_contacts_create(const spl_solid *solid, const spl_colliders *colliders,
                                  const spl_contact_options *options, const supple_config *config, spl_pool *pool,
                                  spl_contacts **out, supple_error *error);
void spl_contacts_destroy(spl_contacts *c);

/* From now on contacts of the body are what meets on the way from a feasible state (feasible.h), which must outlive it;
 * NULL: vertices in tets. */
void spl_contacts_follow(spl_contacts *c, spl_feasible *feasible);

/* Whether they are. */
bool spl_contacts_bounded(const spl_contacts *c);

/* Forgets pairs that rest. */
void spl_contacts_reset(spl_contacts *c);

/* Finds the contacts at x (3 a body vertex, the solver's space), in rising order of their vertex, self before world.
 * Allocates nothing. Returns their number. */
int32_t spl_contacts_find(spl_contacts *c, const double *x, spl_pool *pool);

/* Brings target, normal and depth of the contacts found last up to date at x, without looking for new ones. */
void spl_contacts_refresh(spl_contacts *c, const double *x);

/* x is what the springs of the last find led to. How deep contacts of a feasible state still are is added to how far
 * they push from the next find on: the multipliers of an augmented Lagrangian, kept from frame to frame, so that
 * contacts end with nothing left. Called by spl_contacts_find for all but the first of a frame, and for the last by the
 * frame's end, which this is. */
void spl_contacts_learn(spl_contacts *c, const double *x);

/* From now on contacts of a feasible state change steadily with x, so that rounding, or another device, makes little of
 * little: half of what springs leave is added to what they push, and flesh is damped by how deep and how near to each
 * corner a contact is (spl_contacts_vertices). `mixed` and `steklov` do not ask for it: they have more vertices that go
 * to and fro by it (docs/contact.md). */
void spl_contacts_steady(spl_contacts *c);

/* The vertices of the contacts of the last find, 4 each (-1: none), and how much of it touches there, for
 * spl_feasible_damp; valid until the next. */
const int32_t *spl_contacts_vertices(spl_contacts *c, const double **share, int32_t *count);

/* Whether memory was out in a find with a feasible state. */
bool spl_contacts_failed(const spl_contacts *c);

/* Those of the last find; valid until the next. */
const spl_contact *spl_contacts_list(const spl_contacts *c, int32_t *count);

/* Of contacts of the body, the share of their stiffness that its flesh bears from the next find on: by vertex, 0 to 1
 * (sunk.h), kept by the caller; NULL: all of it. A contact has the least of its vertex and corners. */
void spl_contacts_bear(spl_contacts *c, const double *share);

/* The least share of `count` vertices of the body. */
double spl_contacts_share(const spl_contacts *c, const int32_t *vertex, int count);

/* The most contacts that there can be. */
int32_t spl_contacts_capacity(const spl_contacts *c);

/* What it knows of the surface at rest, for stages after it (near.h). */
const struct spl_near *spl_contacts_near(const spl_contacts *c);

/* The mean edge of the surface at rest, metres. */
double spl_contacts_edge(const spl_contacts *c);

#endif
