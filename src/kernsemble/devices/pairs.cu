// Kernel values of all pairs of rows: Gram blocks, and products without a matrix.
//
// A block of 16 x 16 threads computes a tile of pairs, THREAD_ROWS x THREAD_COLUMNS of them per
// thread, in registers. Features of the rows pass through shared memory in chunks, of which the
// next one is copied while the present one is used. Rows are stored by features, with a leading
// dimension that is a multiple of 4, zeros behind the last row.
//
// What depends on the kernel stands in front of this file (see cuda_source.py): `real`, the sizes
// of tiles, `step<s>` (adds a feature of source s to the distances of a pair), KERNEL_VALUE (the
// kernel from distances d0, d1, ... and constants c0, c1, ...), and which entry is compiled.

typedef long long Index;

const int THREADS = 256;
const int TILE_ROWS = 16 * THREAD_ROWS, TILE_COLUMNS = 16 * THREAD_COLUMNS;
const int WORD = 16 / sizeof(real);  // numbers per copy of 16 bytes
const int WORDS = (TILE_ROWS + TILE_COLUMNS) / WORD;  // copies per feature

// The number of features that are unrolled: products with several columns need the registers.
#if PRODUCT > 1
const int FEATURES_AT_ONCE = THREAD_COLUMNS == 8 ? 1 : 4;
#else
const int FEATURES_AT_ONCE = 4;
#endif

struct alignas(16) Four { real at[4]; };

// The rows on both sides, and where the features of each source end.
struct Sides {
    const real *A, *B;
    Index lda, ldb;
    int n_rows, n_columns, n_features, width;  // width: largest number of features of a chunk
    int stops[N_SOURCES + 1];
};

typedef real Distances[THREAD_ROWS][THREAD_COLUMNS][N_DISTANCES];

// The place of a thread among 16 x 16; a warp has 4 x 8, so that it reads few distinct words.
struct Place {
    int y, x;
    __device__ Place() {
        const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        y = warp / 2 * 4 + lane / 8;
        x = warp % 2 * 8 + lane % 8;
    }
    // position within the tile of the i-th row or column of a thread at y or x
    static __device__ int of(int thread, int i) { return i / 4 * 64 + thread * 4 + i % 4; }
};

__device__ void copy_16_bytes(real *target, const real *source, bool exists) {
    const unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(target));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(place), "l"(source),
                 "r"(exists ? 16 : 0));
}

// Start the copies of features first, first + 1, ... of the rows of a tile. A thread copies one
// word of every STEP-th feature.
__device__ void start_chunk(const Sides &sides, Index row, Index column, int first, real *chunk) {
    const int STEP = THREADS / WORDS;
    const int start = threadIdx.x / WORDS, place = threadIdx.x % WORDS * WORD;
    const int end = start < STEP ? min(sides.width, sides.n_features - first) : 0;
    const bool left = place < TILE_ROWS;
    const Index leading = left ? sides.lda : sides.ldb;
    const Index at = left ? row + place : column + place - TILE_ROWS;
    const bool exists = at < leading;
    const real *source = (left ? sides.A : sides.B) + (first + start) * leading;
    if (exists) source += at;
    real *target = chunk + start * (TILE_ROWS + TILE_COLUMNS) + place;
    for (int feature = start; feature < end; feature += STEP) {
        copy_16_bytes(target, source, exists);
        source += STEP * leading;
        target += STEP * (TILE_ROWS + TILE_COLUMNS);
    }
    asm volatile("cp.async.commit_group;");
}

template <int N>
__device__ void read(const real *chunk, int thread, real (&numbers)[N]) {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
        const Four four = *reinterpret_cast<const Four *>(chunk + Place::of(thread, i));
#pragma unroll
        for (int j = 0; j < 4; ++j) numbers[i + j] = four.at[j];
    }
}

// Add the features of one source, and of those after it, to the distances of all pairs.
template <int SOURCE>
__device__ void add_features(const Sides &sides, const real *chunk, int first, Place place,
                             Distances &d) {
    if constexpr (SOURCE < N_SOURCES) {
        const int begin = max(SOURCE == 0 ? 0 : sides.stops[SOURCE - 1], first);
        const int end = min(sides.stops[SOURCE], first + sides.width);
#pragma unroll FEATURES_AT_ONCE
        for (int feature = begin; feature < end; ++feature) {
            const real *numbers = chunk + (feature - first) * (TILE_ROWS + TILE_COLUMNS);
            real a[THREAD_ROWS], b[THREAD_COLUMNS];
            read(numbers, place.y, a);
            read(numbers + TILE_ROWS, place.x, b);
#pragma unroll
            for (int i = 0; i < THREAD_ROWS; ++i)
#pragma unroll
                for (int j = 0; j < THREAD_COLUMNS; ++j) step<SOURCE>(a[i], b[j], d[i][j]);
        }
        add_features<SOURCE + 1>(sides, chunk, first, place, d);
    }
}

