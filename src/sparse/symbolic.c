#include "sparse/symbolic.h"

#include "core/error.h"
#include "core/memory.h"

#include <string.h>

/* Work of the analysis. Everything but `pattern` speaks of nodes in elimination order. */
typedef struct analysis {
    const spl_pattern *pattern;
    int32_t n;
    int32_t *order, *place; /* order[k] = node, place[node] = k */
    size_t *start;          /* n + 1: the upper triangle of the permuted matrix by columns, that is its lower rows */
    int32_t *column;        /* columns < row, unsorted */
    int32_t *parent;        /* of the elimination tree, -1 at roots */
    int32_t *height;        /* entries in a column of L, with the diagonal */
    int32_t *mark, *spare;  /* n each */
    int32_t *owner;         /* supernode of a column */
    int32_t count;          /* supernodes */
    int32_t *first;         /* count + 1 (room for n + 1): first column */
    int32_t *up;            /* count: parent of a supernode, -1 at roots */
} analysis;

static void release_analysis(analysis *w, const supple_allocator *a)
{
    int32_t *blocks[] = {w->order, w->place, w->column, w->parent, w->height,
                         w->mark,  w->spare, w->owner,  w->first,  w->up};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(a, blocks[i]);
    spl_free(a, w->start);
}

static bool allocate_analysis(analysis *w, const spl_pattern *p, const supple_allocator *a)
{
    size_t n = (size_t)p->n;
    *w = (analysis){.pattern = p, .n = p->n};
    int32_t **blocks[] = {&w->order, &w->place, &w->parent, &w->height, &w->mark,
                          &w->spare, &w->owner, &w->first,  &w->up};
    bool ok = true;
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        *blocks[i] = spl_new(a, n + 1, sizeof **blocks[i]);
        ok = ok && *blocks[i];
    }
    w->column = spl_new(a, p->start[n] - n, sizeof *w->column);
    w->start = spl_new(a, n + 2, sizeof *w->start);
    return ok && w->column && w->start;
}

/* The rows of the lower triangle of the permuted matrix. */
static void permute(analysis *w)
{
    const spl_pattern *p = w->pattern;
    for (int32_t k = 0; k < w->n; k++) w->place[w->order[k]] = k;
    memset(w->start, 0, ((size_t)w->n + 2) * sizeof *w->start);
    size_t *next = w->start + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t j = 0; j < p->n; j++)
            for (size_t e = p->start[j] + 1; e < p->start[j + 1]; e++) {
                int32_t u = w->place[j], v = w->place[p->row[e]], row = u > v ? u : v;
                if (pass == 0)
                    next[row + 1]++;
                else
                    w->column[next[row]++] = u > v ? v : u;
            }
        for (int32_t i = 0; pass == 0 && i < w->n; i++) next[i + 1] += next[i];
    }
}

/* Liu's algorithm with path compression through `spare`. */
static void find_tree(analysis *w)
{
    int32_t *ancestor = w->spare;
    for (int32_t i = 0; i < w->n; i++) {
        w->parent[i] = ancestor[i] = -1;
        for (size_t e = w->start[i]; e < w->start[i + 1]; e++)
            for (int32_t j = w->column[e], up; j != -1 && j < i; j = up) {
                up = ancestor[j];
                ancestor[j] = i;
                if (up == -1) w->parent[j] = i;
            }
    }
}

/* Heights of L's columns: row i of L is the union of the tree's paths from A's columns in row i up to i. */
static void count_heights(analysis *w)
{
    for (int32_t i = 0; i < w->n; i++) {
        w->height[i] = 1;
        w->mark[i] = i;
        for (size_t e = w->start[i]; e < w->start[i + 1]; e++)
            for (int32_t j = w->column[e]; w->mark[j] != i; j = w->parent[j]) {
                w->mark[j] = i;
                w->height[j]++;
            }
    }
}

/* Postorder, a node's highest child last: it is next to the parent then, and the one that pays most to merge with it.
 * Lists are threaded through `mark` (first child) and `spare` (next sibling); the result goes to `place`. */
