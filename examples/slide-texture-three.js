// Skin that slides as a texture, in three.js: a shader of ten lines, and a plug-in for GLTFLoader that sets it up for what
// `supple skin ... --slide --set slide.glb=texture -o out.glb` writes: out.glb and out.slide.png (docs/slide-output.md).
//
//   import {SuppleSlideTexture} from './slide-texture-three.js';
//   const loader = new GLTFLoader();
//   loader.register((parser) => new SuppleSlideTexture(parser));
//
// An AnimationMixer plays it with the file's own animations, one of them at a time. The work is the graphics card's.
import * as THREE from 'three';

// Of other engines only the names differ. `place` is the vertex's texel in the first frame, from its own set of texture
// coordinates, `next` how far below it the texel of the next frame is. A texel holds 12 bits of u and 12 of v: steps of
// `unit` from `zero`. Sample without filtering, without mipmaps, and as plain numbers: not as sRGB.
export const SLIDE_SHADER = `
uniform sampler2D slideTexture;
uniform float slideFrame, slideNext;
uniform vec2 slideZero, slideUnit;
vec2 slideAt(vec2 place, float frame) {
    vec3 b = floor(255.0 * texture2D(slideTexture, place + vec2(0.0, frame * slideNext)).rgb + 0.5);
    return (vec2(16.0 * b.r + floor(b.g / 16.0), 256.0 * mod(b.g, 16.0) + b.b) - slideZero) * slideUnit;
}
vec2 slide(vec2 place) {
    float first = floor(slideFrame), share = slideFrame - first;
    vec2 now = slideAt(place, first);
    return share > 0.0 ? mix(now, slideAt(place, first + 1.0), share) : now;
}
`;

export class SuppleSlideTexture {
    constructor(parser) {
        this.parser = parser;
        this.name = 'SUPPLE_slide_texture';
        this.textures = new Map();
    }

    async afterRoot(gltf) {
        const meshes = [];
        for (const scene of gltf.scenes) scene.traverse((object) => object.isMesh && meshes.push(object));
        await Promise.all(meshes.map((mesh) => this.attach(mesh, gltf.animations)));
    }

    load(uri) {
        if (!this.textures.has(uri)) {
            const {path, manager} = this.parser.options;
            const loader = new THREE.TextureLoader(manager);
            this.textures.set(uri, loader.loadAsync(THREE.LoaderUtils.resolveURL(uri, path)).then((texture) => {
                texture.flipY = texture.generateMipmaps = false;
                texture.minFilter = texture.magFilter = THREE.NearestFilter;
                return texture; // its colour space is none: plain numbers
            }));
        }
        return this.textures.get(uri);
    }

    async attach(mesh, animations) {
        const {meshes, primitives} = this.parser.associations.get(mesh) ?? {};
        const slide = this.parser.json.meshes?.[meshes]?.primitives?.[primitives ?? 0]?.extras?.supple_slide;
        if (!slide?.texture) return;
        const {uri, set, size, rows, zero, unit} = slide.texture;
        const uniforms = {
            slideTexture: {value: await this.load(uri)},
            slideFrame: {value: 0},
            slideNext: {value: rows / size[1]},
            slideZero: {value: new THREE.Vector2(...zero)},
            slideUnit: {value: new THREE.Vector2(...unit)},
        };
        const place = set < 4 ? `uv${set}` : `texcoord_${set}`; // as GLTFLoader calls it
        mesh.material = mesh.material.clone(); // others may share it, and slide differently
        mesh.material.onBeforeCompile = (shader) => {
            Object.assign(shader.uniforms, uniforms);
            // Every map of the material reads `uv`; three.js declares uv1 to uv3 only where a map needs them.
            const declared = set < 4 ? `#ifndef USE_UV${set}\nattribute vec2 ${place};\n#endif\n` : `attribute vec2 ${place};\n`;
            shader.vertexShader = declared + SLIDE_SHADER + shader.vertexShader.replace('#include <uv_vertex>',
                `vec2 slid = uv + slide(${place});\n#define uv slid\n#include <uv_vertex>\n#undef uv`);
        };
        mesh.material.customProgramCacheKey = () => `${this.name}.${place}`;
        Object.defineProperty(mesh, 'slide', {get: () => uniforms.slideFrame.value, set: (frame) => (uniforms.slideFrame.value = frame)});
        this.addTracks(mesh, slide, animations);
    }

    // Frame k of an animation is at k / fps; the animations' frames stand one below the other.
    addTracks(mesh, slide, animations) {
        let first = 0;
        slide.frames.forEach((frames, index) => {
            const last = frames - 1, times = last > 0 ? [0, last / slide.fps] : [0], values = last > 0 ? [first, first + last] : [first];
            animations[index]?.tracks.push(new THREE.NumberKeyframeTrack(`${mesh.uuid}.slide`, times, values));
            first += frames;
        });
    }
}