// The tiles of columns first, first + 1, ... beside the rows from `start` on.
struct AlongRows {
    Index start;
    int tile, last;
    __device__ bool exists() const { return tile < last; }
    __device__ void advance() { ++tile; }
    __device__ Index row() const { return start; }
    __device__ Index column() const { return Index(tile) * TILE_COLUMNS; }
};

struct Nothing {
    template <typename Walk>
    __device__ void operator()(const Walk &) const {}
};

// Compute the distances of the tiles of a walk, and pass those of each to `finish(walk, d)`.
// `begin(walk)` may start copies into memory that `finish` uses; it waits for them.
template <typename Walk, typename Finish, typename Begin = Nothing>
__device__ void for_tiles(const Sides &sides, Walk walk, real *chunks, Finish finish,
                          Begin begin = Begin()) {
    const Place place;
    const int size = sides.width * (TILE_ROWS + TILE_COLUMNS);
    int present = 0;
    if (walk.exists()) start_chunk(sides, walk.row(), walk.column(), 0, chunks);
    while (walk.exists()) {
        Walk next = walk;
        next.advance();
        Distances d = {};
        for (int first = 0; first < sides.n_features; first += sides.width) {
            asm volatile("cp.async.wait_group 0;");
            __syncthreads();  // the chunk is here, and no thread uses the other one any more
            if (first == 0) begin(walk);
            real *other = chunks + (present ^ 1) * size;
            if (first + sides.width < sides.n_features)
                start_chunk(sides, walk.row(), walk.column(), first + sides.width, other);
            else if (next.exists())
                start_chunk(sides, next.row(), next.column(), 0, other);
            add_features<0>(sides, chunks + present * size, first, place, d);
            present ^= 1;
        }
        finish(walk, d);
        walk = next;
    }
    __syncthreads();  // so that the memory of the chunks can be used for something else
}

extern __shared__ __align__(16) unsigned char memory[];

#define ROWS_OF_BOTH_SIDES                                                                  \
    const real *A, Index lda, int n_rows, const real *B, Index ldb, int n_columns,          \
        int n_features, int width STOPS
#define SIDES {A, B, lda, ldb, n_rows, n_columns, n_features, width, {STOPS_LIST 0}}

#ifdef GRAM
// Write the kernel matrix to `out`, whose rows are `leading` numbers apart.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    pairs(ROWS_OF_BOTH_SIDES, real *out, Index leading CONSTANTS) {
    const Sides sides = SIDES;
    const Place place;
    const Index row = Index(blockIdx.y) * TILE_ROWS;
    const bool is_aligned = leading % 4 == 0 && reinterpret_cast<Index>(out) % 16 == 0;
    const AlongRows walk = {row, int(blockIdx.x), int(blockIdx.x) + 1};
    for_tiles(sides, walk, reinterpret_cast<real *>(memory),
              [&](const AlongRows &here, const Distances &d) {
#pragma unroll
        for (int i = 0; i < THREAD_ROWS; ++i) {
            const Index r = row + Place::of(place.y, i);
            if (r >= n_rows) continue;
#pragma unroll
            for (int j = 0; j < THREAD_COLUMNS; j += 4) {
                const Index c = here.column() + Place::of(place.x, j);
                Four four;
#pragma unroll
                for (int k = 0; k < 4; ++k) four.at[k] = KERNEL_VALUE(d[i][j + k]);
                real *target = out + r * leading + c;
                if (is_aligned && c + 4 <= n_columns) {
                    *reinterpret_cast<Four *>(target) = four;
                } else {
#pragma unroll
                    for (int k = 0; k < 4; ++k)
                        if (c + k < n_columns) target[k] = four.at[k];
                }
            }
        }
    });
}
#endif

#ifdef PRODUCT
#define SPLITS int first_tile, int tiles_per_split, int n_tiles