static void postorder(analysis *w)
{
    int32_t *child = w->mark, *sibling = w->spare, *stack = w->owner, top = 0, k = 0, root = -1;
    for (int32_t j = 0; j < w->n; j++) child[j] = -1;
    for (int32_t j = w->n - 1; j >= 0; j--) {
        int32_t *head = w->parent[j] < 0 ? &root : &child[w->parent[j]];
        sibling[j] = *head;
        *head = j;
    }
    for (int32_t j = 0; j < w->n; j++) { /* the highest child to the end of its list */
        int32_t best = -1, before = -1, last = -1, previous = -1;
        for (int32_t c = child[j]; c != -1; previous = last = c, c = sibling[c])
            if (best == -1 || w->height[c] >= w->height[best]) best = c, before = previous;
        if (best == last) continue;
        *(before < 0 ? &child[j] : &sibling[before]) = sibling[best];
        sibling[last] = best;
        sibling[best] = -1;
    }
    for (; root != -1; root = sibling[root])
        for (stack[top++] = root; top > 0;) {
            int32_t j = stack[top - 1], c = child[j];
            if (c == -1) {
                w->place[k++] = j;
                top--;
            } else {
                child[j] = sibling[c];
                stack[top++] = c;
            }
        }
}

/* Renames the columns by the postorder: order, parent and height follow, the rows are permuted again. */
static void apply_postorder(analysis *w)
{
    int32_t *post = w->place, *inverse = w->spare, *copy = w->mark;
    for (int32_t k = 0; k < w->n; k++) inverse[post[k]] = k;
    for (int32_t k = 0; k < w->n; k++) copy[k] = w->order[post[k]];
    memcpy(w->order, copy, (size_t)w->n * sizeof *copy);
    for (int32_t k = 0; k < w->n; k++) copy[k] = w->parent[post[k]] < 0 ? -1 : inverse[w->parent[post[k]]];
    memcpy(w->parent, copy, (size_t)w->n * sizeof *copy);
    for (int32_t k = 0; k < w->n; k++) copy[k] = w->height[post[k]];
    memcpy(w->height, copy, (size_t)w->n * sizeof *copy);
    permute(w);
}

/* Maximal supernodes: columns whose rows are those of the column before without its diagonal. */
static void find_supernodes(analysis *w)
{
    w->count = 0;
    for (int32_t j = 0; j < w->n; j++)
        if (j == 0 || w->parent[j - 1] != j || w->height[j - 1] != w->height[j] + 1) w->first[w->count++] = j;
    w->first[w->count] = w->n;
}

/* Whether a merged supernode is worth its explicit zeros, a share of its entries: small panels lose more on calls,
 * index lists and padding than on zeros. */
static bool worth_merging(double columns, double zeros, double entries)
{
    double share = zeros / entries;
    if (columns <= 4) return share < 0.8;
    return columns <= 16 ? share < 0.3 : columns <= 48 ? share < 0.15 : share < 0.05;
}

/* Relaxed supernodes: one joins the run of columns right before it if that is its child. A supernode's rows are then
 * the child's columns and its own rows. `mark` holds the heights of the supernodes on the output so far. */
static void relax_supernodes(analysis *w, double *zeros)
{
    int32_t out = 0, *first = w->first, *height = w->mark;
    for (int32_t s = 0; s < w->count; s++) {
        int32_t begin = first[s], end = first[s + 1];
        double rows = w->height[begin], waste = 0;
        while (out > 0 && w->parent[begin - 1] >= begin && w->parent[begin - 1] < end) {
            double columns = begin - first[out - 1], width = end - first[out - 1];
            double merged = zeros[out - 1] + waste + columns * (columns + rows - height[out - 1]);
            double entries = width * (rows + columns) - width * (width - 1) / 2;
            if (!worth_merging(width * w->pattern->block, merged, entries)) break;
            waste = merged;
            rows += columns;
            begin = first[--out];
        }
        first[out] = begin;
        height[out] = (int32_t)rows;
        zeros[out++] = waste;
    }
    first[out] = w->n;
    w->count = out;
}

