/* The kernels of the bare driver's tests. docs/make_ptx.py makes kernels.ptx of this file; the driver compiles that.

   Each is plain enough for a GPU of compute capability 5.0, and none adds floats in an order that may change from run
   to run, so that two runs give the same bits. Blocks have 256 threads. tests/standins runs the same text as C on the
   CPU: it keeps to what C11 and CUDA C++ have in common. */

#ifdef __CUDACC__
#define KERNEL extern "C" __global__ void
#endif

typedef unsigned long long count_t;

#define THREADS 256
#define TILE 128       /* rows and columns of a product that a block computes: 8 x 8 for each thread */
#define DEPTH 16       /* columns of A and rows of B that lie in shared memory at a time */
#define SPAN (THREADS * 16) /* elements of a vector that a block moves: four times four for each thread */

/* -- products ------------------------------------------------------------------------------------------------------ */

/* Brings a tile of a matrix into shared memory, zeros beyond its edge: TILE of its lines, DEPTH elements of each.
   Neighbouring threads read neighbouring addresses: along the line where its elements lie side by side (step 1). */
#define BRING(tile, from, line, step, first, lines)                                                    \
    for (int l = 0; l < TILE * DEPTH / THREADS; l++) {                                                 \
        int k = step == 1 ? me % DEPTH : me / TILE + THREADS / TILE * l;                               \
        int i = step == 1 ? me / DEPTH + THREADS / DEPTH * l : me % TILE;                              \
        int inside = first + i < lines && begin + k < depth;                                           \
        tile[k][i] = inside ? from[(first + i) * line + (begin + k) * step] : 0.0f;                    \
    }

/* C = A B. C is rows x columns in C order. The element (i, k) of A is a[i * a_row + k * a_column], that of B (k, j) is
   b[k * b_row + j * b_column], so that either may be a transpose. No place may reach 2^31. Each sum runs over k from
   the first to the last. Blocks: columns / TILE x rows / TILE. */
KERNEL __launch_bounds__(THREADS) multiply(const float *a, int a_row, int a_column, const float *b, int b_row,
                                           int b_column, float *c, int rows, int columns, int depth)
{
    /* Four more floats a line, so that threads that write a column of the tile meet few banks twice. */
    __shared__ __align__(16) float left[DEPTH][TILE + 4];
    __shared__ __align__(16) float right[DEPTH][TILE + 4];
    const int me = (int)threadIdx.x, x = me % 16 * 4, y = me / 16 * 4;
    const int top = (int)blockIdx.y * TILE, first = (int)blockIdx.x * TILE;
    float sums[8][8];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) sums[i][j] = 0.0f;
    for (int begin = 0; begin < depth; begin += DEPTH) {
        BRING(left, a, a_row, a_column, top, rows)
        BRING(right, b, b_column, b_row, first, columns)
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < DEPTH; k++) {
            float p[8], q[8];
            for (int i = 0; i < 4; i++) {
                p[i] = left[k][y + i], p[i + 4] = left[k][TILE / 2 + y + i];
                q[i] = right[k][x + i], q[i + 4] = right[k][TILE / 2 + x + i];
            }
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++) sums[i][j] += p[i] * q[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < 8; i++) {
        const int row = top + y + i % 4 + i / 4 * (TILE / 2);
        for (int j = 0; j < 8; j++) {
            const int column = first + x + j % 4 + j / 4 * (TILE / 2);
            if (row < rows && column < columns) c[row * columns + column] = sums[i][j];
        }
    }
}

/* -- a network's step ---------------------------------------------------------------------------------------------- */

#define PLACE ((count_t)blockIdx.x * THREADS + threadIdx.x)

/* y = y + bias in every row, and zero where that is negative if relu is 1. NaN stays NaN. */
KERNEL add_bias(float *y, const float *bias, int rows, int columns, int relu)
{
    const count_t at = PLACE;
    if (at >= (count_t)rows * columns) return;
    const float sum = y[at] + bias[at % columns];
    y[at] = relu && sum < 0.0f ? 0.0f : sum;
}

/* The cross-entropy of each row's softmax, and the slope of the rows' mean by the logits. A thread a row. */
KERNEL entropy(const float *logits, const int *labels, float *losses, float *slope, int rows, int classes)
{
    const int row = (int)PLACE;
    if (row >= rows) return;
    const float *z = logits + row * classes;
    float most = z[0], sum = 0.0f;
    for (int j = 1; j < classes; j++) most = z[j] > most ? z[j] : most;
    for (int j = 0; j < classes; j++) sum += expf(z[j] - most);
    losses[row] = logf(sum) - (z[labels[row]] - most);
    for (int j = 0; j < classes; j++)
        slope[row * classes + j] = (expf(z[j] - most) / sum - (j == labels[row] ? 1.0f : 0.0f)) / (float)rows;
}

/* The slope behind a ReLU becomes that before it. */
KERNEL relu_back(float *slope, const float *after, count_t elements)
{
    const count_t at = PLACE;
    if (at < elements && !(after[at] > 0.0f)) slope[at] = 0.0f;
}