#if PRODUCT == 1
// Add up K v over the columns of each split: partial[split][row].
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    pairs(ROWS_OF_BOTH_SIDES, SPLITS, const real *V, int k, real *partial CONSTANTS) {
    const Sides sides = SIDES;
    const Place place;
    const Index row = Index(blockIdx.x) * TILE_ROWS;
    const int begin = first_tile + blockIdx.y * tiles_per_split;
    real sums[THREAD_ROWS] = {};
    const AlongRows walk = {row, begin, min(begin + tiles_per_split, n_tiles)};
    for_tiles(sides, walk, reinterpret_cast<real *>(memory),
              [&](const AlongRows &here, const Distances &d) {
        real v[THREAD_COLUMNS];
#pragma unroll
        for (int j = 0; j < THREAD_COLUMNS; ++j) {
            const Index c = here.column() + Place::of(place.x, j);
            v[j] = c < n_columns ? V[c] : real(0);
        }
#pragma unroll
        for (int i = 0; i < THREAD_ROWS; ++i)
#pragma unroll
            for (int j = 0; j < THREAD_COLUMNS; ++j) sums[i] += KERNEL_VALUE(d[i][j]) * v[j];
    });
    real *shares = reinterpret_cast<real *>(memory);  // 16 per row, and one to spread over banks
#pragma unroll
    for (int i = 0; i < THREAD_ROWS; ++i) shares[Place::of(place.y, i) * 17 + place.x] = sums[i];
    __syncthreads();
    if (threadIdx.x < TILE_ROWS && row + threadIdx.x < n_rows) {
        real sum = 0;
        for (int j = 0; j < 16; ++j) sum += shares[threadIdx.x * 17 + j];
        partial[Index(blockIdx.y) * n_rows + row + threadIdx.x] = sum;
    }
}
#else
// A tile of K, and the columns of V that it is multiplied by, in shared memory: four rows of K, or
// four columns of V, are a word. Words are permuted, so that those of a warp are in different banks.
__device__ int place_of_rows(int column, int word) {
    return column * TILE_ROWS + ((word ^ (column / 4 % 8) ^ (column % 4 * 2)) * 4);
}
__device__ int place_of_factors(int column, int word) {
    return column * PRODUCT + ((word ^ (column % 4 / (32 / PRODUCT) * 2)) * 4);
}

#ifdef SINGLE
// Products of tiles by tensor cores. They multiply numbers of 11 bits: each number is a sum of two
// of them, of which three of four products count. They add up one tile only, as they truncate.
struct TileProduct {
    static const int WARPS_OF_ROWS = TILE_ROWS / 16, WARPS_OF_COLUMNS = 8 / WARPS_OF_ROWS;
    static const int SHARES = PRODUCT / WARPS_OF_COLUMNS / 8;  // of 16 rows and 8 columns
    real sums[SHARES][4] = {};

    // the first of 16 rows, and the first column, of a warp; a lane is at (y, x) of 8 x 4
    static __device__ int row() { return threadIdx.x / 32 / WARPS_OF_COLUMNS * 16; }
    static __device__ int column() {
        return threadIdx.x / 32 % WARPS_OF_COLUMNS * (PRODUCT / WARPS_OF_COLUMNS);
    }
    static __device__ int y() { return threadIdx.x % 32 / 4; }
    static __device__ int x() { return threadIdx.x % 4; }

    static __device__ void split(real number, unsigned &high, unsigned &low) {
        asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(high) : "f"(number));
        low = __float_as_uint(number - __uint_as_float(high));
    }

    static __device__ void multiply(real (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
        asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    }

    __device__ void add(const real *tile, const real *factors) {
        real c[SHARES][4] = {};
#pragma unroll 2
        for (int first = 0; first < TILE_COLUMNS; first += 8) {
            unsigned high[4], low[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int r = row() + y() + i % 2 * 8, k = first + x() + i / 2 * 4;
                split(tile[place_of_rows(k, r / 4) + r % 4], high[i], low[i]);
            }
#pragma unroll
            for (int share = 0; share < SHARES; ++share) {
                unsigned factor[2], rest[2];
#pragma unroll
                for (int i = 0; i < 2; ++i) {
                    const int k = first + x() + i * 4, which = column() + share * 8 + y();
                    split(factors[place_of_factors(k, which / 4) + which % 4], factor[i], rest[i]);
                }
                multiply(c[share], low, factor);
                multiply(c[share], high, rest);
                multiply(c[share], high, factor);
            }
        }
#pragma unroll
        for (int share = 0; share < SHARES; ++share)
#pragma unroll
            for (int i = 0; i < 4; ++i) sums[share][i] += c[share][i];
    }

    // Pass all sums to `put(row, column, sum)`.
    template <typename Put>
    __device__ void for_each(Put put) const {
#pragma unroll
        for (int share = 0; share < SHARES; ++share)
#pragma unroll
            for (int i = 0; i < 4; ++i)
                put(row() + y() + i / 2 * 8, column() + share * 8 + x() * 2 + i % 2,
                    sums[share][i]);
    }
};
#else
// Products of tiles: a thread has four rows and SHARE columns of V.
struct TileProduct {
    static const int SHARE = TILE_ROWS * PRODUCT / (4 * THREADS), GROUPS = PRODUCT / SHARE;
    real sums[4][SHARE] = {};

