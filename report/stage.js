// The stage: one canvas, one camera, a window in it for each method that is shown. Draws only when asked.
import * as THREE from 'three';
import {OrbitControls} from 'three/addons/controls/OrbitControls.js';
import {normals, paint} from './shape.js';
import {pictureUrl} from './data.js';

const FOV = 28,
    AZIMUTH = 0.5,
    ELEVATION = 0.16,
    MARGIN = 1.06,
    GAP = 2;

// The canvas's context, or null where the browser draws no 3D. Where a processor draws, smoothing edges would cost most of the time.
export function openContext(canvas) {
    const plain = {alpha: true, depth: true, stencil: false, antialias: false};
    try {
        return (
            canvas.getContext('webgl2', {...plain, antialias: true, failIfMajorPerformanceCaveat: true}) ??
            canvas.getContext('webgl2', plain)
        );
    } catch {
        return null;
    }
}

// Rows and columns that give `count` windows of a width x height the largest figure of the given proportions (width over height).
export function layout(count, width, height, proportion) {
    let best = {columns: 1, rows: count, size: 0};
    for (let columns = 1; columns <= count; columns++) {
        const rows = Math.ceil(count / columns),
            w = width / columns,
            h = height / rows;
        const size = Math.min(w / proportion, h);
        if (size > best.size * 1.001) best = {columns, rows, size};
    }
    return best;
}

// Width over height of a box as the camera sees it at first.
export function seenProportion({low, high}) {
    const [x, y, z] = high.map((h, k) => h - low[k]);
    return (x * Math.cos(AZIMUTH) + z * Math.sin(AZIMUTH)) / (y || 1);
}

function niceStep(length) {
    const power = 10 ** Math.floor(Math.log10(length));
    return [5, 2, 1].map((f) => f * power).find((s) => s <= length) ?? power;
}

