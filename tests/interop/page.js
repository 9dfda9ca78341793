// In the browser: loads a .glb, plays its first clip, hands out positions and draws. interop's play.mjs calls window.interop.
import * as THREE from 'three';
import {GLTFLoader} from 'three/addons/loaders/GLTFLoader.js';

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

async function load(url) {
    const gltf = await new GLTFLoader().loadAsync(url);
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

// World positions at a time, every vertex deformed on the CPU as the shader does, as base64 of float32.
function positions(time) {
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
    const bytes = new Uint8Array(out.buffer);
    let text = '';
    for (let i = 0; i < bytes.length; i += 32768) text += String.fromCharCode(...bytes.subarray(i, i + 32768));
    return btoa(text);
}

// Draws one frame from the front, the box [low, high] filling the picture.
function draw(time, low, high, width, height) {
    seek(time);
    const renderer = new THREE.WebGLRenderer({antialias: true, preserveDrawingBuffer: true});
    renderer.setSize(width, height);
    const scene = new THREE.Scene();
    scene.background = new THREE.Color(0xd8dde3);
    scene.add(current.gltf.scene, new THREE.HemisphereLight(0xffffff, 0x667788, 2.0));
    const box = new THREE.Box3(new THREE.Vector3(...low), new THREE.Vector3(...high));
    const centre = box.getCenter(new THREE.Vector3()), size = box.getSize(new THREE.Vector3());
    const half = 0.55 * Math.max(size.y, (size.x * height) / width), depth = size.length();
    const camera = new THREE.OrthographicCamera((-half * width) / height, (half * width) / height, half, -half, 0.01 * depth, 4 * depth);
    camera.position.copy(centre).add(new THREE.Vector3(0, 0, 2 * depth));
    camera.lookAt(centre);
    const sun = new THREE.DirectionalLight(0xffffff, 2.0);
    sun.position.copy(centre).add(new THREE.Vector3(depth, 2 * depth, 3 * depth));
    sun.target.position.copy(centre);
    scene.add(sun, sun.target);
    document.body.replaceChildren(renderer.domElement);
    renderer.render(scene, camera);
    current.renderer?.dispose();
    current.renderer = renderer;
    return renderer.domElement.toDataURL('image/png').split(',')[1];
}

window.interop = {load, positions, draw};
