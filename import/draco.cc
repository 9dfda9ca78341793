/* The one part in C++, because the library for Draco is. */
#include "draco.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <draco/compression/decode.h>
#include <exception>
#include <vector>

namespace
{

struct reader {
    const uint8_t *at, *end;
    bool good = true;

    uint32_t word()
    {
        uint32_t value = 0;
        good = good && end - at >= 4;
        if (!good) return 0;
        std::memcpy(&value, at, 4);
        at += 4;
        return value;
    }
};

struct attribute {
    uint32_t id, component, width;
};

size_t component_size(uint32_t component)
{
    return component == 5120 || component == 5121 ? 1 : component == 5122 || component == 5123 ? 2 : 4;
}

void put_word(std::vector<uint8_t> &out, uint32_t word)
{
    const uint8_t *bytes = reinterpret_cast<const uint8_t *>(&word);
    out.insert(out.end(), bytes, bytes + 4);
}

/* All vertices of one attribute as numbers of type T; false if they cannot be that. */
template <typename T>
bool put_values(const draco::PointAttribute &from, uint32_t count, uint32_t width, std::vector<uint8_t> &out)
{
    const size_t bytes = width * sizeof(T), stride = (bytes + 3) / 4 * 4, first = out.size();
    out.resize(first + count * stride);
    for (uint32_t i = 0; i < count; i++) {
        T value[4] = {};
        const draco::AttributeValueIndex at = from.mapped_index(draco::PointIndex(i));
        if (at.value() >= from.size() || !from.ConvertValue<T>(at, static_cast<int8_t>(width), value)) return false;
        std::memcpy(out.data() + first + i * stride, value, bytes);
    }
    return true;
}

bool put_attribute(const draco::PointAttribute &from, const attribute &a, uint32_t count, std::vector<uint8_t> &out)
{
    switch (a.component) {
    case 5120:
        return put_values<int8_t>(from, count, a.width, out);
    case 5121:
        return put_values<uint8_t>(from, count, a.width, out);
    case 5122:
        return put_values<int16_t>(from, count, a.width, out);
    case 5123:
        return put_values<uint16_t>(from, count, a.width, out);
    case 5125:
        return put_values<uint32_t>(from, count, a.width, out);
    case 5126:
        return put_values<float>(from, count, a.width, out);
    default:
        return false;
    }
}

bool put_faces(const draco::Mesh &mesh, std::vector<uint8_t> &out)
{
    put_word(out, 3 * mesh.num_faces());
    for (uint32_t f = 0; f < mesh.num_faces(); f++)
        for (int k = 0; k < 3; k++) {
            const uint32_t index = mesh.face(draco::FaceIndex(f))[static_cast<size_t>(k)].value();
            if (index >= mesh.num_points()) return false;
            put_word(out, index);
        }
    return true;
}

/* One stream; what is wrong with it goes to `why`. */
bool decode(reader &in, uint32_t number, std::vector<uint8_t> &out, char *why, size_t why_size)
{
    const uint32_t size = in.word(), vertices = in.word(), count = in.word();
    std::vector<attribute> list;
    for (uint32_t i = 0; i < count && in.good; i++) {
        const uint32_t id = in.word(), component = in.word(), width = in.word();
        list.push_back({id, component, width});
        in.good = in.good && width >= 1 && width <= 4 && component_size(component) > 0;
    }
    const size_t padded = (static_cast<size_t>(size) + 3) / 4 * 4;
    if (!in.good || static_cast<size_t>(in.end - in.at) < padded) {
        std::snprintf(why, why_size, "no whole question about compressed meshes");
        return false;
    }
    draco::DecoderBuffer buffer;
    buffer.Init(reinterpret_cast<const char *>(in.at), size);
    in.at += padded;
    draco::Decoder decoder;
    auto decoded = decoder.DecodeMeshFromBuffer(&buffer);
    if (!decoded.ok()) {
        std::snprintf(why, why_size, "compressed mesh %u cannot be decoded (%.80s); the file is damaged", number,
                      decoded.status().error_msg());
        return false;
    }
    const draco::Mesh &mesh = *decoded.value();
    if (mesh.num_points() != vertices) {
        std::snprintf(why, why_size, "compressed mesh %u has %u vertices, its accessors say %u; the file is damaged",
                      number, mesh.num_points(), vertices);
        return false;
    }
    bool good = put_faces(mesh, out);
    for (const attribute &a : list) {
        const draco::PointAttribute *from = mesh.GetAttributeByUniqueId(a.id);
        good = good && from && from->num_components() == static_cast<int8_t>(a.width) &&
               put_attribute(*from, a, vertices, out);
    }
    if (!good)
        std::snprintf(why, why_size, "compressed mesh %u has not the attributes that the file names; it is damaged",
                      number);
    return good;
}

} // namespace

extern "C" uint8_t *import_draco(const uint8_t *question, size_t size, size_t *answer_size, char *why, size_t why_size)
{
    try {
        reader in{question, question + size};
        std::vector<uint8_t> out;
        const uint32_t count = in.word();
        for (uint32_t i = 0; i < count; i++)
            if (!decode(in, i, out, why, why_size)) return nullptr;
        uint8_t *answer = static_cast<uint8_t *>(std::malloc(out.empty() ? 1 : out.size()));
        if (answer && !out.empty()) std::memcpy(answer, out.data(), out.size());
        if (!answer) std::snprintf(why, why_size, "out of memory");
        *answer_size = out.size();
        return answer;
    } catch (const std::exception &) {
        std::snprintf(why, why_size, "its compressed meshes ask for more memory than a file of its size should");
        return nullptr;
    }
}
