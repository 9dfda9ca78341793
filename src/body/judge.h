/* The roles of pieces, judged by evidence: see roles.h for the rules. */
#ifndef SPL_BODY_JUDGE_H
#define SPL_BODY_JUDGE_H

#include "body/roles.h"

/* Fills in role, why and as_one of each piece. */
supple_result spl_pieces_judge(const spl_roles_input *in, const supple_allocator *a, spl_skin_pieces *pieces,
                               supple_error *error);

#endif
