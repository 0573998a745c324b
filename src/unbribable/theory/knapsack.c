/* Fractional knapsacks at several budgets, column by column; `compiled.py` says what for.

   Additions come in the order of the ranking, products are not fused with them: built by any compiler
   it gives what NumPy gives. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define BLOCK 8 /* columns copied at once: a line of the cache */

/* Rank items by weight, ties by number, starting from a guess; return how many are ranked: the
   heaviest ones that cost more than `most`, or all. */
static int64_t rank(const double *weights, const double *counts, int64_t m, double cap, double most,
                    int32_t *order, double *ranked) {
    double number = 0.0;
    int64_t n = 0;
    for (int64_t p = 0; p < m; p++) {
        int32_t i = order[p];
        double w = weights[i];
        if (number * cap > most && (ranked[n - 1] > w || (ranked[n - 1] == w && order[n - 1] < i)))
            continue;
        int64_t q = n++;
        for (; q > 0 && (w > ranked[q - 1] || (w == ranked[q - 1] && i < order[q - 1])); q--) {
            ranked[q] = ranked[q - 1];
            order[q] = order[q - 1];
        }
        ranked[q] = w;
        order[q] = i;
        number += counts[i];
        while ((number - counts[order[n - 1]]) * cap > most)
            number -= counts[order[--n]];
    }
    return n;
}

/* The knapsacks of one column if this is the ranking of its items, and all of it that matters; whether it
   is one. */
static int solve(const double *weights, const double *counts, int64_t n, const int32_t *order,
                 const double *budgets, int64_t n_levels, double cap, double *out, int64_t stride) {
    double number = 0.0, value = 0.0, spent = 0.0, last = INFINITY;
    int64_t level = 0, i = -1;
    for (int64_t p = 0; p < n; p++) {
        double w = weights[order[p]], count = counts[order[p]];
        if (w > last || (w == last && order[p] < i))
            return 0;
        last = w;
        i = order[p];
        number += count;
        for (; level < n_levels && number * cap > budgets[level]; level++)
            out[level * stride] = value * cap + (budgets[level] - spent) * w;
        value += count * w;
        spent = number * cap;
    }
    for (; level < n_levels; level++)
        out[level * stride] = value * cap;
    return 1;
}

/* weights: of item j in column x at [j * step + x], of either sign.
   columns: which x, (k,), or NULL for 0, ..., k - 1.
   budgets: ascending, (n_levels,).
   order: a guess for each x at [x * width], a permutation of 0, ..., m - 1, corrected in place; or NULL.
   out: (n_levels, k).
   Returns 0, or 1 where there is no memory. */
int knapsacks(const double *weights, int64_t step, int64_t m, const int64_t *columns, int64_t k,
              const double *counts, const double *budgets, int64_t n_levels, double cap,
              int32_t *order, int64_t width, double *out) {
    double *copied = malloc((size_t)m * ((BLOCK + 1) * sizeof(double) + sizeof(int32_t)));
    if (!copied)
        return 1;
    double *ranked = copied + BLOCK * m;
    int32_t *unordered = (int32_t *)(ranked + m);
    double most = order ? INFINITY : budgets[n_levels - 1]; /* a whole ranking is a guess for later */
    for (int64_t first = 0; first < k; first += BLOCK) {
        int64_t end = first + BLOCK < k ? first + BLOCK : k;
        for (int64_t j = 0; j < m; j++)
            for (int64_t c = first; c < end; c++)
                copied[(c - first) * m + j] = fabs(weights[j * step + (columns ? columns[c] : c)]);
        for (int64_t c = first; c < end; c++) {
            int32_t *own = order ? order + (columns ? columns[c] : c) * width : unordered;
            for (int64_t j = 0; !order && j < m; j++)
                own[j] = (int32_t)j;
            const double *w = copied + (c - first) * m;
            if (order && solve(w, counts, m, own, budgets, n_levels, cap, out + c, k))
                continue;
            int64_t n = rank(w, counts, m, cap, most, own, ranked);
            solve(w, counts, n, own, budgets, n_levels, cap, out + c, k);
        }
    }
    free(copied);
    return 0;
}
