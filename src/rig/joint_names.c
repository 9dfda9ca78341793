#include "rig/joint_names.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 16, TOKEN_LENGTH = 24 };

/* A name cut into words and numbers, lower case. */
typedef struct tokens {
    char text[MAX_TOKENS][TOKEN_LENGTH];
    int count;
} tokens;

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0) return true;
    return false;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* ---- cutting ---------------------------------------------------------------------------------------------------- */

/* Whether a new word begins at c[0]: at a change between letters and digits, aB, and the last capital of ABc. */
static bool begins_word(const char *name, const char *c)
{
    if (c == name) return true;
    char before = c[-1];
    if (is_digit(*c) != is_digit(before)) return true;
    if (!is_upper(*c)) return false;
    return is_lower(before) || (is_upper(before) && is_lower(c[1]));
}

static void cut(const char *name, tokens *out)
{
    size_t length = 0;
    out->count = 0;
    for (const char *c = name; *c; c++) {
        bool part = is_lower(*c) || is_upper(*c) || is_digit(*c);
        if (!part || begins_word(name, c)) length = 0;
        if (!part) continue;
        if (length == 0) {
            if (out->count == MAX_TOKENS) return;
            memset(out->text[out->count++], 0, TOKEN_LENGTH);
        }
        if (length + 1 < TOKEN_LENGTH) out->text[out->count - 1][length] = is_upper(*c) ? (char)(*c - 'A' + 'a') : *c;
        length++;
    }
}