export class Stage {
    constructor(canvas, context, changed) {
        this.canvas = canvas;
        this.renderer = new THREE.WebGLRenderer({canvas, context});
        this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, 2));
        this.renderer.autoClear = false;
        this.scene = new THREE.Scene();
        this.camera = new THREE.PerspectiveCamera(FOV, 1, 0.01, 100);
        this.controls = new OrbitControls(this.camera, canvas);
        this.controls.addEventListener('change', () => changed());
        this.controls.addEventListener('start', () => (this.touched = true)); // by hand: the camera is the user's from now on
        this.windows = []; // {x, y, width, height, method, scissor}
        this.dolls = new Map();
        this.addLights();
    }

    addLights() {
        const sun = new THREE.DirectionalLight(0xffffff, 2.1),
            fill = new THREE.DirectionalLight(0xdde6ff, 0.5);
        sun.position.set(0.5, 0.9, 1);
        fill.position.set(-1, 0.2, -0.4);
        this.lamp = new THREE.Group(); // turns with the camera, so that what one looks at is lit
        this.lamp.add(sun, fill, sun.target, fill.target);
        this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8890a0, 1.25), this.lamp);
    }

    // What all methods share: triangles, texture coordinates, materials.
    setMesh(report, index, uv, same) {
        this.index = index;
        this.corners = index.map((i) => same[i]);
        this.same = same;
        this.indexAttribute = new THREE.BufferAttribute(index, 1);
        this.uvAttribute = uv && new THREE.BufferAttribute(uv, 2);
        const groups = report.mesh.groups.length ? report.mesh.groups : [{first: 0, count: index.length / 3}];
        this.groups = groups.map((g) => ({start: 3 * (g.first | 0), count: 3 * (g.count | 0)}));
        this.materials = groups.map((g) => this.material(report, g));
        const line = {wireframe: true, transparent: true, opacity: 0.3};
        this.wire = new THREE.MeshBasicMaterial({...line, color: 0x101418});
        this.heatMaterials = groups.map((g) => new THREE.MeshLambertMaterial({vertexColors: true, side: THREE.DoubleSide, ...offset()}));
        this.tints = [0xe69f00, 0x56b4e9].map(
            (color) => new THREE.MeshLambertMaterial({color, side: THREE.DoubleSide, transparent: true, ...offset()}),
        );
        // B lies on A as a glaze: where both are in one place the mixture is even.
        Object.assign(this.tints[1], {opacity: 0.55, polygonOffsetFactor: -1, polygonOffsetUnits: -2});
    }

    material(report, group) {
        const rgb = Array.isArray(group.color) ? group.color.slice(0, 3).map((c) => (Number.isFinite(c) ? c : 0.7)) : [0.6, 0.6, 0.62];
        const material = new THREE.MeshPhongMaterial({
            specular: 0x141414,
            shininess: 18,
            side: group.double_sided === false ? THREE.FrontSide : THREE.DoubleSide,
            ...offset(),
        });
        material.color.setRGB(...rgb, THREE.LinearSRGBColorSpace);
        const url = this.uvAttribute ? pictureUrl(report, group.texture) : null;
        if (url) this.loadTexture(material, url);
        return material;
    }

    loadTexture(material, url) {
        new THREE.TextureLoader().load(
            url,
            (texture) => {
                URL.revokeObjectURL(url);
                Object.assign(texture, {
                    flipY: false,
                    colorSpace: THREE.SRGBColorSpace,
                    wrapS: THREE.RepeatWrapping,
                    wrapT: THREE.RepeatWrapping,
                    anisotropy: 4,
                });
                material.map = texture;
                material.needsUpdate = true;
                this.controls.dispatchEvent({type: 'change'});
            },
            undefined,
            () => URL.revokeObjectURL(url),
        );
    }

    // The mesh of a method, made when it is first shown.
    doll(method) {
        if (this.dolls.has(method)) return this.dolls.get(method);
        const n = this.same.length,
            geometry = new THREE.BufferGeometry();
        const attribute = (name, array, size, normalised) => {
            const a = new THREE.BufferAttribute(array, size, normalised);
            a.setUsage(THREE.DynamicDrawUsage);
            geometry.setAttribute(name, a);
        };
        geometry.setIndex(this.indexAttribute);
        if (this.uvAttribute) geometry.setAttribute('uv', this.uvAttribute);
        attribute('position', new Float32Array(3 * n), 3);
        attribute('normal', new Float32Array(3 * n), 3);
        this.groups.forEach((g, i) => geometry.addGroup(g.start, g.count, i));
        const mesh = new THREE.Mesh(geometry, this.materials),
            lines = new THREE.Mesh(geometry, this.wire);
        mesh.frustumCulled = lines.frustumCulled = false; // its bounds change with every frame
        const doll = {mesh, lines, geometry, key: ''};
        mesh.visible = lines.visible = false;
        this.scene.add(mesh, lines);
        this.dolls.set(method, doll);
        return doll;
    }

    // Brings a method's mesh to a frame.
    pose(method, motion, frame) {
        const doll = this.doll(method),
            {position, normal} = doll.geometry.attributes;
        const key = `${motion.id}:${frame}`;
        doll.largest = null;
        if (doll.key === key) return;
        doll.key = key;
        motion.write(frame, position.array);
        normals(position.array, this.corners, this.same, normal.array);
        position.needsUpdate = normal.needsUpdate = true;
    }

    // Colours a mesh by distances, of which `full` and more have the last colour.
    paint(method, distances, full) {
        const doll = this.doll(method),
            {geometry} = doll;
        if (!geometry.attributes.color)
            geometry.setAttribute('color', new THREE.BufferAttribute(new Uint8Array(4 * this.same.length), 4, true));
        doll.largest = paint(distances, full, geometry.attributes.color.array);
        geometry.attributes.color.needsUpdate = true;
    }

    // Where the camera stands at first: in front, a little to the side and above, as near as leaves all points of the home's frames in each
    // window. A point at x, y and z of the camera's axes is seen where k |x - X| <= D - z: least D at X = (a - b) / 2k, D = (a + b) / 2.
    frame(home, aspect) {
        const tan = Math.tan((0.5 * FOV * Math.PI) / 180),
            k = [MARGIN / (tan * aspect), MARGIN / tan],
            [sin, cos, low, flat] = [Math.sin(AZIMUTH), Math.cos(AZIMUTH), Math.sin(ELEVATION), Math.cos(ELEVATION)];
        const axes = [new THREE.Vector3(cos, 0, -sin), new THREE.Vector3(-sin * low, flat, -cos * low)],
            back = new THREE.Vector3(sin * flat, low, cos * flat),
            far = this.reach(home, [...axes, back], k);
        this.controls.target.fromArray(home.centre);
        axes.forEach((axis, i) => this.controls.target.addScaledVector(axis, (far[i][0] - far[i][1]) / (2 * k[i])));
        const distance = Math.max(...far.map(([a, b]) => (a + b) / 2), 1e-3 * home.diagonal) || 1;
        this.camera.position.copy(this.controls.target).addScaledVector(back, distance);
        this.size = home.diagonal || 1;
        this.controls.minDistance = 0.02 * this.size;
        this.controls.maxDistance = 30 * this.size;
        this.controls.update();
    }

    // The largest of z + k x and of z - k x, and of y, over all points about the centre.
    reach(home, [right, up, back], k) {
        const far = [
            [-Infinity, -Infinity],
            [-Infinity, -Infinity],
        ];
        const p = new THREE.Vector3(),
            centre = new THREE.Vector3().fromArray(home.centre);
        for (const points of home.points) {
            for (let i = 0; i < points.length; i += 3) {
                const z = p.fromArray(points, i).sub(centre).dot(back),
                    sides = [k[0] * p.dot(right), k[1] * p.dot(up)];
                for (let s = 0; s < 2; s++) {
                    if (z + sides[s] > far[s][0]) far[s][0] = z + sides[s];
                    if (z - sides[s] > far[s][1]) far[s][1] = z - sides[s];
                }
            }
        }
        return far;
    }

    // Squares of a fifth of the figure, as far as the clip goes.
    setGround(box, figure, colour) {
        if (this.grid) {
            this.scene.remove(this.grid);
            this.grid.dispose();
        }
        const step = niceStep(0.2 * figure || 1),
            cells = Math.min(400, 2 * Math.ceil((0.5 * box.diagonal) / step + (1.2 * figure) / step));
        this.grid = new THREE.GridHelper(cells * step, cells, colour, colour);
        Object.assign(this.grid.material, {transparent: true, opacity: 0.35, depthWrite: false});
        this.grid.position.set(Math.round(box.centre[0] / step) * step, box.low[1], Math.round(box.centre[2] / step) * step);
        this.scene.add(this.grid);
    }

    resize(width, height) {
        this.renderer.setSize(width, height, false);
        this.width = width;
        this.height = height;
    }

    // Draws every window. `look`: {background, materials of a method, wire, grid}.
    draw(look) {
        const {renderer, scene, camera} = this,
            distance = camera.position.distanceTo(this.controls.target);
        camera.near = Math.max(0.001 * this.size, distance - 4 * this.size);
        camera.far = distance + 8 * this.size;
        this.lamp.quaternion.copy(camera.quaternion);
        if (this.grid) this.grid.visible = look.grid;
        renderer.setScissorTest(false);
        renderer.setClearColor(look.gap);
        renderer.clear();
        renderer.setScissorTest(true);
        renderer.setClearColor(look.background);
        for (const w of this.windows) {
            const bottom = this.height - w.y - w.height,
                s = w.scissor ?? w;
            renderer.setViewport(w.x, bottom, w.width, w.height);
            renderer.setScissor(s.x, this.height - s.y - s.height, s.width, s.height);
            renderer.clear();
            camera.aspect = w.width / w.height;
            camera.updateProjectionMatrix();
            for (const [method, doll] of this.dolls)
                this.dress(doll, look.ready(method) ? w.methods.indexOf(method) : -1, look, w.methods.length > 1);
            renderer.render(scene, camera);
        }
    }

    dress(doll, place, look, overlaid) {
        doll.mesh.visible = place >= 0;
        doll.lines.visible = place >= 0 && look.wire;
        if (place < 0) return;
        if (overlaid) {
            doll.mesh.material = this.tints[place];
            doll.mesh.renderOrder = place;
        } else {
            doll.mesh.material = look.heat && doll.largest !== null ? this.heatMaterials : this.materials;
            doll.mesh.renderOrder = 0;
        }
    }

    // Moves what the camera looks at, and the camera with it.
    shift(delta) {
        const by = new THREE.Vector3().fromArray(delta);
        this.camera.position.add(by);
        this.controls.target.add(by);
        this.controls.update();
    }

    // The point of a window's meshes under the pointer becomes the centre that the camera turns about.
    focus(x, y) {
        const w = this.windows.find((v) => inside(v.scissor ?? v, x, y));
        if (!w) return false;
        const ndc = new THREE.Vector2((2 * (x - w.x)) / w.width - 1, 1 - (2 * (y - w.y)) / w.height),
            ray = new THREE.Raycaster();
        this.camera.aspect = w.width / w.height;
        this.camera.updateProjectionMatrix();
        ray.setFromCamera(ndc, this.camera);
        const dolls = w.methods.map((m) => this.dolls.get(m)).filter((d) => d?.key);
        for (const doll of dolls) doll.geometry.boundingSphere = doll.geometry.boundingBox = null; // of another frame
        const hit = ray.intersectObjects(
            dolls.map((d) => d.mesh),
            false,
        )[0];
        if (!hit) return false;
        const away = this.camera.position.clone().sub(this.controls.target).multiplyScalar(0.6);
        this.controls.target.copy(hit.point);
        this.camera.position.copy(hit.point).add(away);
        this.touched = true;
        this.controls.update();
        return true;
    }
}

