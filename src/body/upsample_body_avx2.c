/* The body's normals of a frame: a vector a face, then eight vertices at a time. */
#include "body/upsample_map.h"
#include "math/simd8.h"

enum { WIDTH = 8, STRIDE = SPL_UPSAMPLE_STRIDE };

SPL_INLINE __m128 turned(__m128 a) /* y z x 0 */
{
    return _mm_shuffle_ps(a, a, _MM_SHUFFLE(3, 0, 2, 1));
}

void spl_upsample_faces_avx2(const spl_upsample *u, spl_upsample_frame *f, size_t begin, size_t end)
{
    const int32_t *corner = u->surface->triangle;
    for (size_t t = begin; t < end; t++) {
        __m128 a = _mm_load_ps(f->point + STRIDE * (size_t)corner[3 * t]);
        __m128 ab = _mm_load_ps(f->point + STRIDE * (size_t)corner[3 * t + 1]) - a;
        __m128 ad = _mm_load_ps(f->point + STRIDE * (size_t)corner[3 * t + 2]) - a;
        _mm_store_ps(f->face + 4 * t, turned(_mm_fmsub_ps(ab, turned(ad), turned(ab) * ad)));
    }
}

/* The sum of the faces at a vertex; 0 behind the last one. */
SPL_INLINE __m128 sum_of(const spl_upsample *u, const spl_upsample_frame *f, size_t v, size_t end)
{
    const int32_t *first = u->surface->corner_first;
    __m128 sum = _mm_setzero_ps();
    for (int32_t c = v < end ? first[v] : 0; v < end && c < first[v + 1]; c++)
        sum += _mm_load_ps(f->face + 4 * (size_t)u->fan[c]);
    return sum;
}

void spl_upsample_normals_avx2(const spl_upsample *u, spl_upsample_frame *f, size_t begin, size_t end)
{
    for (size_t v = begin; v < end; v += WIDTH) {
        spl_v8 n[WIDTH], square = spl_set8(0);
        for (size_t i = 0; i < WIDTH; i++) n[i] = _mm256_castps128_ps256(sum_of(u, f, v + i, end));
        /* two vertices a register, in the order in which squares of lengths come out of a transpose */
        spl_v8 pair[4];
        for (size_t i = 0; i < 4; i++) pair[i] = _mm256_insertf128_ps(n[i], _mm256_castps256_ps128(n[i + 4]), 1);
        spl_v8 xy01 = _mm256_unpacklo_ps(pair[0], pair[1]), zw01 = _mm256_unpackhi_ps(pair[0], pair[1]);
        spl_v8 xy23 = _mm256_unpacklo_ps(pair[2], pair[3]), zw23 = _mm256_unpackhi_ps(pair[2], pair[3]);
        spl_v8 x = _mm256_shuffle_ps(xy01, xy23, _MM_SHUFFLE(1, 0, 1, 0));
        spl_v8 y = _mm256_shuffle_ps(xy01, xy23, _MM_SHUFFLE(3, 2, 3, 2));
        spl_v8 z = _mm256_shuffle_ps(zw01, zw23, _MM_SHUFFLE(1, 0, 1, 0));
        square = spl_fma(x, x, spl_fma(y, y, z * z));
        spl_v8 length = spl_sqrt8(square);
        spl_v8 scale = spl_and8(spl_set8(1) / length, spl_less8(spl_set8(0), length));
        pair[0] *= _mm256_permute_ps(scale, 0x00);
        pair[1] *= _mm256_permute_ps(scale, 0x55);
        pair[2] *= _mm256_permute_ps(scale, 0xaa);
        pair[3] *= _mm256_permute_ps(scale, 0xff);
        for (size_t i = 0; i < WIDTH && v + i < end; i++)
            _mm_store_ps(f->point + STRIDE * (v + i) + SPL_UPSAMPLE_NORMAL,
                         i < 4 ? _mm256_castps256_ps128(pair[i]) : _mm256_extractf128_ps(pair[i - 4], 1));
    }
}
