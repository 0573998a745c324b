/* Fractional knapsacks, column by column, at several budgets or at one, what the bounds they give rule
   out, and the worst of a few lies; `compiled.py` says what for.

   Additions come in a fixed order, products are not fused with them: any compiler gives the same bits.
   At several budgets the order is that of the ranking, and the bits are those of NumPy. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 8 /* columns copied at once: a line of the cache */
#define LANES 32 /* columns that a few instructions work on side by side */
#define TILE 512 /* columns looked at where they are: long enough to be read ahead, and in the cache */

#define SLACK 1e-12 /* for rounding */

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx512f", "avx2", "default"))) /* as loaded; same bits */
#else
#define WIDE
#endif

/* Rank all items by weight, ties by number, starting from a guess. */
static void rank(const double *weights, int64_t step, int64_t m, int32_t *order, double *ranked) {
    double last = INFINITY;
    int32_t last_i = -1;
    for (int64_t p = 0; p < m; p++) {
        int32_t i = order[p];
        double w = fabs(weights[i * step]);
        if (w < last || (w == last && i > last_i)) { /* mostly */
            ranked[p] = last = w;
            last_i = i;
            continue;
        }
        int64_t q = p;
        for (; q > 0 && (w > ranked[q - 1] || (w == ranked[q - 1] && i < order[q - 1])); q--) {
            ranked[q] = ranked[q - 1];
            order[q] = order[q - 1];
        }
        ranked[q] = w;
        order[q] = i;
        last = ranked[p];
        last_i = order[p];
    }
}

/* The knapsacks of one column, whose n items are ranked. */
static void solve(const double *ranked, const double *counts, int64_t n, const int32_t *order,
                  const double *budgets, int64_t n_levels, double cap, double *out, int64_t stride) {
    double number = 0.0, value = 0.0, spent = 0.0, next = budgets[0];
    int64_t level = 0;
    for (int64_t p = 0; p < n; p++) {
        double w = ranked[p], count = counts[order[p]];
        number += count;
        double cost = number * cap;
        while (cost > next) {
            out[level * stride] = value * cap + (next - spent) * w;
            next = ++level < n_levels ? budgets[level] : INFINITY;
        }
        value += count * w;
        spent = cost;
    }
    for (; level < n_levels; level++)
        out[level * stride] = value * cap;
}

/* weights: of item j in column x at [j * step + x], of either sign.
   columns: which x, (k,), or NULL for 0, ..., k - 1.
   budgets: ascending, (n_levels,).
   order: a guess for each x at [x * width], a permutation of 0, ..., m - 1, corrected in place.
   out: the knapsacks divided by lam, (n_levels, k).
   mu, noise: (k,); the bounds mu +- (noise + out) then tighten upper and lower, (n_levels, k). Or NULL.
   Returns 0, or 1 where there is no memory. */
int level_shifts(const double *weights, int64_t step, int64_t m, const int64_t *columns, int64_t k,
                 const double *counts, const double *budgets, int64_t n_levels, double cap, double lam,
                 int32_t *order, int64_t width, double *out, const double *mu, const double *noise,
                 double *upper, double *lower) {
    double *ranked = malloc((size_t)m * sizeof(double));
    if (!ranked)
        return 1;
    for (int64_t c = 0; c < k; c++) {
        int64_t x = columns ? columns[c] : c;
        rank(weights + x, step, m, order + x * width, ranked);
        solve(ranked, counts, m, order + x * width, budgets, n_levels, cap, out + c, k);
    }
    free(ranked);
    for (int64_t p = 0; p < n_levels * k; p++)
        out[p] /= lam;
    for (int64_t level = 0; mu && level < n_levels; level++)
        for (int64_t c = 0, p = level * k; c < k; c++, p++) {
            double high = mu[c] + (noise[c] + out[p]), low = mu[c] - (noise[c] + out[p]);
            upper[p] = high < upper[p] ? high : upper[p];
            lower[p] = low > lower[p] ? low : lower[p];
        }
    return 0;
}

