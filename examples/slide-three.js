// Skin that slides, in three.js: a plug-in for GLTFLoader that plays the `supple_slide` of a .glb (docs/slide-output.md).
//
//   import {SuppleSlide} from './slide-three.js';
//   const loader = new GLTFLoader();
//   loader.register((parser) => new SuppleSlide(parser));
//
// Texture coordinates of a primitive are a mean and a few components with weights that change with the frames; three.js
// has no morph targets for them. The weights become tracks of the file's own animations, so an AnimationMixer plays them
// with the rest, and coordinates are put together when a mesh's matrices are, where the weights are not those of last time.
// A file without a slide, and a viewer without this, are as ever.
import * as THREE from 'three';

export class SuppleSlide {
    constructor(parser) {
        this.parser = parser;
        this.name = 'SUPPLE_slide';
    }

    async afterRoot(gltf) {
        const meshes = [];
        for (const scene of gltf.scenes) scene.traverse((object) => object.isMesh && meshes.push(object));
        await Promise.all(meshes.map((mesh) => this.attach(mesh, gltf.animations)));
    }

    // The description of a mesh's primitive, or nothing.
    find(mesh) {
        const {meshes, primitives} = this.parser.associations.get(mesh) ?? {};
        return this.parser.json.meshes?.[meshes]?.primitives?.[primitives ?? 0]?.extras?.supple_slide;
    }

    async attach(mesh, animations) {
        const slide = this.find(mesh);
        if (!slide) return;
        const read = async (index) => (await this.parser.getDependency('accessor', index)).array;
        const [mean, ...components] = await Promise.all(slide.components.map(read));
        const weights = await read(slide.weights);
        const count = components.length;
        mesh.geometry = mesh.geometry.clone(); // two meshes may share one, and slide differently
        const uv = new THREE.BufferAttribute(Float32Array.from(mean), 2).setUsage(THREE.DynamicDrawUsage);
        mesh.geometry.setAttribute('uv', uv);
        mesh.slide = Array.from(weights.subarray(0, count)); // what the tracks move
        this.addTracks(mesh, slide, weights, count, animations);

        let shown = null;
        const update = () => {
            if (shown && mesh.slide.every((weight, k) => weight === shown[k])) return;
            shown = mesh.slide.slice();
            uv.array.set(mean);
            for (let k = 0; k < count; k++) {
                const weight = shown[k], part = components[k];
                if (weight !== 0) for (let i = 0; i < part.length; i++) uv.array[i] += weight * part[i];
            }
            uv.needsUpdate = true;
        };
        // Before every drawing; when onBeforeRender is called, attributes have gone to the graphics card already.
        const own = mesh.updateMatrixWorld;
        mesh.updateMatrixWorld = function (...rest) {
            update();
            own.apply(this, rest);
        };
        update();
    }

    // Frame k of an animation is at k / fps; the animations' weights stand one after the other.
    addTracks(mesh, slide, weights, count, animations) {
        let first = 0;
        slide.frames.forEach((frames, index) => {
            const times = Float32Array.from({length: frames}, (_, k) => k / slide.fps);
            const values = weights.slice(first * count, (first + frames) * count);
            animations[index]?.tracks.push(new THREE.NumberKeyframeTrack(`${mesh.uuid}.slide`, times, values));
            first += frames;
        });
    }
}
