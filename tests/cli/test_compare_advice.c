#include "compare_advice.h"

#include "test.h"

/* A method that ran, with the numbers that rules ask for; the rest is of no weight. */
static cli_summary method(const char *name, double ms, double penetration, double volume, double error)
{
    return (cli_summary){.name = name,
                         .ran = true,
                         .setup_ms = 1500,
                         .ms_median = ms,
                         .peak_mb = 80,
                         .penetration = penetration,
                         .joint_volume = volume,
                         .inverted = 0,
                         .error_mean = error,
                         .error_max = 10 * error};
}

static cli_advice advise(const cli_summary *all, int count)
{
    cli_advice out;
    cli_advice_case asked = {.method = all, .method_count = count, .frame_ms = 1000.0 / 30, .size_m = 2};
    if (!cli_advise(&asked, &out)) out.method = "";
    return out;
}

static bool says(const cli_advice *a, const char *words)
{
    for (int i = 0; i < a->reason_count; i++)
        if (strstr(a->reason[i], words)) return true;
    return false;
}

TEST(contact_decides_first)
{
    const cli_summary all[] = {method("linear", 0.1, 0.059, 0.7, 0.003), method("mixed", 20, 0.02, 0.97, 0.001),
                               method("projective", 12, 0.0004, 0.95, 0.002), method("reference", 3000, 0.03, 0.97, 0)};
    cli_advice a = advise(all, 4);
    CHECK(strcmp(a.method, "projective") == 0);
    CHECK(strcmp(a.summary, "Use `projective`: 0.4 mm of penetration where `linear` has 59 mm, at 12 ms a frame.") ==
          0);
    CHECK(says(&a, "`projective` leaves 0.4 mm of penetration where `linear` has 59 mm."));
    CHECK(says(&a, "keeps 95% of its volume, that of `linear` 70%"));
    CHECK(says(&a, "2.0 mm from `reference` on average, 20 mm at most; `mixed` is nearer, with 1.0 mm"));
    CHECK(says(&a, "A frame takes 12 ms and lasts 33 ms: real time here."));
    CHECK(says(&a, "1.5 s to set up, once, and 80 MB"));
}

/* One rule for both: what `skin` takes is advised, unless it is worse than what the file had. */
TEST(the_choice_of_skin_is_advised_unless_it_is_worse)
{
    cli_summary all[] = {method("linear", 0.1, 0.059, 0.7, 0.003), method("mixed", 20, 0.02, 0.97, 0.001),
                         method("projective", 12, 0.0004, 0.95, 0.002)};
    cli_advice a;
    cli_advice_case asked = {.method = all, .method_count = 3, .frame_ms = 33, .size_m = 2, .chosen = "mixed"};
    all[1].trust = 0.975;
    CHECK(cli_advise(&asked, &a) && strcmp(a.method, "mixed") == 0);
    CHECK(says(&a, "what `skin` takes by itself; by the numbers alone `projective` would be first: 0.4 mm"));
    CHECK(says(&a, "nowhere worse than the file's own skinning; 97% of its flesh is trusted in full"));
    all[1].worse = 3;
    CHECK(cli_advise(&asked, &a) && strcmp(a.method, "projective") == 0);
    CHECK(says(&a, "`skin` takes `mixed` by itself, which did not run here or is worse"));
    all[1].worse = 0;
    all[1].ran = false;
    CHECK(cli_advise(&asked, &a) && strcmp(a.method, "projective") == 0);
    asked.chosen = "projective";
    CHECK(cli_advise(&asked, &a) && says(&a, "and first by the numbers below"));
    all[2].worse = 1; /* of those that are left, what is worse in fewer frames */
    CHECK(cli_advise(&asked, &a) && strcmp(a.method, "linear") == 0);
}

TEST(volume_decides_where_nothing_touches)
{
    const cli_summary all[] = {method("linear", 0.1, 0, 0.6, 0.004), method("mixed", 20, 0, 0.98, 0.001)};
    cli_advice a = advise(all, 2);
    CHECK(strcmp(a.method, "mixed") == 0);
    CHECK(strstr(a.summary, "98%") && strstr(a.summary, "60%"));
    CHECK(says(&a, "No flesh enters"));
    CHECK(says(&a, "80 MB of memory."));
}

/* No sentence says that nothing touches while the table has `reference` deep in other flesh. */
TEST(reference_has_no_contact)
{
    const cli_summary all[] = {method("linear", 0.1, 0.0002, 0.98, 0.004), method("reference", 3000, 0.012, 0.97, 0)};
    cli_advice a = advise(all, 2);
    CHECK(!says(&a, "No flesh enters"));
    CHECK(says(&a, "`linear` leaves 0.2 mm of penetration; `reference`, which has no contact, 12 mm."));
    CHECK(says(&a, "80 MB of memory, with the flesh that it is measured on; alone less."));
}

/* Where nothing touches, what is far from `reference` anywhere is not advised; where flesh touches, `reference`, which
 * knows no contact, does not decide. */