// Lines lie on the surface they belong to: the surface steps back a little.
function offset() {
    return {polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1};
}

function inside(w, x, y) {
    return x >= w.x && x < w.x + w.width && y >= w.y && y < w.y + w.height;
}

// Windows side by side in a grid.
export function sideBySide(methods, width, height, proportion) {
    if (!methods.length) return [];
    const {columns, rows} = layout(methods.length, width, height, proportion),
        w = width / columns,
        h = height / rows;
    return methods.map((method, i) => {
        const x = Math.round((i % columns) * w),
            y = Math.round(Math.floor(i / columns) * h);
        return {
            x,
            y,
            width: Math.round(((i % columns) + 1) * w) - x - GAP,
            height: Math.round((Math.floor(i / columns) + 1) * h) - y - GAP,
            methods: [method],
        };
    });
}

// The same window twice, A left of the divider and B right of it.
export function wiped(a, b, width, height, share) {
    const cut = Math.round(width * share),
        whole = {x: 0, y: 0, width, height};
    return [
        {...whole, methods: [a], scissor: {x: 0, y: 0, width: Math.max(cut - 1, 0), height}},
        {...whole, methods: [b], scissor: {x: cut + 1, y: 0, width: Math.max(width - cut - 1, 0), height}},
    ];
}
