/* Poses that are handed out by messages, between threads that stand for processes: the bits of one that is alone. */
#include "subspace/ranges.h"
#include "subspace/samples.h"
#include "training.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { CELLS = 14, COUNT = 10, MOST = 4 };

/* ---- messages: a list for each rank ---- */

typedef struct letter {
    struct letter *next;
    int32_t from;
    size_t size;
    unsigned char bytes[];
} letter;

typedef struct post {
    pthread_mutex_t lock;
    letter *box[MOST];
} post;

typedef struct place { /* of one rank */
    post *post;
    int32_t rank;
} place;

static supple_result post_send(void *user, int32_t to, const void *data, size_t size, supple_error *error)
{
    place *p = user;
    (void)error;
    letter *l = malloc(sizeof *l + size), **last = &p->post->box[to];
    *l = (letter){.from = p->rank, .size = size};
    memcpy(l->bytes, data, size);
    pthread_mutex_lock(&p->post->lock);
    while (*last) last = &(*last)->next;
    *last = l;
    pthread_mutex_unlock(&p->post->lock);
    return SUPPLE_OK;
}

static supple_result post_receive(void *user, int32_t *from, void *data, size_t room, size_t *size, supple_error *error)
{
    place *p = user;
    pthread_mutex_lock(&p->post->lock);
    letter *l = p->post->box[p->rank];
    if (l) p->post->box[p->rank] = l->next;
    pthread_mutex_unlock(&p->post->lock);
    *size = 0;
    if (!l) return SUPPLE_OK;
    if (l->size > room) {
        free(l);
        error->code = SUPPLE_ERROR_INPUT;
        return SUPPLE_ERROR_INPUT;
    }
    memcpy(data, l->bytes, l->size);
    *size = l->size;
    *from = l->from;
    free(l);
    return SUPPLE_OK;
}

/* ---- processes ---- */

typedef struct process {
    const training *t;
    spl_joint_ranges ranges;
    spl_joint_move *move;
    double tolerance;
    supple_exchange exchange;
    place place;
    spl_samples samples;
    supple_result result;
    supple_error error;
    bool quit; /* the others failed: the host asks to stop */
} process;

static bool go_on(void *user, const char *stage, double fraction)
{
    (void)stage, (void)fraction;
    return !__atomic_load_n((bool *)user, __ATOMIC_RELAXED);
}

static void *solve(void *context)
{
    process *p = context;
    supple_config config = supple_config_default();
    config.progress = go_on;
    config.progress_user = &p->quit;
    spl_sample_options so = {.law = &spl_law_corot,
                             .tolerance = p->tolerance,
                             .max_iterations = 75,
                             .exchange = p->exchange.size > 0 ? &p->exchange : NULL};
    p->result = spl_samples_solve(&p->samples, p->t->demo.scene, &p->t->solid, &so, &config, NULL, &p->error);
    return NULL;
}

static bool start(process *p, const training *t, post *mail, int32_t rank, int32_t size)
{
    *p = (process){.t = t, .tolerance = 1e-4, .place = {mail, rank}};
    if (size > 0)
        p->exchange = (supple_exchange){
            .rank = rank, .size = size, .user = &p->place, .send = post_send, .receive = post_receive};
    if (spl_joint_ranges_infer(t->demo.scene, NULL, 0, 0.4, &p->ranges, NULL) != SUPPLE_OK) return false;
    p->move = calloc(COUNT * (size_t)p->ranges.joint_count, sizeof *p->move);
    spl_joint_ranges_draw(&p->ranges, COUNT, 3, p->move);
    return spl_samples_create(t->demo.scene, p->ranges.node, p->ranges.joint_count, p->move, COUNT, &t->solid,
                              &p->samples, NULL) == SUPPLE_OK;
}

static void end(process *p)
{
    spl_samples_release(&p->samples);
    spl_joint_ranges_release(&p->ranges);
    free(p->move);
}

static void empty(post *mail)
{
    for (int r = 0; r < MOST; r++)
        for (letter *l = mail->box[r]; l; l = mail->box[r]) {
            mail->box[r] = l->next;
            free(l);
        }
}

TEST(bits_at_any_number_of_processes_and_threads)
{
    training t = training_make("arm", 0.4, CELLS, NULL);
    process alone, p[MOST];
    pthread_t thread[MOST];
    REQUIRE(t.ok && start(&alone, &t, NULL, 0, 0));
    solve(&alone);
    CHECK(alone.result == SUPPLE_OK);
    size_t bytes = COUNT * 3 * (size_t)t.solid.body->tets.vertex_count * sizeof(float);
    for (int size = 1; size <= MOST; size++) {
        post mail = {.box = {NULL}};
        pthread_mutex_init(&mail.lock, NULL);
        for (int r = 0; r < size; r++) REQUIRE(start(&p[r], &t, &mail, r, size));
        for (int r = 0; r < size; r++) pthread_create(&thread[r], NULL, solve, &p[r]);
        for (int r = 0; r < size; r++) pthread_join(thread[r], NULL);
        for (int r = 0; r < size; r++) CHECK(p[r].result == SUPPLE_OK);
        CHECK(p[0].samples.x && memcmp(p[0].samples.x, alone.samples.x, bytes) == 0);
        CHECK(memcmp(p[0].samples.residual, alone.samples.residual, COUNT * sizeof(double)) == 0);
        CHECK(memcmp(p[0].samples.state, alone.samples.state, COUNT * sizeof *alone.samples.state) == 0);
        for (int r = 1; r < size; r++) CHECK(!p[r].samples.x);
        for (int r = 0; r < size; r++) end(&p[r]);
        empty(&mail);
    }
    end(&alone);
    training_free(&t);
}

/* Rank 0 with one other that is not what it should be. */
static void with_a_stranger(const training *t, double tolerance, const void *message, size_t size, const char *word)
{
    post mail = {.box = {NULL}};
    process p[2];
    pthread_t thread[2];
    pthread_mutex_init(&mail.lock, NULL);
    for (int r = 0; r < 2; r++) REQUIRE(start(&p[r], t, &mail, r, 2));
    p[1].tolerance = tolerance;
    if (message) post_send(&p[1].place, 0, message, size, NULL);
    pthread_create(&thread[0], NULL, solve, &p[0]);
    if (!message) pthread_create(&thread[1], NULL, solve, &p[1]);
    pthread_join(thread[0], NULL);
    __atomic_store_n(&p[1].quit, true, __ATOMIC_RELAXED);
    if (!message) pthread_join(thread[1], NULL);
    CHECK(p[0].result == SUPPLE_ERROR_INPUT && strstr(p[0].error.message, word));
    if (!message) CHECK(p[1].result == SUPPLE_ERROR_CANCELLED);
    for (int r = 0; r < 2; r++) end(&p[r]);
    empty(&mail);
}

TEST(who_trains_something_else_is_refused)
{
    training t = training_make("arm", 0.4, CELLS, NULL);
    unsigned char noise[96];
    REQUIRE(t.ok);
    with_a_stranger(&t, 1e-3, NULL, 0, "other parameters");
    with_a_stranger(&t, 1e-4, "too short", 9, "nobody asked");
    for (unsigned kind = 1; kind < 6; kind++) {
        memset(noise, 0xff, sizeof noise);
        memcpy(noise, &kind, sizeof kind);
        with_a_stranger(&t, 1e-4, noise, sizeof noise, kind == 1 ? "other parameters" : kind == 3 ? "wrong" : "nobody");
    }
    training_free(&t);
}

TEST_CASES(RUN(bits_at_any_number_of_processes_and_threads), RUN(who_trains_something_else_is_refused))
