/* The Newton step of rotation3.c, eight matrices at a time, for the *_avx2.c files that loop over it. */
#ifndef SPL_MATH_ROTATION3_STEP8_H
#define SPL_MATH_ROTATION3_STEP8_H

#include "math/simd8.h"

/* The rotations of unit quaternions, column-major. */
SPL_INLINE void spl_rotation_of8(const spl_v8 q[4], spl_v8 R[9])
{
    spl_v8 x = q[0], y = q[1], z = q[2], w = q[3], one = spl_set8(1), two = spl_set8(2);
    spl_v8 x2 = x * two, y2 = y * two, z2 = z * two;
    R[0] = spl_fnma(y2, y, spl_fnma(z2, z, one));
    R[1] = spl_fma(x2, y, z2 * w);
    R[2] = spl_fnma(y2, w, x2 * z);
    R[3] = spl_fnma(z2, w, x2 * y);
    R[4] = spl_fnma(x2, x, spl_fnma(z2, z, one));
    R[5] = spl_fma(y2, z, x2 * w);
    R[6] = spl_fma(x2, z, y2 * w);
    R[7] = spl_fnma(x2, w, y2 * z);
    R[8] = spl_fnma(x2, x, spl_fnma(y2, y, one));
}

/* A = R(q)^T F */
SPL_INLINE void spl_turn_back8(const spl_v8 q[4], const spl_v8 F[9], spl_v8 A[9])
{
    spl_v8 R[9];
    spl_rotation_of8(q, R);
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++)
            A[3 * j + i] =
                spl_fma(R[3 * i], F[3 * j], spl_fma(R[3 * i + 1], F[3 * j + 1], R[3 * i + 2] * F[3 * j + 2]));
}

/* One Newton step. Lanes of the result are set where the step was a plain one (the Hessian safely positive) and turned
 * by no more than sqrt(`most`) radians: where q is close to the nearest rotation. */
SPL_INLINE spl_v8 spl_rotation_step8(const spl_v8 F[9], spl_v8 norm, spl_v8 most, spl_v8 q[4])
{
    spl_v8 A[9], mhalf = spl_set8(-0.5F), small = spl_set8(1e-3F) * norm;
    spl_turn_back8(q, F, A);
    spl_v8 g0 = A[5] - A[7], g1 = A[6] - A[2], g2 = A[1] - A[3];
    spl_v8 h00 = A[4] + A[8], h11 = A[0] + A[8], h22 = A[0] + A[4];
    spl_v8 h01 = mhalf * (A[1] + A[3]), h02 = mhalf * (A[2] + A[6]), h12 = mhalf * (A[5] + A[7]);
    spl_v8 m2 = spl_fnma(h01, h01, h00 * h11);
    spl_v8 det = spl_fma(h22, m2, spl_fnma(h00, h12 * h12, spl_fnma(h11, h02 * h02, (h01 + h01) * h02 * h12)));
    spl_v8 positive =
        spl_and8(spl_less8(small, h00), spl_and8(spl_less8(small * norm, m2), spl_less8(small * norm * norm, det)));
    spl_v8 shift = spl_select8(positive, spl_set8(0), norm + norm);
    h00 += shift;
    h11 += shift;
    h22 += shift;
    spl_v8 c00 = spl_fnma(h12, h12, h11 * h22), c01 = spl_fnma(h01, h22, h02 * h12);
    spl_v8 c02 = spl_fnma(h02, h11, h01 * h12), c11 = spl_fnma(h02, h02, h00 * h22);
    spl_v8 c12 = spl_fnma(h00, h12, h01 * h02), c22 = spl_fnma(h01, h01, h00 * h11);
    det = spl_fma(h00, c00, spl_fma(h01, c01, h02 * c02));
    spl_v8 half = spl_set8(0.5F) / spl_max8(det, spl_set8(1e-30F));
    spl_v8 x = half * spl_fma(c00, g0, spl_fma(c01, g1, c02 * g2));
    spl_v8 y = half * spl_fma(c01, g0, spl_fma(c11, g1, c12 * g2));
    spl_v8 z = half * spl_fma(c02, g0, spl_fma(c12, g1, c22 * g2));
    spl_v8 a = spl_fma(q[3], x, spl_fma(q[1], z, spl_fnma(q[2], y, q[0])));
    spl_v8 b = spl_fma(q[3], y, spl_fma(q[2], x, spl_fnma(q[0], z, q[1])));
    spl_v8 c = spl_fma(q[3], z, spl_fma(q[0], y, spl_fnma(q[1], x, q[2])));
    spl_v8 d = spl_fnma(q[0], x, spl_fnma(q[1], y, spl_fnma(q[2], z, q[3])));
    spl_v8 s = spl_set8(1) / spl_sqrt8(spl_fma(a, a, spl_fma(b, b, spl_fma(c, c, d * d))));
    q[0] = s * a;
    q[1] = s * b;
    q[2] = s * c;
    q[3] = s * d;
    spl_v8 turn = spl_set8(4) * spl_fma(x, x, spl_fma(y, y, z * z));
    return spl_and8(positive, spl_less8(turn, most));
}