/* The item at which n_units readings are reached, the heaviest first, of one column of a block. Of those
   much lighter than the guess, which `number` readings outweigh, none is looked at twice, mostly. */
static int64_t find(const double *block, const double *counts, int64_t m, double n_units, double number,
                    int64_t guess, int32_t *items) {
    double least = block[guess * BLOCK] * (number < n_units ? 0.8 : 1.0), total = 0.0;
    int64_t low = 0, high = 0;
    for (int64_t j = 0; j < m; j++) {
        int is_heavy = block[j * BLOCK] >= least;
        items[high] = (int32_t)j;
        high += is_heavy;
        total += is_heavy * counts[j];
    }
    if (total < n_units)
        for (high = 0; high < m; high++)
            items[high] = (int32_t)high;
    for (;;) {
        double pivot = block[items[low + (high - low) / 2] * BLOCK], heavier = 0.0, equal = 0.0;
        int64_t n_heavier = low, n_equal = low;
        for (int64_t p = low; p < high; p++) { /* heavier ones first, then those that are equal */
            int32_t i = items[p];
            double w = block[i * BLOCK];
            if (w < pivot)
                continue;
            items[p] = items[n_equal];
            items[n_equal] = i;
            if (w > pivot) {
                items[n_equal] = items[n_heavier];
                items[n_heavier++] = i;
                heavier += counts[i];
            } else {
                equal += counts[i];
            }
            n_equal++;
        }
        if (heavier >= n_units) {
            high = n_heavier;
        } else if (heavier + equal >= n_units || n_equal == high) {
            return items[n_heavier];
        } else {
            n_units -= heavier + equal;
            low = n_equal;
        }
    }
}

/* In each of some columns, side by side, the readings that outweigh a threshold, and what they weigh
   together. */
WIDE static void outweigh(const double *weights, int64_t step, int64_t m, int64_t width, const double *counts,
                          const double *restrict threshold, double *restrict number,
                          double *restrict value) {
    for (int64_t c = 0; c < width; c++)
        number[c] = value[c] = 0.0;
    for (int64_t j = 0; j < m; j++, weights += step) {
        double all = counts[j];
        for (int64_t c = 0; c < width; c++) {
            double w = fabs(weights[c]), count = w > threshold[c] ? all : 0.0;
            number[c] += count;
            value[c] += count * w;
        }
    }
}

/* Whether an item that `number` readings outweigh, and that stands for `count`, is the one at which n_units
   are reached. */
static int is_critical(double number, double count, double n_units) {
    return number < n_units && number + count >= n_units;
}

/* One knapsack a column, of n_units readings, at most all: the heaviest.
   weights: of item j in column x at [j * step + x], of either sign.
   columns: which x, (k,), or NULL for 0, ..., k - 1.
   critical: a guess at the item of each column at which they are reached, (k,), corrected in place.
   out: (k,).
   Returns 0, or 1 where there is no memory. */
int knapsack(const double *weights, int64_t step, const int64_t *columns, int64_t m, int64_t k,
             const double *counts, double n_units, int64_t *critical, double *out) {
    double *block = calloc((size_t)m, BLOCK * sizeof(double) + sizeof(int32_t));
    if (!block)
        return 1;
    int32_t *items = (int32_t *)(block + BLOCK * m);
    for (int64_t first = 0; first < k; first += BLOCK) {
        int64_t n = first + BLOCK < k ? BLOCK : k - first, x[BLOCK];
        double threshold[BLOCK] = {0.0}, number[BLOCK], value[BLOCK];
        for (int64_t c = 0; c < n; c++)
            x[c] = columns ? columns[first + c] : first + c;
        for (int64_t j = 0; j < m; j++)
            for (int64_t c = 0; c < n; c++)
                block[j * BLOCK + c] = fabs(weights[j * step + x[c]]);
        for (int64_t c = 0; c < n; c++)
            threshold[c] = block[critical[first + c] * BLOCK + c];
        outweigh(block, BLOCK, m, BLOCK, counts, threshold, number, value);
        int is_wrong = 0;
        for (int64_t c = 0; c < n; c++) {
            int64_t *own = critical + first + c;
            if (is_critical(number[c], counts[*own], n_units))
                continue;
            *own = find(block + c, counts, m, n_units, number[c], *own, items);
            is_wrong |= threshold[c] != block[*own * BLOCK + c];
            threshold[c] = block[*own * BLOCK + c];
        }
        if (is_wrong)
            outweigh(block, BLOCK, m, BLOCK, counts, threshold, number, value);
        for (int64_t c = 0; c < n; c++)
            out[first + c] = value[c] + (n_units - number[c]) * threshold[c];
    }
    free(block);
    return 0;
}

