#include "subspace/domains.h"

#include "body/island_body.h"
#include "failing.h"
#include "subspace/training.h"
#include "test.h"

/* ---- what holds for every cut, by brute force ---- */

static int32_t place_of(const spl_domain *d, int32_t vertex)
{
    for (int32_t k = 0; k < d->vertex_count; k++)
        if (d->vertex[k] == vertex) return k;
    return -1;
}

/* Every tet once; vertices are the free corners, rising; masses are those of the domain's own tets. */
static void check_parts(const training *t)
{
    const spl_domains *d = &t->domains;
    const spl_tets *tets = &t->demo.body->tets;
    int32_t sum = 0;
    double mass = 0, want = 0, *lumped = calloc((size_t)tets->vertex_count, sizeof *lumped);
    for (int32_t i = 0; i < d->domain_count; i++) {
        const spl_domain *o = &d->domain[i];
        sum += o->tet_count;
        CHECK(d->of_bone[o->bone] == i);
        CHECK(i == 0 || o->bone > d->domain[i - 1].bone);
        for (int32_t k = 0; k < o->tet_count; k++) {
            CHECK(d->of_tet[o->tet[k]] == i);
            CHECK(k == 0 || o->tet[k] > o->tet[k - 1]);
        }
        for (int32_t k = 0; k < o->vertex_count; k++) {
            CHECK(t->demo.body->bone[o->vertex[k]] < 0);
            CHECK(k == 0 || o->vertex[k] > o->vertex[k - 1]);
            CHECK(o->mass[k] > 0);
            mass += o->mass[k];
        }
    }
    CHECK(sum == tets->tet_count);
    spl_elements_lumped_mass(&t->solid.elements, t->solid.material.density, lumped);
    for (int32_t v = 0; v < tets->vertex_count; v++)
        if (t->demo.body->bone[v] < 0) want += lumped[v];
    CHECK_NEAR(mass / want, 1, 1e-12);
    for (int32_t k = 0; k < tets->tet_count; k++)
        for (int i = 0; i < 4; i++) {
            int32_t v = tets->tet[4 * k + i];
            if (t->demo.body->bone[v] < 0) CHECK(place_of(&d->domain[d->of_tet[k]], v) >= 0);
        }
    free(lumped);
}

/* Pieces of the mesh, or of one domain of it, through faces. */
static int32_t piece_count(const training *t, int32_t domain)
{
    const spl_tets *tets = &t->demo.body->tets;
    spl_tet_faces faces;
    int32_t count = 0, *root = malloc((size_t)tets->tet_count * sizeof *root);
    if (spl_tet_faces_create(&faces, tets, NULL) != SUPPLE_OK) abort();
    for (int32_t k = 0; k < tets->tet_count; k++) root[k] = k;
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = 0; i + 1 < faces.count; i++) {
            int32_t s = faces.order[i] / 4, u = faces.order[i + 1] / 4;
            if (spl_tet_faces_group_end(&faces, i) == i + 1) continue;
            if (domain >= 0 && (t->domains.of_tet[s] != domain || t->domains.of_tet[u] != domain)) continue;
            int32_t low = root[s] < root[u] ? root[s] : root[u];
            changed = changed || root[s] != low || root[u] != low;
            root[s] = root[u] = low;
        }
    }
    for (int32_t k = 0; k < tets->tet_count; k++)
        if (root[k] == k && (domain < 0 || t->domains.of_tet[k] == domain)) count++;
    spl_tet_faces_release(&faces);
    free(root);
    return count;
}

/* Interfaces: a third of each face between two domains at each of its free corners. Where pieces hang together at a
 * corner or an edge alone there is no face, but a positive area all the same; `loose` counts those. */