/* The same where the Hessian is safely positive; other lanes stay as they are, and their bits of the result clear. What
 * makes a step long is waiting for one result after another; here nothing waits for the question whether the Hessian is
 * positive, nor the length of the new quaternion for the quaternion: |q (1, v)|^2 = |q|^2 (1 + |v|^2). */
SPL_INLINE spl_v8 spl_rotation_near8(const spl_v8 F[9], spl_v8 most, spl_v8 q[4])
{
    spl_v8 A[9], half = spl_set8(0.5F), one = spl_set8(1);
    spl_v8 unit = spl_fma(q[0], q[0], spl_fma(q[1], q[1], spl_fma(q[2], q[2], q[3] * q[3])));
    spl_turn_back8(q, F, A);
    spl_v8 g0 = A[5] - A[7], g1 = A[6] - A[2], g2 = A[1] - A[3];
    spl_v8 h00 = A[4] + A[8], h11 = A[0] + A[8], h22 = A[0] + A[4];
    spl_v8 k01 = half * (A[1] + A[3]), k02 = half * (A[2] + A[6]), k12 = half * (A[5] + A[7]); /* minus h01, ... */
    spl_v8 c22 = spl_fnma(k01, k01, h00 * h11), c00 = spl_fnma(k12, k12, h11 * h22);
    spl_v8 c11 = spl_fnma(k02, k02, h00 * h22), c01 = spl_fma(k01, h22, k02 * k12);
    spl_v8 c02 = spl_fma(k02, h11, k01 * k12), c12 = spl_fma(h00, k12, k01 * k02);
    spl_v8 det = spl_fnma(k01, c01, spl_fnma(k02, c02, h00 * c00));
    spl_v8 over = half / det;
    spl_v8 x = over * spl_fma(c00, g0, spl_fma(c01, g1, c02 * g2));
    spl_v8 y = over * spl_fma(c01, g0, spl_fma(c11, g1, c12 * g2));
    spl_v8 z = over * spl_fma(c02, g0, spl_fma(c12, g1, c22 * g2));
    spl_v8 square = spl_fma(x, x, spl_fma(y, y, z * z));
    spl_v8 s = one / spl_sqrt8(spl_fma(unit, square, unit));
    spl_v8 norm2 = spl_set8(0);
    for (int i = 0; i < 9; i++) norm2 = spl_fma(F[i], F[i], norm2);
    spl_v8 norm = spl_sqrt8(norm2), small = spl_set8(1e-3F) * norm;
    spl_v8 positive =
        spl_and8(spl_less8(small, h00), spl_and8(spl_less8(small * norm, c22), spl_less8(small * norm2, det)));
    spl_v8 a = spl_fma(q[3], x, spl_fma(q[1], z, spl_fnma(q[2], y, q[0])));
    spl_v8 b = spl_fma(q[3], y, spl_fma(q[2], x, spl_fnma(q[0], z, q[1])));
    spl_v8 c = spl_fma(q[3], z, spl_fma(q[0], y, spl_fnma(q[1], x, q[2])));
    spl_v8 d = spl_fnma(q[0], x, spl_fnma(q[1], y, spl_fnma(q[2], z, q[3])));
    q[0] = spl_select8(positive, s * a, q[0]);
    q[1] = spl_select8(positive, s * b, q[1]);
    q[2] = spl_select8(positive, s * c, q[2]);
    q[3] = spl_select8(positive, s * d, q[3]);
    return spl_and8(positive, spl_less8(spl_set8(4) * square, most));
}

#endif
