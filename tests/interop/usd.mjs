// usd.mjs FILE.usda FILE.npy: parses the layer with tinyusdz and compares every point sample of every mesh with the frames, bit for bit.
import fs from 'node:fs';
import path from 'node:path';
import {fileURLToPath} from 'node:url';

const [usda, npy] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));
const folder = path.join(here, 'node_modules', 'tinyusdz');

// The package is made for browsers: it is told that this is one, and handed its program.
globalThis.window = globalThis;
process.type = 'renderer';
const {default: init} = await import(path.join(folder, 'tinyusdz.js'));
const usd = await init({wasmBinary: fs.readFileSync(path.join(folder, 'tinyusdz.wasm'))});

function fail(text) {
    console.error(text);
    process.exit(1);
}

const bytes = new Uint8Array(fs.readFileSync(usda));
const scene = new usd.TinyUSDZLoaderNative();
if (!scene.loadFromBinary(bytes, 'in.usda')) fail(`not a scene: ${scene.error()}`);
const layer = new usd.TinyUSDZLoaderNative();
if (!layer.loadAsLayerFromBinary(bytes, 'in.usda')) fail(`not a layer: ${layer.error()}`);
const text = layer.layerToString();

// A .npy of little-endian float32, frames x vertices x 3.
const raw = fs.readFileSync(npy), start = 10 + raw.readUInt16LE(8);
const [frames, vertices] = raw.toString('latin1', 10, start).match(/'shape': \((\d+), (\d+), 3\)/).slice(1, 3).map(Number);
const reference = new Float32Array(raw.buffer.slice(raw.byteOffset + start, raw.byteOffset + raw.length));

let first = 0, meshes = 0, wrong = 0;
for (const block of text.split(/def Mesh "/).slice(1)) {
    const samples = block.match(/points\.timeSamples = \{([\s\S]*?)\}/)[1].trim().split(/\n\s*/);
    if (samples.length !== frames) fail(`${samples.length} samples, expected ${frames}`);
    let count = 0;
    for (const [frame, sample] of samples.entries()) {
        const numbers = Float32Array.from(sample.slice(sample.indexOf('[')).match(/[-+0-9.e]+/g), Number);
        count = numbers.length / 3;
        for (let i = 0; i < numbers.length; i++) wrong += numbers[i] !== reference[3 * (frame * vertices + first) + i];
    }
    const mesh = scene.getMesh(meshes++); // as a renderer sees the first sample
    if (mesh.points.length !== 3 * count) fail(`${mesh.points.length / 3} points in the scene, ${count} in the layer`);
    first += count;
}
console.log(`${meshes} meshes, ${first} points, ${frames} frames, ${wrong} numbers differ`);
if (wrong || first !== vertices || meshes !== scene.numMeshes()) fail('not the same');