/* Cuts wide supernodes into chains of even pieces (whole tiles where possible); fills owner and up. */
static void split_supernodes(analysis *w)
{
    int32_t limit = (SPL_MAX_WIDTH / w->pattern->block) & ~(SPL_TILE - 1), out = 0, *first = w->spare;
    for (int32_t s = 0; s < w->count; s++) {
        int32_t begin = w->first[s], end = w->first[s + 1], pieces = (end - begin - 1) / limit + 1;
        int32_t width = (end - begin - 1) / pieces + 1;
        if (pieces > 1) width = (width + SPL_TILE - 1) & ~(SPL_TILE - 1);
        int32_t top = w->parent[end - 1];
        for (int32_t at = begin; at < end; at += width, out++) {
            first[out] = at;
            w->up[out] = out + 1; /* the next piece; the last one's is set below */
            for (int32_t j = at; j < at + width && j < end; j++) w->owner[j] = out;
        }
        w->up[out - 1] = top < 0 ? -1 : ~top - 1; /* below -1: a column, whose owner may not be known yet */
    }
    first[out] = w->n;
    for (int32_t s = 0; s < out; s++)
        if (w->up[s] < -1) w->up[s] = w->owner[~(w->up[s] + 1)];
    memcpy(w->first, first, ((size_t)out + 1) * sizeof *first);
    w->count = out;
}

/* Visits (row, supernode) for every row below a supernode's own columns, rows ascending: the paths in the supernodes'
 * tree from A's columns in a row up to the row's own supernode. Counts in `count`, or stores at the cursors. */
static void visit_rows(analysis *w, int32_t *count, const spl_symbolic *s, size_t *cursor)
{
    for (int32_t k = 0; k < w->count; k++) w->mark[k] = -1;
    for (int32_t i = 0; i < w->n; i++)
        for (size_t e = w->start[i]; e < w->start[i + 1]; e++)
            for (int32_t k = w->owner[w->column[e]]; k != w->owner[i] && w->mark[k] != i; k = w->up[k]) {
                w->mark[k] = i;
                if (count)
                    count[k]++;
                else
                    for (int32_t c = 0; c < s->block; c++) s->rows[cursor[k]++] = i * s->block + c;
            }
}

/* Row lists and panel offsets of all supernodes, in scalar rows. */
static bool build_panels(analysis *w, spl_symbolic *s, const supple_allocator *a)
{
    size_t count = (size_t)w->count, *cursor = spl_new(a, count, sizeof *cursor);
    s->first = spl_new(a, count + 1, sizeof *s->first);
    s->parent = spl_new(a, count, sizeof *s->parent);
    s->row_count = spl_new(a, count, sizeof *s->row_count);
    s->row_start = spl_new(a, count + 1, sizeof *s->row_start);
    s->panel = spl_new(a, count + 1, sizeof *s->panel);
    bool ok = cursor && s->first && s->parent && s->row_count && s->row_start && s->panel;
    if (ok) {
        visit_rows(w, s->row_count, NULL, NULL);
        s->count = w->count;
        for (size_t k = 0; k <= count; k++) s->first[k] = w->first[k] * s->block;
        for (size_t k = 0; k < count; k++) {
            int32_t width = s->first[k + 1] - s->first[k];
            s->parent[k] = w->up[k];
            s->row_count[k] = s->row_count[k] * s->block + width;
            int32_t padded = (s->row_count[k] + SPL_TILE - 1) & ~(SPL_TILE - 1);
            if (padded > s->max_rows) s->max_rows = padded;
            s->row_start[k + 1] = s->row_start[k] + (size_t)padded;
            s->panel[k + 1] = s->panel[k] + (size_t)padded * (size_t)width;
            cursor[k] = s->row_start[k] + (size_t)width;
        }
        s->rows = spl_new(a, s->row_start[count], sizeof *s->rows);
        ok = s->rows;
    }
    for (size_t k = 0; ok && k < count; k++) {
        int32_t width = s->first[k + 1] - s->first[k];
        int32_t *rows = s->rows + s->row_start[k];
        for (int32_t i = 0; i < width; i++) rows[i] = s->first[k] + i;
        for (size_t i = (size_t)s->row_count[k]; i < s->row_start[k + 1] - s->row_start[k]; i++) rows[i] = s->n;
    }
    if (ok) visit_rows(w, NULL, s, cursor);
    spl_free(a, cursor);
    return ok;
}

/* For every supernode, who updates it and with which rows. */
static bool build_updates(const analysis *w, spl_symbolic *s, const supple_allocator *a)
{
    s->update_start = spl_new(a, (size_t)s->count + 2, sizeof *s->update_start);
    if (!s->update_start) return false;
    for (int pass = 0; pass < 2; pass++) {
        size_t *next = s->update_start + 1;
        for (int32_t k = 0; k < s->count; k++) {
            const int32_t *rows = s->rows + s->row_start[k];
            for (int32_t i = s->first[k + 1] - s->first[k], end; i < s->row_count[k]; i = end) {
                int32_t target = w->owner[rows[i] / s->block];
                for (end = i + 1; end < s->row_count[k] && rows[end] < s->first[target + 1]; end++) {
                }
                if (pass == 0)
                    next[target + 1]++;
                else
                    s->updates[next[target]++] = (spl_update){k, i, end};
            }
        }
        if (pass) break;
        for (int32_t k = 0; k < s->count; k++) next[k + 1] += next[k];
        s->updates = spl_new(a, next[s->count], sizeof *s->updates);
        if (!s->updates) return false;
    }
    return true;
}