/* "mixamorig:Hips", "Armature|Hips": what stands before is the name of something else. */
static const char *skip_namespace(const char *name)
{
    const char *last = name;
    for (const char *c = name; *c; c++)
        if ((*c == ':' || *c == '|') && c[1]) last = c + 1;
    return last;
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

static const struct {
    const char *word;
    spl_body_part part;
} dictionary[] = {
    {"hips", SPL_PART_HIPS},
    {"pelvis", SPL_PART_HIPS},
    {"hip", SPL_WORD_HIP},
    {"lowerbody", SPL_PART_HIPS},
    {"root", SPL_WORD_ROOT},
    {"cog", SPL_WORD_ROOT},
    {"lowerback", SPL_PART_SPINE},
    {"upperback", SPL_PART_SPINE},
    {"back", SPL_PART_SPINE},
    {"spine", SPL_PART_SPINE},
    {"upperbody", SPL_PART_SPINE},
    {"upperspine", SPL_PART_SPINE},
    {"lowerspine", SPL_PART_SPINE},
    {"abdomen", SPL_PART_SPINE},
    {"abdomenlower", SPL_PART_SPINE},
    {"abdomenupper", SPL_PART_SPINE},
    {"belly", SPL_PART_SPINE},
    {"waist", SPL_PART_SPINE},
    {"torso", SPL_PART_SPINE},
    {"chest", SPL_PART_SPINE},
    {"chestlower", SPL_PART_SPINE},
    {"chestupper", SPL_PART_SPINE},
    {"upperchest", SPL_PART_SPINE},
    {"thorax", SPL_PART_SPINE},
    {"ribcage", SPL_PART_SPINE},
    {"ribs", SPL_PART_SPINE},
    {"neck", SPL_PART_NECK},
    {"necklower", SPL_PART_NECK},
    {"neckupper", SPL_PART_NECK},
    {"lowerneck", SPL_PART_NECK},
    {"upperneck", SPL_PART_NECK},
    {"head", SPL_PART_HEAD},
    {"skull", SPL_PART_HEAD},
    {"clavicle", SPL_PART_CLAVICLE},
    {"collar", SPL_PART_CLAVICLE},
    {"collarbone", SPL_PART_CLAVICLE},
    {"scapula", SPL_PART_CLAVICLE},
    {"shoulder", SPL_WORD_SHOULDER},
    {"arm", SPL_WORD_ARM},
    {"uparm", SPL_PART_UPPER_ARM},
    {"upperarm", SPL_PART_UPPER_ARM},
    {"armupper", SPL_PART_UPPER_ARM},
    {"humerus", SPL_PART_UPPER_ARM},
    {"shldr", SPL_PART_UPPER_ARM},
    {"shldrbend", SPL_PART_UPPER_ARM},
    {"forearm", SPL_PART_FOREARM},
    {"forearmbend", SPL_PART_FOREARM},
    {"lowerarm", SPL_PART_FOREARM},
    {"lowarm", SPL_PART_FOREARM},
    {"loarm", SPL_PART_FOREARM},
    {"armlower", SPL_PART_FOREARM},
    {"elbow", SPL_PART_FOREARM},
    {"radius", SPL_PART_FOREARM},
    {"hand", SPL_PART_HAND},
    {"wrist", SPL_PART_HAND},
    {"palm", SPL_PART_HAND},
    {"buttock", SPL_PART_HIP_JOINT},
    {"leg", SPL_WORD_LEG},
    {"thigh", SPL_PART_THIGH},
    {"thighbend", SPL_PART_THIGH},
    {"upleg", SPL_PART_THIGH},
    {"upperleg", SPL_PART_THIGH},
    {"legupper", SPL_PART_THIGH},
    {"femur", SPL_PART_THIGH},
    {"shin", SPL_PART_SHIN},
    {"calf", SPL_PART_SHIN},
    {"knee", SPL_PART_SHIN},
    {"lowerleg", SPL_PART_SHIN},
    {"lowleg", SPL_PART_SHIN},
    {"loleg", SPL_PART_SHIN},
    {"leglower", SPL_PART_SHIN},
    {"tibia", SPL_PART_SHIN},
    {"shank", SPL_PART_SHIN},
    {"foot", SPL_PART_FOOT},
    {"ankle", SPL_PART_FOOT},
    {"toe", SPL_PART_TOE},
    {"toes", SPL_PART_TOE},
    {"ball", SPL_PART_TOE},
    {"finger", SPL_PART_FINGERS},
    {"fingers", SPL_PART_FINGERS},
    {"handfinger", SPL_PART_FINGERS},
    {"thumb", SPL_PART_THUMB},
    {"index", SPL_PART_INDEX},
    {"indexfinger", SPL_PART_INDEX},
    {"middle", SPL_PART_MIDDLE},
    {"mid", SPL_PART_MIDDLE},
    {"middlefinger", SPL_PART_MIDDLE},
    {"ring", SPL_PART_RING},
    {"ringfinger", SPL_PART_RING},
    {"pinky", SPL_PART_PINKY},
    {"pinkyfinger", SPL_PART_PINKY},
    {"little", SPL_PART_PINKY},
    {"littlefinger", SPL_PART_PINKY},
};

static spl_body_part look_up(const char *word)
{
    for (size_t i = 0; i < sizeof dictionary / sizeof *dictionary; i++)
        if (strcmp(dictionary[i].word, word) == 0) return dictionary[i].part;
    if (strncmp(word, "hand", 4) == 0 && word[4]) { /* Mixamo: LeftHandIndex1 */
        spl_body_part part = look_up(word + 4);
        return part >= SPL_PART_FINGERS && part < SPL_PART_COUNT ? part : SPL_PART_NONE;
    }
    return SPL_PART_NONE;
}

static char side_of(const char *token)
{
    static const char *const left[] = {"l", "left", "lft", NULL}, *const right[] = {"r", "right", "rgt", NULL};
    return is_one_of(token, left) ? 'l' : is_one_of(token, right) ? 'r' : 0;
}

/* Words that only say that a joint is a joint, or whose skeleton it is of. */
static bool is_noise(const char *token)
{
    static const char *const list[] = {"joint",  "jnt",      "jt",        "j",         "bone",       "b",   "bn",
                                       "def",    "skeleton", "mixamorig", "bip",       "valvebiped", "rig", "armature",
                                       "cc",     "base",     "character", "skin",      "sk",         "f",   "bind",
                                       "ccbase", "ctrlrig",  "human",     "reference", "c",          "m",   NULL};
    return is_one_of(token, list);
}

/* Joints that help others: not for motion from elsewhere. */
static bool is_helper(const char *token)
{
    static const char *const list[] = {"ik",   "fk",     "pole", "target", "twist", "roll", "control", "ctrl", "ctl",
                                       "slot", "helper", "mch",  "end",    "nub",   "tip",  "site",    "eff",  NULL};
    return is_one_of(token, list);
}

/* Helpers that never have flesh of their own part. */
static bool is_mere_helper(const char *token)
{
    static const char *const list[] = {"ik", "target", "control", "ctrl", "ctl", NULL};
    return is_helper(token) && !is_one_of(token, list);
}

/* Takes "left" or "right" off the beginning or the end of words that were not told apart ("leftupleg"). */
static char split_side(char *word)
{
    static const char *const sides[] = {"left", "right"};
    size_t n = strlen(word);
    for (int i = 0; i < 2; i++) {
        size_t m = strlen(sides[i]);
        if (n <= m) continue;
        if (strncmp(word, sides[i], m) == 0) {
            memmove(word, word + m, n - m + 1);
            return sides[i][0];
        }
        if (strcmp(word + n - m, sides[i]) == 0) {
            word[n - m] = 0;
            return sides[i][0];
        }
    }
    return 0;
}

/* "lthigh", "rfoot": a lone letter before a word of the body. */
static char split_letter(char *word, spl_body_part *part)
{
    if ((word[0] != 'l' && word[0] != 'r') || *part != SPL_PART_NONE) return 0;
    spl_body_part rest = look_up(word + 1);
    if (rest == SPL_PART_NONE) return 0;
    char side = word[0];
    memmove(word, word + 1, strlen(word));
    *part = rest;
    return side;
}

/* "ik_foot_l", "thigh_twist_01_l": what is left without the words that make a helper of it. */
static spl_body_part helped_part(const tokens *t)
{
    char word[SPL_JOINT_WORD] = "";
    for (int i = 0; i < t->count; i++) {
        const char *token = t->text[i];
        if (is_digit(*token) || side_of(token) || is_noise(token) || is_helper(token)) continue;
        strncat(word, token, sizeof word - strlen(word) - 1);
    }
    split_side(word);
    spl_body_part part = look_up(word);
    split_letter(word, &part);
    return part < SPL_PART_COUNT ? part : SPL_PART_NONE;
}

spl_joint_name spl_joint_name_read(const char *name)
{
    spl_joint_name out = {.number = -1};
    tokens t;
    bool helper = false, mere = false, after_noise = false;
    cut(skip_namespace(name), &t);
    for (int i = 0; i < t.count; i++) {
        char *token = t.text[i], side = side_of(token);
        bool number = is_digit(*token), noise = !number && !side && is_noise(token);
        if (side && !out.side)
            out.side = side;
        else if (number && !(after_noise && i + 1 < t.count)) /* the 01 of "Bip01 Spine" counts skeletons */
            out.number = (int32_t)strtol(strlen(token) > 9 ? token + strlen(token) - 9 : token, NULL, 10);
        else if (!number && !noise)
            strncat(out.word, token, sizeof out.word - strlen(out.word) - 1);
        helper = helper || is_helper(token);
        mere = mere || is_mere_helper(token);
        after_noise =
            noise && (strcmp(token, "bip") == 0 || strcmp(token, "mixamorig") == 0 || strcmp(token, "character") == 0);
    }
    if (!out.side) out.side = split_side(out.word);
    if (helper) {
        out.helps = helped_part(&t);
        out.may_be = !mere;
        return out;
    }
    out.part = look_up(out.word);
    if (!out.side) out.side = split_letter(out.word, &out.part);
    return out;
}

/* ---- a skeleton ------------------------------------------------------------------------------------------------- */

static int32_t count_part(const spl_joint_name *names, int32_t count, char side, spl_body_part part)
{
    int32_t n = 0;
    for (int32_t i = 0; i < count; i++) n += names[i].side == side && names[i].part == part;
    return n;
}

/* Gives the i-th joint of an ambiguous word the i-th part of a list; further ones lose theirs. */
static void assign(spl_joint_name *names, int32_t count, char side, spl_body_part word, const spl_body_part *parts,
                   int32_t part_count)
{
    int32_t n = 0;
    for (int32_t i = 0; i < count; i++) {
        if (names[i].side != side || names[i].part != word) continue;
        names[i].part = n < part_count ? parts[n] : SPL_PART_NONE;
        n++;
    }
}

/* "Arm" or "leg": the upper half beside a forearm or a shin, the lower beside an upper arm or a thigh; where a limb has
 * no other name the chain is counted from the body out (arm_1, arm_2, arm_3). */
static void settle_limb(spl_joint_name *names, int32_t count, char side, spl_body_part word, const spl_body_part *chain,
                        int32_t length)
{
    bool upper = count_part(names, count, side, chain[0]) > 0, lower = count_part(names, count, side, chain[1]) > 0;
    int32_t words = count_part(names, count, side, word);
    if (upper)
        assign(names, count, side, word, chain + 1, lower ? 0 : 1);
    else if (lower || words == 1)
        assign(names, count, side, word, chain, 1);
    else
        assign(names, count, side, word, chain, length);
}

static void settle_side(spl_joint_name *names, int32_t count, char side)
{
    static const spl_body_part arm[] = {SPL_PART_UPPER_ARM, SPL_PART_FOREARM, SPL_PART_HAND};
    static const spl_body_part leg[] = {SPL_PART_THIGH, SPL_PART_SHIN, SPL_PART_FOOT, SPL_PART_TOE};
    static const spl_body_part clavicle[] = {SPL_PART_CLAVICLE}, hip_joint[] = {SPL_PART_HIP_JOINT};
    bool has_thigh = count_part(names, count, side, SPL_PART_THIGH) > 0;
    bool has_hip = count_part(names, count, side, SPL_WORD_HIP) > 0;
    bool has_arm =
        count_part(names, count, side, SPL_PART_UPPER_ARM) + count_part(names, count, side, SPL_WORD_ARM) > 0;
    if (side && !has_thigh && has_hip && count_part(names, count, side, SPL_WORD_LEG) == 0)
        assign(names, count, side, SPL_WORD_HIP, leg, 1); /* Biovision: LeftHip, LeftKnee, LeftAnkle */
    else if (side)
        assign(names, count, side, SPL_WORD_HIP, hip_joint, 1);
    if (has_arm)
        assign(names, count, side, SPL_WORD_SHOULDER, clavicle, 1);
    else /* Biovision: LeftCollar, LeftShoulder, LeftElbow */
        assign(names, count, side, SPL_WORD_SHOULDER, arm, 1);
    settle_limb(names, count, side, SPL_WORD_ARM, arm, 3);
    settle_limb(names, count, side, SPL_WORD_LEG, leg, 4);
}

/* Hips are called hips, hip or root, in this order; where nothing is, the first joint of the spine serves. */
static void settle_hips(spl_joint_name *names, int32_t count)
{
    static const spl_body_part hips[] = {SPL_PART_HIPS};
    static const spl_body_part words[] = {SPL_WORD_HIP, SPL_WORD_ROOT, SPL_PART_SPINE};
    for (int w = 0; w < 3; w++) {
        bool wanted = count_part(names, count, 0, SPL_PART_HIPS) == 0;
        if (words[w] != SPL_PART_SPINE) {
            assign(names, count, 0, words[w], hips, wanted);
            continue;
        }
        for (int32_t i = 0; i < count && wanted; i++)
            if (names[i].part == SPL_PART_SPINE) {
                names[i].part = SPL_PART_HIPS;
                wanted = false;
            }
    }
}

void spl_joint_names_read(const char *const *names, int32_t count, spl_joint_name *out)
{
    for (int32_t i = 0; i < count; i++) out[i] = spl_joint_name_read(names[i]);
    settle_side(out, count, 'l');
    settle_side(out, count, 'r');
    settle_hips(out, count);
    settle_side(out, count, 0); /* words of limbs without a side: a single limb */
}

bool spl_joint_name_same(const spl_joint_name *a, const spl_joint_name *b)
{
    return a->side == b->side && a->number == b->number && a->word[0] && strcmp(a->word, b->word) == 0;
}
