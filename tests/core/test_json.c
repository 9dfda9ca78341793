#include "core/json.h"
#include "test.h"

/* Whatever is wrong with a text is said to be in it, at the line and column where it stands; several values in a row
 * were once told as memory that is out. */
TEST(mistakes_are_told_where_they_stand)
{
    static const char *const wrong[] = {
        "{},{}", "{\n\"a\": 1},\n{\"b\": 2}", "{\"a long name\": }", "[1, 2", "", ",", "{}]", "[\n\n1 2]", "{}\\"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spl_json_why why;
        json_error_t own;
        CHECK(!json_loads(wrong[i], 0, &own));
        CHECK(!spl_json_load(wrong[i], strlen(wrong[i]), 0, &why));
        CHECK(!why.no_memory && why.line == own.line && why.column == own.column && why.text[0]);
        spl_json j = {.name = "a.json", .error = &(supple_error){0}};
        CHECK(!spl_json_parse(&j, wrong[i], strlen(wrong[i])) && j.result == SUPPLE_ERROR_INPUT);
        CHECK(strstr(j.error->message, "not valid JSON at line") && !strchr(j.error->message, '\n'));
    }
}

TEST_CASES(RUN(mistakes_are_told_where_they_stand))