/* The position of a scalar row in a panel; it is there. */
static int32_t find_row(const spl_symbolic *s, int32_t k, int32_t row)
{
    const int32_t *rows = s->rows + s->row_start[k];
    int32_t lo = 0, hi = s->row_count[k] - 1;
    while (lo < hi) {
        int32_t middle = lo + (hi - lo) / 2;
        if (rows[middle] < row)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

/* For every supernode, the entries of A that fall into its panel. */
static bool build_loads(const analysis *w, spl_symbolic *s, const supple_allocator *a)
{
    const spl_pattern *p = w->pattern;
    s->load_start = spl_new(a, (size_t)s->count + 2, sizeof *s->load_start);
    s->loads = spl_new(a, p->start[p->n], sizeof *s->loads);
    if (!s->load_start || !s->loads) return false;
    size_t *next = s->load_start + 1;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t j = 0; j < p->n; j++)
            for (size_t e = p->start[j]; e < p->start[j + 1]; e++) {
                int32_t u = w->place[p->row[e]], v = w->place[j], column = u < v ? u : v, row = u < v ? v : u;
                int32_t k = w->owner[column];
                if (pass == 0) {
                    next[k + 1]++;
                    continue;
                }
                int32_t at = find_row(s, k, row * s->block);
                s->loads[next[k]++] = (spl_load){e, u < v ? ~at : at, column * s->block - s->first[k]};
            }
        for (int32_t k = 0; pass == 0 && k < s->count; k++) next[k + 1] += next[k];
    }
    return true;
}

static void count_work(const analysis *w, spl_symbolic *s)
{
    double b = s->block;
    for (int32_t j = 0; j < w->n; j++)
        for (double c = 0; c < b; c++) {
            double h = w->height[j] * b - c;
            s->entry_count += h;
            s->flops += h * h;
        }
}

static bool analyse(analysis *w, spl_symbolic *s, const supple_allocator *a)
{
    permute(w);
    find_tree(w);
    count_heights(w);
    postorder(w);
    apply_postorder(w);
    count_work(w, s);
    find_supernodes(w);
    double *zeros = spl_new(a, (size_t)w->count, sizeof *zeros);
    if (!zeros) return false;
    relax_supernodes(w, zeros);
    spl_free(a, zeros);
    split_supernodes(w);
    return build_panels(w, s, a) && build_updates(w, s, a) && build_loads(w, s, a) && spl_symbolic_divide(s, a);
}

void spl_symbolic_release(spl_symbolic *s, const supple_allocator *a)
{
    void *blocks[] = {s->order, s->first,        s->parent,  s->row_count,  s->row_start, s->rows,
                      s->panel, s->update_start, s->updates, s->load_start, s->loads,     s->bin};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) spl_free(a, blocks[i]);
    *s = (spl_symbolic){0};
}

supple_result spl_symbolic_create(const spl_pattern *p, const int32_t *order, const supple_allocator *a,
                                  spl_symbolic *out, supple_error *error)
{
    *out = (spl_symbolic){.n = p->n * p->block, .nodes = p->n, .block = p->block};
    supple_result result = spl_pattern_check(p, error);
    if (result != SUPPLE_OK) return result;
    analysis w;
    bool ok = allocate_analysis(&w, p, a);
    if (ok && order) memcpy(w.order, order, (size_t)p->n * sizeof *order);
    if (ok && !order) result = spl_order_amd(p, w.order, a, error);
    if (ok && result == SUPPLE_OK) ok = analyse(&w, out, a);
    if (ok && result == SUPPLE_OK) {
        out->order = w.order;
        w.order = NULL;
    }
    release_analysis(&w, a);
    if (!ok) result = spl_fail_memory(error, "the analysis of a sparse matrix");
    if (result != SUPPLE_OK) spl_symbolic_release(out, a);
    return result;
}
