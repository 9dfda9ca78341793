#include "core/error.h"
#include "test.h"

TEST(control_characters_are_replaced)
{
    supple_error error;
    CHECK(spl_fail(&error, SUPPLE_ERROR_INPUT, "mesh '%s'", "a\x1b[31m\nb\x7f") == SUPPLE_ERROR_INPUT);
    CHECK(strcmp(error.message, "mesh 'a?[31m?b?'") == 0);
    CHECK(error.code == SUPPLE_ERROR_INPUT);
}

TEST(utf8_survives_and_broken_utf8_does_not)
{
    char good[] = "Gr\xc3\xbc\xc3\x9f \xe4\xba\xba \xf0\x9f\x90\xa2";
    char copy[sizeof good];
    memcpy(copy, good, sizeof good);
    spl_sanitise(copy);
    CHECK(strcmp(copy, good) == 0);
    char broken[] = "a\xc3(b\xff\xe2\x82";
    spl_sanitise(broken);
    CHECK(strcmp(broken, "a?(b???") == 0);
    char overlong[] = "\xc0\xaf", turned[] = "x\xe2\x80\xaey", c1[] = "\xc2\x9b";
    spl_sanitise(overlong);
    spl_sanitise(turned);
    spl_sanitise(c1);
    CHECK(strcmp(overlong, "??") == 0 && strcmp(turned, "x???y") == 0 && strcmp(c1, "??") == 0);
}

TEST(long_messages_are_cut_not_overrun)
{
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    supple_error error;
    spl_fail(&error, SUPPLE_ERROR_OUTPUT, "%s", text);
    CHECK(strlen(error.message) == sizeof error.message - 1);
    CHECK(spl_fail(NULL, SUPPLE_ERROR_SOLVE, "%s", text) == SUPPLE_ERROR_SOLVE);
}

TEST(configs_are_checked)
{
    supple_error error;
    supple_config config = supple_config_default();
    CHECK(spl_config_check(&config, &error) == SUPPLE_OK);
    CHECK(spl_config_check(NULL, &error) == SUPPLE_OK);
    config.thread_count = -1;
    CHECK(spl_config_check(&config, &error) == SUPPLE_ERROR_ARGUMENT);
    config = (supple_config){.thread_count = 1};
    CHECK(spl_config_check(&config, &error) == SUPPLE_ERROR_ARGUMENT);
    config = supple_config_default();
    config.allocator.release = (void (*)(void *, void *))(void (*)(void))free;
    CHECK(spl_config_check(&config, &error) == SUPPLE_ERROR_ARGUMENT);
}

static bool stop(void *user, const char *stage, double fraction)
{
    *(double *)user = fraction;
    return strcmp(stage, "body") == 0;
}

TEST(progress_can_cancel)
{
    double seen = 0;
    supple_config config = supple_config_default();
    config.progress = stop;
    config.progress_user = &seen;
    supple_error error;
    CHECK(spl_progress(&config, "body", 0.25, &error) == SUPPLE_OK && seen == 0.25);
    CHECK(spl_progress(&config, "factor", 0.5, &error) == SUPPLE_ERROR_CANCELLED && seen == 0.5);
    CHECK(spl_progress(NULL, "factor", 0.5, &error) == SUPPLE_OK);
}

TEST_CASES(RUN(control_characters_are_replaced), RUN(utf8_survives_and_broken_utf8_does_not),
           RUN(long_messages_are_cut_not_overrun), RUN(configs_are_checked), RUN(progress_can_cancel))
