/* The corotational law at cubature tets, without singular values where F is far from singular: what a step spends most
 * of its time on.
 *
 * With R the rotation nearest to F, S = R^T F, c = lambda tr(S - I) - 2 mu,
 *
 *     W = mu |S - I|^2 + lambda / 2 tr^2(S - I),   P = 2 mu F + c R,
 *     H = 2 mu I + lambda r r^T + c T (tr(S) I - S)^-1 T^T,   r = vec R, T = [vec R [e_k]x]:
 *
 * a constant and a matrix of rank four. The constant's part of the reduced Jacobian is summed once (element.c). R comes
 * from Newton's method on tr(R^T F) started at the identity (math/rotation3.h has it in float): flesh turns little
 * against its domain's frame. */
#ifndef SPL_SUBSPACE_COROT_H
#define SPL_SUBSPACE_COROT_H

#include <stdbool.h>

/* F = R S, S symmetric (xx yy zz xy xz yz). False where Newton's method leads nowhere or the rotation is hardly
 * determined: by a half turn, nearly flat, inverted, not finite. Column-major. */
bool spl_corot_split(const double F[9], double R[9], double S[6]);

/* Energy density, and P. */
double spl_corot_stress(const double F[9], const double R[9], const double S[6], double mu, double lambda, double P[9]);

/* H - 2 mu I = B^T M B: B 4 x 9, M 4 x 4 symmetric, row by row, both scaled so that M has the law's units. */
void spl_corot_modes(const double R[9], const double S[6], double mu, double lambda, double B[36], double M[16]);

#endif
