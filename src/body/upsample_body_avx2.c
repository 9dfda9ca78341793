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

/* The sum of the faces at a vertex. */
SPL_INLINE __m128 sum_of(const spl_upsample *u, const spl_upsample_frame *f, size_t v)
{
    __m128 even = _mm_setzero_ps(), odd = _mm_setzero_ps();
    for (int32_t c = u->fan_first[v]; c < u->fan_first[v + 1]; c += SPL_UPSAMPLE_FAN)
        for (int k = 0; k < SPL_UPSAMPLE_FAN; k += 2) {
            even += _mm_load_ps(f->face + 4 * (size_t)u->fan[c + k]);
            odd += _mm_load_ps(f->face + 4 * (size_t)u->fan[c + k + 1]);
        }
    return even + odd;
}

void spl_upsample_normals_avx2(const spl_upsample *u, spl_upsample_frame *f, size_t begin, size_t end)
{
    for (size_t v = begin; v < end; v += WIDTH) {
        size_t last = end - 1 - v; /* behind the last vertex it is summed again */
        spl_v8 pair[4];            /* vertices i and i + 4, so that their lengths come out of half a transpose */
        for (size_t i = 0; i < 4; i++)
            pair[i] = _mm256_set_m128(sum_of(u, f, v + (i + 4 < last ? i + 4 : last)),
                                      sum_of(u, f, v + (i < last ? i : last)));
        spl_v8 xy01 = _mm256_unpacklo_ps(pair[0], pair[1]), zw01 = _mm256_unpackhi_ps(pair[0], pair[1]);
        spl_v8 xy23 = _mm256_unpacklo_ps(pair[2], pair[3]), zw23 = _mm256_unpackhi_ps(pair[2], pair[3]);
        spl_v8 x = _mm256_shuffle_ps(xy01, xy23, _MM_SHUFFLE(1, 0, 1, 0));
        spl_v8 y = _mm256_shuffle_ps(xy01, xy23, _MM_SHUFFLE(3, 2, 3, 2));
        spl_v8 z = _mm256_shuffle_ps(zw01, zw23, _MM_SHUFFLE(1, 0, 1, 0));
        spl_v8 length = spl_sqrt8(spl_fma(x, x, spl_fma(y, y, z * z)));
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