    static __device__ int word() { return threadIdx.x / GROUPS; }
    static __device__ int column() { return threadIdx.x % GROUPS * SHARE; }

    __device__ void add(const real *tile, const real *factors) {
#pragma unroll 4
        for (int k = 0; k < TILE_COLUMNS; ++k) {
            const Four four = *reinterpret_cast<const Four *>(tile + place_of_rows(k, word()));
#pragma unroll
            for (int s = 0; s < SHARE; ++s) {
                const int which = column() + s;
                const real factor = factors[place_of_factors(k, which / 4) + which % 4];
#pragma unroll
                for (int r = 0; r < 4; ++r) sums[r][s] += four.at[r] * factor;
            }
        }
    }

    // Pass all sums to `put(row, column, sum)`.
    template <typename Put>
    __device__ void for_each(Put put) const {
#pragma unroll
        for (int r = 0; r < 4; ++r)
#pragma unroll
            for (int s = 0; s < SHARE; ++s) put(word() * 4 + r, column() + s, sums[r][s]);
    }
};
#endif

// The same for up to PRODUCT columns of V, which is padded with zeros to PRODUCT columns and whole
// tiles of rows.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    pairs(ROWS_OF_BOTH_SIDES, SPLITS, const real *V, int k, real *partial CONSTANTS) {
    const Sides sides = SIDES;
    const Place place;
    const Index row = Index(blockIdx.x) * TILE_ROWS;
    const int begin = first_tile + blockIdx.y * tiles_per_split;
    real *tile = reinterpret_cast<real *>(memory);
    real *factors = tile + TILE_ROWS * TILE_COLUMNS;
    real *chunks = factors + TILE_COLUMNS * PRODUCT;
    const AlongRows walk = {row, begin, min(begin + tiles_per_split, n_tiles)};
    TileProduct product;
    auto copy_factors = [&](const AlongRows &here) {
        const int LENGTH = PRODUCT / 4, PARTS = 4 / WORD;  // words of a row, and copies of a word
        const real *source = V + here.column() * PRODUCT;
#pragma unroll
        for (int i = 0; i < TILE_COLUMNS * PRODUCT / (THREADS * WORD); ++i) {
            const int number = i * THREADS + threadIdx.x, word = number / PARTS;
            const int part = number % PARTS * WORD;
            const int target = place_of_factors(word / LENGTH, word % LENGTH) + part;
            copy_16_bytes(factors + target, source + number * WORD, true);
        }
    };
    auto multiply = [&](const AlongRows &, const Distances &d) {
#pragma unroll
        for (int j = 0; j < THREAD_COLUMNS; ++j)
#pragma unroll
            for (int i = 0; i < THREAD_ROWS; i += 4) {
                Four four;
#pragma unroll
                for (int r = 0; r < 4; ++r) four.at[r] = KERNEL_VALUE(d[i + r][j]);
                const int target = place_of_rows(Place::of(place.x, j), i / 4 * 16 + place.y);
                *reinterpret_cast<Four *>(tile + target) = four;
            }
        asm volatile("cp.async.wait_all;");
        __syncthreads();
        product.add(tile, factors);
        __syncthreads();
    };
    for_tiles(sides, walk, chunks, multiply, copy_factors);
    product.for_each([&](int r, int which, real sum) {
        if (row + r < n_rows && which < k)
            partial[(Index(blockIdx.y) * n_rows + row + r) * k + which] = sum;
    });
}
#endif
#endif

#ifdef SYMMETRIC
// The tiles of some tiles of rows and of columns that are not below the diagonal, by columns.
struct AboveDiagonal {
    int first, last, last_column, i, j;  // row tiles first to last - 1; the present tile (i, j)
    __device__ int end() const { return min(last, j * TILE_COLUMNS / TILE_ROWS + 1); }
    __device__ bool exists() const { return j < last_column; }
    __device__ bool is_last_of_column() const { return i + 1 >= end(); }
    __device__ void advance() {
        if (is_last_of_column()) {
            ++j;
            i = first;
        } else {
            ++i;
        }
    }
    __device__ Index row() const { return Index(i) * TILE_ROWS; }
    __device__ Index column() const { return Index(j) * TILE_COLUMNS; }
    // 1 if the pairs of the tile count for their columns as well, 0 in tiles on the diagonal
    __device__ real weight() const { return column() >= row() + TILE_ROWS ? 1 : 0; }
};