/* The sum of each column; a thread a column. */
KERNEL column_sums(const float *x, float *sums, int rows, int columns)
{
    const int column = (int)PLACE;
    if (column >= columns) return;
    float sum = 0.0f;
    for (int row = 0; row < rows; row++) sum += x[row * columns + column];
    sums[column] = sum;
}

/* weight = weight - rate * slope */
KERNEL descend(float *weight, const float *slope, float rate, count_t elements)
{
    const count_t at = PLACE;
    if (at < elements) weight[at] -= rate * slope[at];
}

/* -- vectors ------------------------------------------------------------------------------------------------------- */

/* What the element of a vector is: 0 to 15, without a period that a copy to a wrong place could meet. */
#define SMALL(at) ((float)((unsigned)(at) * 2654435761u >> 28))

/* Adds up a number of each thread of a block, which lie in `shared`; thread 0 has the sum in shared[0]. */
#define ADD_UP(shared)                                                                                 \
    for (int half = THREADS / 2; half > 0; half /= 2) {                                                \
        __syncthreads();                                                                               \
        if ((int)threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];                \
    }

/* Goes over the elements of a vector by fours, and over the last three one by one. A thread's next four lie THREADS
   fours on, so that a block reads whole lines of memory at a time. */
#define OVER_SPAN(elements, four, one)                                                                 \
    for (int l = 0; l < 4; l++) {                                                                      \
        const count_t at = (count_t)blockIdx.x * SPAN + (count_t)(l * THREADS + (int)threadIdx.x) * 4; \
        if (at + 4 <= elements) { four; }                                                              \
        else for (count_t i = at; i < elements; i++) { one; }                                          \
    }

/* x[i] = SMALL(i) */
KERNEL number(float *x, count_t elements)
{
    for (count_t at = PLACE; at < elements; at += (count_t)gridDim.x * THREADS) x[at] = SMALL(at);
}

/* y = x; blocks: elements / SPAN */
KERNEL copy(const float *x, float *y, count_t elements)
{
    OVER_SPAN(elements, *(float4 *)(y + at) = *(const float4 *)(x + at), y[i] = x[i])
}

/* z = x + 3 y; blocks: elements / SPAN */
KERNEL triad(const float *x, const float *y, float *z, count_t elements)
{
    OVER_SPAN(elements,
        float4 sum = *(const float4 *)(x + at);
        const float4 other = *(const float4 *)(y + at);
        sum.x += 3.0f * other.x; sum.y += 3.0f * other.y; sum.z += 3.0f * other.z; sum.w += 3.0f * other.w;
        *(float4 *)(z + at) = sum,
        z[i] = x[i] + 3.0f * y[i])
}

/* The sum of each SPAN of x, at most 15 * SPAN and so exact; blocks: elements / SPAN */
KERNEL read_sums(const float *x, float *sums, count_t elements)
{
    __shared__ float found[THREADS];
    float sum = 0.0f;
    OVER_SPAN(elements, const float4 v = *(const float4 *)(x + at); sum += v.x + v.y + v.z + v.w, sum += x[i])
    found[threadIdx.x] = sum;
    ADD_UP(found)
    if (threadIdx.x == 0) sums[blockIdx.x] = found[0];
}

/* -- what is wrong ------------------------------------------------------------------------------------------------- */

/* How many elements are not factor * SMALL(i), block by block */
KERNEL wrong_numbers(const float *x, float factor, int *counts, count_t elements)
{
    __shared__ int found[THREADS];
    int wrong = 0;
    for (count_t at = PLACE; at < elements; at += (count_t)gridDim.x * THREADS) wrong += !(x[at] == factor * SMALL(at));
    found[threadIdx.x] = wrong;
    ADD_UP(found)
    if (threadIdx.x == 0) counts[blockIdx.x] = found[0];
}

/* How many of read_sums' sums over `elements` numbers are wrong, block by block */
KERNEL wrong_sums(const float *sums, int *counts, count_t elements)
{
    __shared__ int found[THREADS];
    const count_t spans = (elements + SPAN - 1) / SPAN;
    int wrong = 0;
    for (count_t span = PLACE; span < spans; span += (count_t)gridDim.x * THREADS) {
        const count_t end = (span + 1) * SPAN < elements ? (span + 1) * SPAN : elements;
        float sum = 0.0f;
        for (count_t at = span * SPAN; at < end; at++) sum += SMALL(at);
        wrong += !(sums[span] == sum);
    }
    found[threadIdx.x] = wrong;
    ADD_UP(found)
    if (threadIdx.x == 0) counts[blockIdx.x] = found[0];
}

/* How many floats differ in a bit, or are NaN, block by block */
KERNEL unequal(const unsigned *one, const unsigned *other, int *counts, count_t elements)
{
    __shared__ int found[THREADS];
    int wrong = 0;
    for (count_t at = PLACE; at < elements; at += (count_t)gridDim.x * THREADS)
        wrong += one[at] != other[at] || (one[at] & 0x7fffffffu) > 0x7f800000u;
    found[threadIdx.x] = wrong;
    ADD_UP(found)
    if (threadIdx.x == 0) counts[blockIdx.x] = found[0];
}
