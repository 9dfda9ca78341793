/* Long vectors of floats: products and combinations of several at once, so that each is read from memory once, on all
 * threads. Products are summed in float over strips of 512 numbers, eight sums side by side or more, and in double
 * from there on, in one order: the same bits at any number of threads. */
#ifndef SPL_METHODS_PROJECTIVE_VECTORS_H
#define SPL_METHODS_PROJECTIVE_VECTORS_H

#include "core/threads.h"

enum {
    SPL_VECTORS_MOST = 16, /* products at once */
    SPL_VECTORS_STRIP = 512,
};

/* sum a b; y <- y + s x. At most SPL_VECTORS_STRIP numbers. */
typedef float spl_strip_dot_fn(const float *a, const float *b, size_t n);
typedef void spl_strip_add_fn(const float *x, float s, size_t n, float *y);

/* Vectors that stand somewhere else, on a device: pointers to them are names that only these functions read. */
typedef struct spl_vectors_elsewhere {
    void *self;
    void (*dots)(void *self, int count, const float *const a[], const float *const b[], double out[]);
    void (*sum)(void *self, const float *base, int count, const double s[], const float *const x[], float *out);
} spl_vectors_elsewhere;

typedef struct spl_vectors {
    supple_allocator allocator;
    const spl_vectors_elsewhere *elsewhere; /* NULL: here */
    spl_pool *pool;
    size_t n;
    double *partial; /* SPL_VECTORS_MOST a piece */
    spl_strip_dot_fn *dot;
    spl_strip_add_fn *add;
} spl_vectors;

/* For vectors of n numbers. False if memory is out; release accepts what is left. */
bool spl_vectors_create(size_t n, bool plain, const supple_allocator *a, spl_pool *pool, spl_vectors *out);
void spl_vectors_release(spl_vectors *v);

/* out[k] = a[k] . b[k] */
void spl_vectors_dots(spl_vectors *v, int count, const float *const a[], const float *const b[], double out[]);

/* out = base + sum_k s[k] x[k]; out may be base, not one of x. */
void spl_vectors_sum(spl_vectors *v, const float *base, int count, const double s[], const float *const x[],
                     float *out);

/* to = from */
void spl_vectors_copy(spl_vectors *v, const float *from, float *to);

/* For the files that hold them. */
spl_strip_dot_fn spl_strip_dot_plain, spl_strip_dot_avx2;
spl_strip_add_fn spl_strip_add_plain, spl_strip_add_avx2;

#endif
