// In the browser: loads a .glb, plays its first clip, hands out positions and draws. interop's play.mjs calls window.interop.
import * as THREE from 'three';
import {GLTFLoader} from 'three/addons/loaders/GLTFLoader.js';
import {SuppleSlide} from '/examples/slide-three.js';
import {SuppleSlideTexture} from '/examples/slide-texture-three.js';

const SLIDES = {components: SuppleSlide, texture: SuppleSlideTexture};
let current;

// Meshes in Supple's order: nodes in file order, each one's primitives in file order.
function ordered(gltf) {
    const found = [];
    gltf.scene.traverse((object) => {
        if (!object.isMesh) return;
        const own = gltf.parser.associations.get(object) ?? {};
        let node = own.nodes;
        for (let up = object.parent; node === undefined && up; up = up.parent) node = gltf.parser.associations.get(up)?.nodes;
        found.push({object, node: node ?? -1, primitive: own.primitives ?? 0});
    });
    found.sort((a, b) => a.node - b.node || a.primitive - b.primitive);
    return found.map((f) => f.object);
}

async function load(url, slides) {
    const loader = new GLTFLoader();
    if (slides) loader.register((parser) => new SLIDES[slides](parser));
    const gltf = await loader.loadAsync(url);
    const mixer = new THREE.AnimationMixer(gltf.scene);
    const action = gltf.animations.length ? mixer.clipAction(gltf.animations[0]) : null;
    if (action) action.play();
    current = {gltf, mixer, action, meshes: ordered(gltf)};
    return {clips: gltf.animations.length, meshes: current.meshes.length};
}

function seek(time) {
    if (current.action) {
        current.action.time = time;
        current.mixer.update(0);
    }
    current.gltf.scene.updateMatrixWorld(true);
}

// World positions at a time, every vertex deformed on the CPU as the shader does.
function deformed(time) {
    seek(time);
    const count = current.meshes.reduce((sum, mesh) => sum + mesh.geometry.attributes.position.count, 0);
    const out = new Float32Array(3 * count);
    const x = new THREE.Vector3();
    let at = 0;
    for (const mesh of current.meshes) {
        for (let i = 0; i < mesh.geometry.attributes.position.count; i++, at += 3) {
            mesh.getVertexPosition(i, x).applyMatrix4(mesh.matrixWorld);
            x.toArray(out, at);
        }
    }
    return out;
}

// The same as base64 of float32, which crosses to the test quickly.
function positions(time) {
    const bytes = new Uint8Array(deformed(time).buffer);
    let text = '';
    for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
    return btoa(text);
}

// A portrait lens from the front and a little to the side and above, as the rasteriser's "three-quarter" view, close enough to
// fill the picture with the vertices of this frame: kx |x - X| <= D - z for all of them.
function portrait(x, width, height) {
    const azimuth = (38 * Math.PI) / 180, elevation = (12 * Math.PI) / 180, focal = 2.8 * Math.max(width, height), fill = 0.88;
    const right = new THREE.Vector3(Math.cos(azimuth), 0, -Math.sin(azimuth));
    const back = new THREE.Vector3(Math.sin(azimuth) * Math.cos(elevation), Math.sin(elevation), Math.cos(azimuth) * Math.cos(elevation));
    const up = back.clone().cross(right);
    const kx = focal / (0.5 * width * fill), ky = focal / (0.5 * height * fill), p = new THREE.Vector3();
    let [ax, bx, ay, by, front, behind] = [-Infinity, -Infinity, -Infinity, -Infinity, -Infinity, Infinity];
    for (let i = 0; i < x.length; i += 3) {
        p.fromArray(x, i);
        const u = p.dot(right), v = p.dot(up), z = p.dot(back);
        ax = Math.max(ax, z + kx * u), bx = Math.max(bx, z - kx * u);
        ay = Math.max(ay, z + ky * v), by = Math.max(by, z - ky * v);
        front = Math.max(front, z), behind = Math.min(behind, z);
    }
    const distance = Math.max((ax + bx) / 2, (ay + by) / 2);
    const fov = (2 * Math.atan((0.5 * height) / focal) * 180) / Math.PI;
    const camera = new THREE.PerspectiveCamera(fov, width / height, 0.5 * (distance - front), 2 * (distance - behind));
    camera.position.set(0, 0, 0).addScaledVector(right, (ax - bx) / (2 * kx)).addScaledVector(up, (ay - by) / (2 * ky));
    camera.position.addScaledVector(back, distance);
    camera.lookAt(camera.position.clone().sub(back));
    return camera;
}

// Draws one frame; returns the picture as base64 of a PNG.
function draw(time, width, height) {
    const camera = portrait(deformed(time), width, height);
    const renderer = new THREE.WebGLRenderer({antialias: true, preserveDrawingBuffer: true});
    renderer.setSize(width, height);
    const scene = new THREE.Scene();
    scene.background = new THREE.Color(0xd8dde3);
    scene.add(current.gltf.scene, new THREE.HemisphereLight(0xffffff, 0x667788, 2.0));
    const sun = new THREE.DirectionalLight(0xffffff, 2.0);
    sun.position.set(1, 2, 3);
    scene.add(sun);
    document.body.replaceChildren(renderer.domElement);
    renderer.render(scene, camera);
    const picture = renderer.domElement.toDataURL('image/png').split(',')[1];
    renderer.dispose();
    return picture;
}

// Another picture in place of every material's base colour.
async function paint(url) {
    const picture = await new THREE.TextureLoader().loadAsync(url);
    for (const {material} of current.meshes) {
        if (!material.map) continue;
        for (const key of ['flipY', 'colorSpace', 'wrapS', 'wrapT', 'minFilter', 'magFilter']) picture[key] = material.map[key];
        material.map = picture;
        material.needsUpdate = true;
    }
}

window.interop = {paint, load, positions, draw};