// Add up K v for rows that are compared with each other, every pair once: GROUP tiles of rows
// above the diagonal. v has zeros behind the last row, up to a multiple of TILE_ROWS * GROUP.
//   row_sums[range of columns][row], column_sums[group of rows][column]
// Both start with the first group of this call, and have `leading` numbers per row.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
    pairs(ROWS_OF_BOTH_SIDES, int first_group, int tiles_per_range, int n_tiles, const real *v,
          real *row_sums, Index leading_of_rows, real *column_sums, Index leading CONSTANTS) {
    const Sides sides = SIDES;
    const Place place;
    const int first = (first_group + blockIdx.y) * GROUP;
    const int begin = blockIdx.x * tiles_per_range;
    const int column_tile = max(begin, first * TILE_ROWS / TILE_COLUMNS);
    const AboveDiagonal walk = {first, first + GROUP, min(begin + tiles_per_range, n_tiles),
                                first, column_tile};
    if (!walk.exists()) return;
    Four *shares = reinterpret_cast<Four *>(memory);  // [tile][word of rows][thread]
    const int WORDS_OF_ROWS = THREAD_ROWS / 4;
    real *column_shares = reinterpret_cast<real *>(shares + GROUP * WORDS_OF_ROWS * THREADS);
    real *chunks = column_shares + 4 * TILE_COLUMNS;
    for (int i = 0; i < GROUP * WORDS_OF_ROWS; ++i) shares[i * THREADS + threadIdx.x] = Four();
    real sums[THREAD_COLUMNS] = {};
    for_tiles(sides, walk, chunks, [&](const AboveDiagonal &here, const Distances &d) {
        real left[THREAD_ROWS], right[THREAD_COLUMNS];
        read(v + here.row(), place.y, left);
        read(v + here.column(), place.x, right);
#pragma unroll
        for (int i = 0; i < THREAD_ROWS; ++i) left[i] *= here.weight();
        Four *mine = shares + (here.i - here.first) * WORDS_OF_ROWS * THREADS + threadIdx.x;
#pragma unroll
        for (int i = 0; i < THREAD_ROWS; i += 4) {
            Four four = mine[i / 4 * THREADS];
#pragma unroll
            for (int r = 0; r < 4; ++r)
#pragma unroll
                for (int j = 0; j < THREAD_COLUMNS; ++j) {
                    const real value = KERNEL_VALUE(d[i + r][j]);
                    four.at[r] += value * right[j];
                    sums[j] += value * left[i + r];
                }
            mine[i / 4 * THREADS] = four;
        }
        if (here.is_last_of_column()) {
#pragma unroll
            for (int j = 0; j < THREAD_COLUMNS; ++j) {
                sums[j] += __shfl_xor_sync(0xffffffff, sums[j], 8);
                sums[j] += __shfl_xor_sync(0xffffffff, sums[j], 16);
                if (place.y % 4 == 0)
                    column_shares[place.y / 4 * TILE_COLUMNS + Place::of(place.x, j)] = sums[j];
                sums[j] = 0;
            }
            __syncthreads();
            if (threadIdx.x < TILE_COLUMNS) {
                real sum = 0;
                for (int k = 0; k < 4; ++k) sum += column_shares[k * TILE_COLUMNS + threadIdx.x];
                column_sums[blockIdx.y * leading + here.column() + threadIdx.x] = sum;
            }
        }
    });
    for (int row = threadIdx.x; row < GROUP * TILE_ROWS; row += THREADS) {
        const int tile = row / TILE_ROWS, at = row % TILE_ROWS;
        const int y = at % 64 / 4, word = tile * WORDS_OF_ROWS + at / 64;
        real sum = 0;
        for (int x = 0; x < 16; ++x) {
            const int thread = (y / 4 * 2 + x / 8) * 32 + y % 4 * 8 + x % 8;  // as in Place
            sum += shares[word * THREADS + thread].at[at % 4];
        }
        row_sums[blockIdx.x * leading_of_rows + Index(blockIdx.y) * GROUP * TILE_ROWS + row] = sum;
    }
}
#endif
