/* The test suite of RFC 1321, appendix A.5, in one piece and byte by byte. */
#include "core/md5.h"
#include "test.h"

static void text_of(const char *message, size_t piece, char out[33])
{
    spl_md5 md5 = spl_md5_begin();
    uint8_t digest[16];
    for (size_t length = strlen(message), at = 0; at < length; at += piece)
        spl_md5_bytes(&md5, message + at, length - at < piece ? length - at : piece);
    spl_md5_end(&md5, digest);
    for (int i = 0; i < 16; i++) snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

TEST(suite_of_the_rfc)
{
    static const char *const cases[][2] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"},
        {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "d174ab98d277d9f5a5611c2c9f419d9f"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
         "57edf4a22be3c955ac49da2e2107b67a"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 100; piece += 7) {
            char text[33] = "";
            text_of(cases[i][0], piece, text);
            CHECK(strcmp(text, cases[i][1]) == 0);
        }
}

TEST_CASES(RUN(suite_of_the_rfc))