static int32_t check_interfaces(const training *t)
{
    const spl_domains *d = &t->domains;
    const spl_tets *tets = &t->demo.body->tets;
    spl_tet_faces faces;
    size_t n = (size_t)d->domain_count, m = (size_t)tets->vertex_count;
    double *want = calloc(n * n * m, sizeof *want);
    int32_t loose = 0, *tied = malloc(n * m * sizeof *tied);
    if (spl_tet_faces_create(&faces, tets, NULL) != SUPPLE_OK) abort();
    for (int32_t i = 0; i + 1 < faces.count; i++) {
        int32_t a = d->of_tet[faces.order[i] / 4], b = d->of_tet[faces.order[i + 1] / 4];
        if (spl_tet_faces_group_end(&faces, i) == i + 1 || a == b) continue;
        const int32_t *v = faces.corner + 3 * (size_t)faces.order[i];
        spl_vec3 p[3];
        for (int c = 0; c < 3; c++) memcpy(&p[c], t->solid.drive.rest + 3 * (size_t)v[c], sizeof p[c]);
        double area = spl_norm(spl_cross(spl_sub(p[1], p[0]), spl_sub(p[2], p[0]))) / 2;
        size_t pair = (size_t)(a < b ? a : b) * n + (size_t)(a < b ? b : a);
        for (int c = 0; c < 3; c++)
            if (t->demo.body->bone[v[c]] < 0) want[pair * m + (size_t)v[c]] += area / 3;
    }
    for (size_t k = 0; k < n * m; k++) tied[k] = (int32_t)(k / m);
    for (int32_t k = 0; k < d->interface_count; k++) {
        const spl_interface *f = &d->interface[k];
        CHECK(0 <= f->i && f->i < f->j && f->j < d->domain_count && f->count > 0);
        for (int32_t q = 0; q < f->count; q++) {
            int32_t v = d->domain[f->i].vertex[f->at_i[q]];
            double *w = &want[((size_t)f->i * n + (size_t)f->j) * m + (size_t)v];
            CHECK(v == d->domain[f->j].vertex[f->at_j[q]]);
            CHECK(q == 0 || f->at_i[q] > f->at_i[q - 1]);
            CHECK(f->area[q] > 0);
            if (*w > 0) CHECK_NEAR(f->area[q] / *w, 1, 1e-12);
            if (!(*w > 0)) loose++;
            *w = 0;
            int32_t one = tied[(size_t)f->i * m + (size_t)v], other = tied[(size_t)f->j * m + (size_t)v];
            for (size_t i = 0; i < n; i++)
                if (tied[i * m + (size_t)v] == other) tied[i * m + (size_t)v] = one;
        }
    }
    for (size_t k = 0; k < n * n * m; k++) CHECK(want[k] == 0); /* none is missing */
    for (int32_t i = 0; i < d->domain_count; i++)               /* and all copies of a vertex are tied to each other */
        for (int32_t q = 0; q < d->domain[i].vertex_count; q++)
            for (int32_t j = 0; j < i; j++) {
                size_t v = (size_t)d->domain[i].vertex[q];
                if (place_of(&d->domain[j], (int32_t)v) >= 0) CHECK(tied[(size_t)i * m + v] == tied[(size_t)j * m + v]);
            }
    spl_tet_faces_release(&faces);
    free(want);
    free(tied);
    return loose;
}

/* No domain is cut where the mesh is not. */
static void check_whole(const training *t)
{
    int32_t sum = 0, mesh = piece_count(t, -1);
    for (int32_t i = 0; i < t->domains.domain_count; i++) sum += piece_count(t, i);
    CHECK(sum <= t->domains.domain_count + mesh - 1);
}

/* ---- characters ---- */

static int32_t domain_of(const training *t, const char *name)
{
    const spl_bones *bones = &t->demo.body->bones;
    for (int32_t b = 0; b < bones->bone_count; b++)
        if (strcmp(t->demo.scene->node[bones->bone[b].node].name, name) == 0) return t->domains.of_bone[b];
    return -2;
}

TEST(hero_by_either_rule)
{
    demo_body demo = demo_body_of(demo_scene("hero", 0.5), 40, 0);
    for (int rule = 0; rule < 2; rule++) {
        spl_domain_options o = spl_domain_options_default();
        o.rule = rule ? SPL_DOMAINS_WEIGHTS : SPL_DOMAINS_NEAREST;
        training t = training_of(demo, &o);
        REQUIRE(t.ok);
        check_parts(&t);
        check_interfaces(&t);
        CHECK(t.domains.domain_count >= 14 && t.domains.domain_count <= 24);
        for (int32_t i = 0; i < t.domains.domain_count; i++) CHECK(t.domains.domain[i].tet_count >= o.least_tets);
        check_whole(&t);
        spl_domains_release(&t.domains);
        spl_solid_release(&t.solid);
    }
    demo_body_free(&demo);
}

/* A straight limb is cut where its joint is: the arm's elbow. */
TEST(an_arm_is_cut_at_its_elbow)
{
    spl_domain_options o = spl_domain_options_default();
    o.rule = SPL_DOMAINS_NEAREST;
    training t = training_make("arm", 0.5, 40, &o);
    REQUIRE(t.ok);
    check_parts(&t);
    check_interfaces(&t);
    const spl_bones *bones = &t.demo.body->bones;
    const spl_tets *tets = &t.demo.body->tets;
    double worst = 0, edge = spl_tets_quality(tets).max_edge;
    for (int32_t k = 0; k < t.domains.interface_count; k++) {
        const spl_interface *f = &t.domains.interface[k];
        const spl_bone *child = &bones->bone[t.domains.domain[f->j].bone];
        const spl_bone *parent = &bones->bone[t.domains.domain[f->i].bone];
        spl_vec3 axis = spl_unit(spl_sub(parent->tail, parent->head), spl_v3(1, 0, 0));
        for (int32_t v = 0; v < f->count; v++) {
            spl_vec3 p = tets->position[t.domains.domain[f->i].vertex[f->at_i[v]]];
            worst = fmax(worst, fabs(spl_dot(spl_sub(p, child->head), axis)));
        }
    }
    CHECK(t.domains.domain_count >= 2);
    CHECK(worst <= 1.5 * edge);
    training_free(&t);
}