TEST(distance_decides_where_nothing_touches)
{
    cli_summary all[] = {method("linear", 0.1, 0, 0.96, 0.004), method("mixed", 3, 0, 1, 0.0004),
                         method("steklov", 13, 0, 0.97, 0.0015)};
    cli_advice a = advise(all, 3);
    CHECK(strcmp(a.method, "mixed") == 0);
    CHECK(strstr(a.summary, "within 4.0 mm of `reference` where `linear` is 40 mm off"));
    all[2].penetration = 0.002;
    a = advise(all, 3);
    CHECK(strcmp(a.method, "linear") == 0);
}

/* Where all are alike, the quickest that keeps up. */
TEST(nothing_to_mend)
{
    const cli_summary all[] = {method("linear", 0.1, 0, 0.99, 0.0001), method("mixed", 20, 0, 1, 0.00001),
                               method("steklov", 200, 0, 1, 0.00001)};
    cli_advice a = advise(all, 3);
    CHECK(strcmp(a.method, "linear") == 0);
    CHECK(strstr(a.summary, "little better"));
}

TEST(time_decides_between_equals)
{
    const cli_summary all[] = {method("linear", 0.1, 0.05, 0.9, 0.001), method("steklov", 150, 0, 0.95, 0.001),
                               method("projective", 50, 0, 0.93, 0.001)};
    cli_advice a = advise(all, 3);
    CHECK(strcmp(a.method, "projective") == 0); /* neither is real time: the quicker */
    CHECK(says(&a, "1.5 times too slow for real time here"));
    CHECK(says(&a, "Where it must be real time: `linear`, 0.1 ms a frame."));
}

/* A method that lost by volume alone is named if it is quicker; what turns inside out is counted. */
TEST(the_quicker_one_is_named)
{
    cli_summary all[] = {method("linear", 0.1, 0.048, 0.8, 0.0025), method("projective", 92, 0, 0.84, 0.0044),
                         method("steklov", 516, 0, 0.94, 0.0041)};
    all[0].inverted = 124;
    cli_advice a = advise(all, 3);
    CHECK(strcmp(a.method, "steklov") == 0);
    CHECK(says(
        &a, "`projective` is quicker, 92 ms a frame, with less than 0.1 mm of penetration; its worst joint keeps 84%"));
    CHECK(says(&a, "None of its tetrahedra turns inside out; with `linear` up to 124 do."));
}

/* Of those that keep up with the clip the rules choose too: the quickest of all may be the worst. */
TEST(real_time_is_not_the_quickest_of_all)
{
    const cli_summary all[] = {method("linear", 0.1, 0.048, 0.8, 0.0025), method("projective", 24, 0, 0.84, 0.0044),
                               method("steklov", 73, 0, 0.94, 0.0014)};
    cli_advice a = advise(all, 3);
    CHECK(strcmp(a.method, "steklov") == 0);
    CHECK(says(&a, "Where it must be real time: `projective`, 24 ms a frame."));
}

/* What was not measured does not win over what was. */
TEST(unmeasured_does_not_win)
{
    cli_summary all[] = {method("dualquat", 0.05, NAN, NAN, 0.003), method("projective", 12, 0.0001, 0.95, 0.002)};
    cli_advice a = advise(all, 2);
    CHECK(strcmp(a.method, "projective") == 0);
    all[1].ran = false;
    a = advise(all, 2);
    CHECK(strcmp(a.method, "dualquat") == 0);
    for (int i = 0; i < a.reason_count; i++) CHECK(!strstr(a.reason[i], "nan") && !strstr(a.reason[i], "penetration"));
}

TEST(reference_is_never_advised)
{
    cli_summary all[] = {method("reference", 3000, 0, 1, 0)};
    cli_advice a = advise(all, 1);
    CHECK(*a.method == 0);
}

TEST(what_was_asked_for_is_told)
{
    const cli_summary all[] = {method("projective", 12, 0.0004, 0.95, NAN), method("subspace", 0.5, 0.03, 0.9, NAN)};
    cli_advice out;
    cli_advice_case asked = {all, 2, 33.3, true, true, 2, NULL};
    REQUIRE(cli_advise(&asked, &out));
    CHECK(strcmp(out.method, "projective") == 0);
    CHECK(says(&out, "Dynamics were asked for"));
    CHECK(says(&out, "trained model plays a frame in 0.5 ms, with 30 mm of penetration"));
}

TEST_CASES(RUN(contact_decides_first), RUN(the_choice_of_skin_is_advised_unless_it_is_worse),
           RUN(volume_decides_where_nothing_touches), RUN(reference_has_no_contact),
           RUN(distance_decides_where_nothing_touches), RUN(nothing_to_mend), RUN(time_decides_between_equals),
           RUN(the_quicker_one_is_named), RUN(real_time_is_not_the_quickest_of_all), RUN(unmeasured_does_not_win),
           RUN(reference_is_never_advised), RUN(what_was_asked_for_is_told))