/* Bounds on the same knapsacks from one look at each column: what the items that outweigh the guess are
   worth, in part if they are too many, and what they could be worth (weak duality).
   columns: which x of n, ascending, (k,).
   low, high: (k,); the knapsack itself where the guess is right. */
void bracket(const double *weights, int64_t step, int64_t n, const int64_t *columns, int64_t m, int64_t k,
             const double *counts, double n_units, const int64_t *critical, double *low, double *high) {
    for (int64_t p = 0, q; p < k; p = q) { /* neighbours, and those between them, at once */
        int64_t first = columns[p], width = first + TILE <= n ? TILE : n - first;
        double threshold[TILE] = {0.0}, number[TILE], value[TILE];
        for (q = p; q < k && columns[q] < first + width; q++)
            threshold[columns[q] - first] = fabs(weights[critical[q] * step + columns[q]]);
        outweigh(weights + first, step, m, width, counts, threshold, number, value);
        for (int64_t i = p; i < q; i++) {
            int64_t c = columns[i] - first;
            double most = counts[critical[i]], rest = n_units - number[c];
            low[i] = high[i] = value[c] + rest * threshold[c];
            if (is_critical(number[c], most, n_units))
                continue;
            low[i] = rest > 0.0 ? value[c] + most * threshold[c] : value[c] * (n_units / number[c]);
            low[i] *= 1.0 - SLACK;
            high[i] *= 1.0 + SLACK;
        }
    }
}

static double larger(double a, double b) { return a > b ? a : b; }

/* Take out of nested sets, the smallest first, who cannot be best by bounds from two sources together:
   whose upper bound misses the largest lower one, at the level of a set or at one above it.
   upper, lower, other_upper, other_lower, sets: (n_levels, n).
   top: upper and lower bounds of the last level, (2, n), to be written.
   Returns how many sets there are up to the last that lost somebody. */
int64_t rule_out(const double *upper, const double *lower, const double *other_upper,
                 const double *other_lower, int64_t n_levels, int64_t n, double tolerance, uint8_t *sets,
                 double *top) {
    int64_t n_changed = 0;
    for (int64_t level = n_levels - 1; level >= 0; level--) {
        int64_t first = level * n, x = 0;
        const double *own = lower + first, *other = other_lower + first;
        double best[BLOCK]; /* several at a time: one would wait for the one before it */
        for (int64_t c = 0; c < BLOCK; c++)
            best[c] = -INFINITY;
        for (; x + BLOCK <= n; x += BLOCK)
            for (int64_t c = 0; c < BLOCK; c++)
                best[c] = larger(larger(own[x + c], other[x + c]), best[c]);
        for (; x < n; x++)
            best[0] = larger(larger(own[x], other[x]), best[0]);
        for (int64_t c = 1; c < BLOCK; c++)
            best[0] = larger(best[c], best[0]);
        double least = best[0] - tolerance;
        int64_t above = level + 1 < n_levels ? n : 0;
        for (int64_t p = first; p < first + n; p++)
            if (sets[p] && !(sets[p + above] && upper[p] >= least && other_upper[p] >= least)) {
                sets[p] = 0;
                n_changed = level >= n_changed ? level + 1 : n_changed;
            }
    }
    for (int64_t x = 0, p = (n_levels - 1) * n; x < n; x++, p++) {
        top[x] = upper[p] < other_upper[p] ? upper[p] : other_upper[p];
        top[n + x] = lower[p] > other_lower[p] ? lower[p] : other_lower[p];
    }
    return n_changed;
}