TEST(as_few_as_asked_for)
{
    demo_body demo = demo_body_of(demo_scene("hero", 0.5), 30, 0);
    for (int32_t most = 1; most <= 6; most++) {
        spl_domain_options o = spl_domain_options_default();
        o.most = most;
        training t = training_of(demo, &o);
        REQUIRE(t.ok);
        CHECK(t.domains.domain_count == most);
        check_parts(&t);
        check_interfaces(&t);
        if (most == 1) CHECK(t.domains.interface_count == 0);
        check_whole(&t);
        for (int32_t b = 0; b < t.demo.body->bones.bone_count; b++) CHECK(t.domains.of_bone[b] < most);
        spl_domains_release(&t.domains);
        spl_solid_release(&t.solid);
    }
    demo_body_free(&demo);
}

/* A bone that holds nothing moves none; its flesh goes to others. */
TEST(a_bone_without_tets)
{
    demo_body demo = demo_body_of(demo_scene("arm", 0.5), 30, 0);
    REQUIRE(demo.body);
    int32_t last = demo.body->bones.bone_count - 1, joint = demo.body->bones.bone[last].joint;
    for (int32_t v = 0; v < demo.body->tets.vertex_count; v++)
        if (demo.body->bone[v] >= 0 && demo.body->bones.bone[demo.body->bone[v]].joint == joint)
            demo.handle->body.bone[v] = -1;
    for (int rule = 0; rule < 2; rule++) {
        spl_domain_options o = spl_domain_options_default();
        o.rule = rule ? SPL_DOMAINS_WEIGHTS : SPL_DOMAINS_NEAREST;
        training t = training_of(demo, &o);
        REQUIRE(t.ok);
        CHECK(t.domains.of_bone[last] == -1);
        check_parts(&t);
        check_interfaces(&t);
        spl_domains_release(&t.domains);
        spl_solid_release(&t.solid);
    }
    demo_body_free(&demo);
}

/* Flesh that touches nothing stays with the bone it hangs on. */
TEST(a_loose_piece)
{
    demo_body demo = island_body_make(demo_scene("arm", 0.5), 30, spl_v3(0, 5, 0), 0.05);
    training t = training_of(demo, NULL);
    REQUIRE(t.ok);
    check_parts(&t);
    check_interfaces(&t);
    int32_t tets = t.demo.body->tets.tet_count, v = t.demo.body->tets.vertex_count - 1;
    CHECK(piece_count(&t, -1) == 2);
    for (int32_t k = tets - 6; k < tets; k++) CHECK(t.domains.of_tet[k] == t.domains.of_bone[t.solid.island[v]]);
    training_free(&t);
}

TEST(nothing_left_to_deform)
{
    demo_body demo = demo_body_of(demo_scene("arm", 0.5), 20, 0);
    REQUIRE(demo.body);
    supple_config config = supple_config_default();
    supple_allocator a = spl_allocator_of(NULL);
    supple_error error = {0};
    spl_solid solid;
    spl_domains d;
    REQUIRE(spl_solid_create(demo.body, NULL, &config, NULL, &solid, &error) == SUPPLE_OK);
    for (int32_t v = 0; v < demo.body->tets.vertex_count; v++)
        if (demo.body->bone[v] < 0) demo.handle->body.bone[v] = 0;
    CHECK(spl_domains_create(&solid, NULL, &a, &d, &error) == SUPPLE_ERROR_INPUT);
    CHECK(strstr(error.message, "nothing left") != NULL);
    spl_solid_release(&solid);
    demo_body_free(&demo);
}

/* Limbs of a whole rig: what is on the left is of bones on the left, and every domain hangs together. */
TEST(a_person)
{
    training t = training_of(demo_body_make(SPL_DATA_DIR "/person.glb", 60, 0), NULL);
    REQUIRE(t.ok);
    check_parts(&t);
    int32_t left = domain_of(&t, "LeftArm"), right = domain_of(&t, "RightArm");
    CHECK(left >= 0 && right >= 0 && left != right);
    for (int32_t k = 0; k < t.domains.interface_count; k++) {
        const spl_interface *f = &t.domains.interface[k];
        CHECK(!(f->i == left && f->j == right) && !(f->i == right && f->j == left));
    }
    check_whole(&t);
    training_free(&t);
}

TEST(memory_runs_out)
{
    training t = training_make("arm", 0.5, 16, NULL);
    REQUIRE(t.ok);
    supple_result result = SUPPLE_ERROR_MEMORY;
    for (long n = 0; result == SUPPLE_ERROR_MEMORY && n < 1000; n++) {
        failing f = {.fail_at = n};
        supple_allocator a = failing_allocator(&f);
        spl_domains d;
        result = spl_domains_create(&t.solid, NULL, &a, &d, NULL);
        CHECK(result == SUPPLE_OK || result == SUPPLE_ERROR_MEMORY);
        CHECK(n > 10 || result == SUPPLE_ERROR_MEMORY);
        spl_domains_release(&d);
        CHECK(f.live == 0);
    }
    CHECK(result == SUPPLE_OK);
    training_free(&t);
}

TEST_CASES(RUN(hero_by_either_rule), RUN(an_arm_is_cut_at_its_elbow), RUN(as_few_as_asked_for),
           RUN(a_bone_without_tets), RUN(a_loose_piece), RUN(nothing_left_to_deform), RUN(a_person),
           RUN(memory_runs_out))
