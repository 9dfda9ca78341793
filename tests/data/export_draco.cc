/* export_draco IN OUT: one mesh, as export_draco.py hands it over, by the encoder of libdraco: edgebreaker, rounded.
 * IN: words of 32 bits: points, triangles, attributes; for each attribute Draco's kind and type and the numbers a
 * point; then the triangles, then the values. OUT: the number of points that a decoder will find, and the stream. */
#include <cstdio>
#include <cstring>
#include <draco/compression/decode.h>
#include <draco/compression/encode.h>
#include <vector>

static uint32_t word(FILE *file)
{
    uint32_t value = 0;
    return fread(&value, 4, 1, file) == 1 ? value : 0;
}

int main(int argc, char **argv)
{
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : nullptr, *out = in ? fopen(argv[2], "wb") : nullptr;
    if (!out) return 2;
    const uint32_t points = word(in), triangles = word(in), attributes = word(in);
    draco::Mesh mesh;
    mesh.set_num_points(points);
    std::vector<uint32_t> sizes;
    for (uint32_t i = 0; i < attributes; i++) {
        const auto kind = static_cast<draco::GeometryAttribute::Type>(word(in));
        const auto type = static_cast<draco::DataType>(word(in));
        const uint32_t width = word(in), size = width * static_cast<uint32_t>(draco::DataTypeLength(type));
        draco::GeometryAttribute a;
        a.Init(kind, nullptr, static_cast<int8_t>(width), type, false, size, 0);
        mesh.attribute(mesh.AddAttribute(a, true, points))->set_unique_id(i);
        sizes.push_back(size);
    }
    for (uint32_t f = 0; f < triangles; f++) {
        draco::Mesh::Face face;
        for (int k = 0; k < 3; k++) face[static_cast<size_t>(k)] = word(in);
        mesh.AddFace(face);
    }
    for (uint32_t i = 0; i < attributes; i++) {
        std::vector<char> values(points * sizes[i]);
        if (fread(values.data(), 1, values.size(), in) != values.size()) return 2;
        for (uint32_t p = 0; p < points; p++)
            mesh.attribute(static_cast<int>(i))
                ->SetAttributeValue(draco::AttributeValueIndex(p), &values[p * sizes[i]]);
    }
    draco::Encoder encoder;
    encoder.SetEncodingMethod(draco::MESH_EDGEBREAKER_ENCODING);
    encoder.SetAttributeQuantization(draco::GeometryAttribute::POSITION, 14);
    encoder.SetAttributeQuantization(draco::GeometryAttribute::NORMAL, 10);
    encoder.SetAttributeQuantization(draco::GeometryAttribute::TEX_COORD, 12);
    encoder.SetAttributeQuantization(draco::GeometryAttribute::GENERIC, 12);
    draco::EncoderBuffer stream;
    if (!encoder.EncodeMeshToBuffer(mesh, &stream).ok()) return 2;
    draco::DecoderBuffer back;
    back.Init(stream.data(), stream.size());
    draco::Decoder decoder;
    auto decoded = decoder.DecodeMeshFromBuffer(&back);
    if (!decoded.ok()) return 2;
    const uint32_t found = decoded.value()->num_points();
    fwrite(&found, 4, 1, out);
    fwrite(stream.data(), 1, stream.size(), out);
    return fclose(out) != 0;
}