/* The k largest of the values >= 0 of each of m rows.
   row, values: (n,).
   largest: (k, m), zeros; falling afterwards. */
void largest_by_row(const int64_t *row, const double *values, int64_t n, int64_t m, int64_t k,
                    double *largest) {
    for (int64_t i = 0; i < n; i++) {
        double value = values[i], *own = largest + row[i];
        int64_t r = k - 1;
        if (value <= own[r * m])
            continue;
        for (; r > 0 && value > own[(r - 1) * m]; r--)
            own[r * m] = own[(r - 1) * m];
        own[r * m] = value;
    }
}

/* Have v among the k largest of each of some columns, side by side. */
static inline void enter(double *restrict largest, int64_t k, const double *restrict v) {
    double rest[LANES];
    for (int64_t c = 0; c < LANES; c++)
        rest[c] = v[c];
    for (int64_t r = 0; r < k; r++, largest += LANES)
        for (int64_t c = 0; c < LANES; c++) {
            double old = largest[c];
            largest[c] = rest[c] > old ? rest[c] : old;
            rest[c] = rest[c] > old ? old : rest[c];
        }
}

/* The k largest of each of some columns both ways, (2, k, LANES), zeros at first; see `worst_lies`. */
WIDE static void enter_all(const double *R, int64_t step, int64_t m, int64_t width, const double *above,
                           const double *below, int64_t k, double *up) {
    double *down = up + k * LANES, *least_up = down - LANES, *least_down = down + (k - 1) * LANES;
    for (int64_t j = 0; j < m; j++) {
        double w[LANES] = {0.0}, higher[LANES], lower[LANES];
        memcpy(w, R + j * step, width < LANES ? (size_t)width * sizeof(double) : sizeof(w));
        for (int64_t r = 0; r < k; r++) { /* where nothing of a rank enters, nothing of the next does */
            double a = above[r * m + j], b = below[r * m + j];
            int64_t is_up[LANES], is_down[LANES], any_up = 0, any_down = 0;
            for (int64_t c = 0; c < LANES; c++) {
                higher[c] = fabs(w[c]) * (w[c] > 0.0 ? a : b);
                lower[c] = fabs(w[c]) * (w[c] > 0.0 ? b : a);
                is_up[c] = higher[c] > least_up[c];
                is_down[c] = lower[c] > least_down[c];
            }
            for (int64_t c = 0; c < LANES; c++) {
                any_up |= is_up[c];
                any_down |= is_down[c];
            }
            if (any_up)
                enter(up, k, higher);
            if (any_down)
                enter(down, k, lower);
            if (!any_up && !any_down)
                break;
        }
    }
}

/* In each column the sum of the k largest of |R[j, x]| times one of up to k factors of item j, which fall:
   those of `above` where R is positive, else those of `below`; and the other way round.
   R: of item j in column x at [j * step + x].
   above, below: (k, m), >= 0.
   up, down: (n,); the largest is added first.
   Returns 0, or 1 where there is no memory. */
int worst_lies(const double *R, int64_t step, int64_t m, int64_t n, const double *above,
               const double *below, int64_t k, double *up, double *down) {
    int64_t size = k * LANES;
    double *largest = malloc((size_t)size * 2 * sizeof(double));
    if (!largest)
        return 1;
    for (int64_t first = 0; first < n; first += LANES) {
        int64_t width = first + LANES < n ? LANES : n - first;
        for (int64_t p = 0; p < 2 * size; p++)
            largest[p] = 0.0;
        enter_all(R + first, step, m, width, above, below, k, largest);
        for (int64_t c = 0; c < width; c++) {
            up[first + c] = down[first + c] = 0.0;
            for (int64_t p = c; p < size; p += LANES) {
                up[first + c] += largest[p];
                down[first + c] += largest[size + p];
            }
        }
    }
    free(largest);
    return 0;
}
