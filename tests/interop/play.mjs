// play.mjs JOBS.json RESULTS.json: plays each job's .glb with three.js in headless Chromium, compares the vertices with the .npy at every
// frame's time, and takes a picture of the middle frame.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {PNG} from 'pngjs';
import {openBrowser} from './browser.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const [jobsPath, resultsPath] = process.argv.slice(2);
const jobs = JSON.parse(fs.readFileSync(jobsPath));
const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.glb': 'model/gltf-binary'};

// The page, three.js and the files of the jobs, on loopback only.
function serve() {
    const server = http.createServer((request, response) => {
        const url = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
        const job = url.match(/^\/job\/(\d+)\.glb$/);
        const file = job ? jobs[job[1]]?.glb : url.startsWith('/examples/') ? path.join(here, '../..', path.normalize(url)) : path.join(here, path.normalize(url));
        if (!file || (!job && !file.startsWith(path.join(here, url.startsWith('/examples/') ? '../../examples' : '.'))) || !fs.existsSync(file)) {
            response.writeHead(url === '/favicon.ico' ? 204 : 404).end();
            return;
        }
        response.writeHead(200, {'Content-Type': TYPES[path.extname(file)] ?? 'application/octet-stream'});
        fs.createReadStream(file).pipe(response);
    });
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

// A .npy of little-endian float32, frames x vertices x 3.
function readNpy(file) {
    const raw = fs.readFileSync(file);
    const header = raw.readUInt16LE(8);
    const text = raw.toString('latin1', 10, 10 + header);
    const shape = text.match(/'shape': \((\d+), (\d+), 3\)/).slice(1, 3).map(Number);
    if (!text.includes("'<f4'")) throw new Error('not float32');
    const start = 10 + header;
    return {frames: shape[0], vertices: shape[1], data: new Float32Array(raw.buffer.slice(raw.byteOffset + start, raw.byteOffset + raw.length))};
}

function bounds({data}) {
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
    for (let i = 0; i < data.length; i++) {
        low[i % 3] = Math.min(low[i % 3], data[i]);
        high[i % 3] = Math.max(high[i % 3], data[i]);
    }
    return {low, high, diagonal: Math.hypot(...high.map((h, i) => h - low[i]))};
}

// How much of a picture is not its background.
function covered(file) {
    const {data, width, height} = PNG.sync.read(fs.readFileSync(file));
    let other = 0;
    for (let i = 0; i < data.length; i += 4) {
        if (Math.abs(data[i] - data[0]) + Math.abs(data[i + 1] - data[1]) + Math.abs(data[i + 2] - data[2]) > 24) other++;
    }
    return other / (width * height);
}

async function play(page, job, index) {
    const said = [];
    const listen = (message) => ['error', 'warning'].includes(message.type()) && said.push(`${message.type()}: ${message.text()}`);
    const fail = (error) => said.push(`error: ${error.message}`);
    page.on('console', listen).on('pageerror', fail);
    try {
        const reference = readNpy(job.npy), box = bounds(reference);
        const loaded = await page.evaluate((url) => window.interop.load(url), `/job/${index}.glb`);
        let worst = 0;
        for (let frame = 0; frame < reference.frames; frame++) {
            const bytes = Buffer.from(await page.evaluate((time) => window.interop.positions(time), frame / job.fps), 'base64');
            const x = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
            if (x.length !== 3 * reference.vertices) throw new Error(`${x.length / 3} vertices, expected ${reference.vertices}`);
            for (let i = 0; i < x.length; i++) {
                const error = Math.abs(x[i] - reference.data[3 * reference.vertices * frame + i]);
                if (!(error <= worst)) worst = error;
            }
        }
        const middle = reference.frames >> 1, size = job.size ?? [480, 480];
        const png = await page.evaluate((a) => window.interop.draw(...a), [middle / job.fps, ...size]);
        fs.writeFileSync(job.picture, Buffer.from(png, 'base64'));
        return {name: job.name, ...loaded, frames: reference.frames, error: worst / box.diagonal, covered: covered(job.picture),
                errors: said.filter((s) => s.startsWith('error')), warnings: said.filter((s) => s.startsWith('warning'))};
    } catch (error) {
        return {name: job.name, trouble: `${error.message} ${said.join('; ')}`};
    } finally {
        page.off('console', listen).off('pageerror', fail);
    }
}

const server = await serve();
const {context, close} = await openBrowser();
const results = [];
try {
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/page.html`);
    await page.waitForFunction(() => window.interop, null, {timeout: 60000});
    for (const [index, job] of jobs.entries()) {
        results.push(await play(page, job, index));
        fs.writeFileSync(resultsPath, JSON.stringify(results));
    }
} finally {
    await close();
    server.close();
}
