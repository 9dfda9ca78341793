#include "subspace/lanczos.h"

#include "core/error.h"
#include "core/memory.h"

#ifdef SPL_HAVE_ARPACK

#include "core/hash.h"

#include <arpack/arpack.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#define MOST_RESTARTS 300

/* ARPACK is loaded when it is first needed: the BLAS behind it starts threads as it is loaded, and who plays models
 * needs neither. (Linked as usual it cost every run of the tool 6 ms.) */
typedef struct arpack {
    __typeof__(dsaupd_c) *saupd;
    __typeof__(dseupd_c) *seupd;
    int (*get_threads)(void); /* OpenBLAS only, if the BLAS is OpenBLAS; else NULL */
    void (*set_threads)(int count);
} arpack;

static void find_function(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol); /* ISO C has no cast from void * to a function */
}

/* Never unloaded: threads of its BLAS would lose the code under them. */
static supple_result arpack_load(arpack *out, supple_error *error)
{
    void *library = dlopen(SPL_ARPACK_NAME, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "training needs ARPACK (libarpack2): %.140s",
                        reason ? reason : "it cannot be loaded");
    }
    find_function(library, "dsaupd_c", &out->saupd);
    find_function(library, "dseupd_c", &out->seupd);
    find_function(library, "openblas_get_num_threads", &out->get_threads);
    find_function(library, "openblas_set_num_threads", &out->set_threads);
    if (out->saupd && out->seupd) return SUPPLE_OK;
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT, "training needs ARPACK: %s lacks dsaupd_c or dseupd_c",
                    SPL_ARPACK_NAME);
}

typedef struct work {
    const spl_lanczos *p;
    arpack arpack;
    a_int vectors, size; /* Lanczos vectors kept; length of workl */
    double *residual, *basis, *workd, *workl, *ritz;
    a_int *chosen;
    a_int parameter[11], pointer[11], info;
} work;

static bool work_create(work *w, const spl_lanczos *p, const supple_allocator *a)
{
    int64_t want = 2 * (int64_t)p->count + 1 > 20 ? 2 * (int64_t)p->count + 1 : 20;
    *w = (work){.p = p, .vectors = (a_int)(want < p->n ? want : p->n)};
    w->size = w->vectors * (w->vectors + 8);
    size_t n = (size_t)p->n, v = (size_t)w->vectors;
    w->residual = spl_new(a, n, sizeof(double));
    w->basis = spl_new(a, n, v * sizeof(double));
    w->workd = spl_new(a, n, 3 * sizeof(double));
    w->workl = spl_new(a, (size_t)w->size, sizeof(double));
    w->ritz = spl_new(a, v, sizeof(double));
    w->chosen = spl_new(a, v, sizeof *w->chosen);
    return w->residual && w->basis && w->workd && w->workl && w->ritz && w->chosen;
}

static void work_release(work *w, const supple_allocator *a)
{
    spl_free(a, w->residual);
    spl_free(a, w->basis);
    spl_free(a, w->workd);
    spl_free(a, w->workl);
    spl_free(a, w->ritz);
    spl_free(a, w->chosen);
}

/* Reverse communication: ARPACK asks for products until it is done. */
static supple_result iterate(work *w, supple_error *error)
{
    const spl_lanczos *p = w->p;
    a_int ask = 0;
    w->info = 1; /* our start: ARPACK's own random one depends on what it did before */
    for (int32_t i = 0; i < p->n; i++) w->residual[i] = (double)(spl_mix((uint64_t)i + 1) >> 11) * 0x1p-53 - 0.5;
    w->parameter[0] = 1; /* exact shifts */
    w->parameter[2] = MOST_RESTARTS;
    w->parameter[3] = 1;
    w->parameter[6] = 1; /* A x = mu x */
    for (;;) {
        w->arpack.saupd(&ask, "I", p->n, "LA", p->count, p->tolerance, w->residual, w->vectors, w->basis, p->n,
                        w->parameter, w->pointer, w->workd, w->workl, w->size, &w->info);
        if (ask != -1 && ask != 1) break;
        supple_result result = p->apply(p->context, w->workd + w->pointer[0] - 1, w->workd + w->pointer[1] - 1, error);
        if (result != SUPPLE_OK) return result;
    }
    if (w->info != 0)
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "vibrations: %d of %d found in %d restarts (ARPACK says %d)",
                        (int)w->parameter[4], (int)p->count, (int)w->parameter[2], (int)w->info);
    return SUPPLE_OK;
}

static supple_result extract(work *w, double *value, double *vector, supple_error *error)
{
    const spl_lanczos *p = w->p;
    size_t n = (size_t)p->n, count = (size_t)p->count;
    w->arpack.seupd(1, "A", w->chosen, w->ritz, w->basis, p->n, 0, "I", p->n, "LA", p->count, p->tolerance, w->residual,
                    w->vectors, w->basis, p->n, w->parameter, w->pointer, w->workd, w->workl, w->size, &w->info);
    if (w->info != 0)
        return spl_fail(error, SUPPLE_ERROR_SOLVE, "vibrations: no vectors (ARPACK says %d)", (int)w->info);
    for (size_t k = 0; k < count; k++) { /* they come rising */
        const double *from = w->basis + (count - 1 - k) * n;
        size_t most = 0;
        value[k] = w->ritz[count - 1 - k];
        for (size_t i = 0; i < n; i++)
            if (fabs(from[i]) > fabs(from[most])) most = i;
        for (size_t i = 0; i < n; i++) vector[k * n + i] = from[most] < 0 ? -from[i] : from[i];
    }
    return SUPPLE_OK;
}

/* With threads of its own OpenBLAS's sums would depend on their number. */
static supple_result run_alone(work *w, double *value, double *vector, supple_error *error)
{
    static pthread_mutex_t only = PTHREAD_MUTEX_INITIALIZER; /* ARPACK's state is static: it serves one at a time */
    const arpack *l = &w->arpack;
    pthread_mutex_lock(&only);
    int threads = l->get_threads ? l->get_threads() : 1;
    if (l->set_threads) l->set_threads(1);
    supple_result result = iterate(w, error);
    if (result == SUPPLE_OK) result = extract(w, value, vector, error);
    if (l->set_threads) l->set_threads(threads);
    pthread_mutex_unlock(&only);
    return result;
}

supple_result spl_lanczos_largest(const spl_lanczos *p, const supple_allocator *a, double *value, double *vector,
                                  supple_error *error)
{
    work w;
    supple_result result = work_create(&w, p, a) ? SUPPLE_OK : spl_fail_memory(error, "the body's vibrations");
    if (result == SUPPLE_OK) result = arpack_load(&w.arpack, error);
    if (result == SUPPLE_OK) result = run_alone(&w, value, vector, error);
    work_release(&w, a);
    return result;
}

#else

supple_result spl_lanczos_largest(const spl_lanczos *p, const supple_allocator *a, double *value, double *vector,
                                  supple_error *error)
{
    (void)p, (void)a, (void)value, (void)vector;
    return spl_fail(error, SUPPLE_ERROR_ARGUMENT,
                    "this build plays trained models and trains none: configure it with "
                    "-DSUPPLE_TRAINING=ON");
}

#endif
