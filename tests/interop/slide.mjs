// slide.mjs JOB.json RESULT.json: plays two .glb whose skin slides in headless Chromium, one by examples/slide-three.js, one by
// slide-texture-three.js, and beside them the same character glued, with the baked picture of each frame. Also the slid files without their
// plug-ins, which must be as the glued one. JOB: {components, texture: .glb, glued, baked: [PNG of every frame], fps, frames: [which to look
// at], between: a place between two frames, where both plug-ins are compared, pictures: FOLDER}
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import {fileURLToPath} from 'node:url';
import {PNG} from 'pngjs';
import {openBrowser} from './browser.mjs';

const here = path.dirname(fileURLToPath(import.meta.url)), SIZE = [720, 720];
const [jobPath, resultPath] = process.argv.slice(2);
const job = JSON.parse(fs.readFileSync(jobPath));
const TYPES = {'.html': 'text/html', '.js': 'text/javascript', '.glb': 'model/gltf-binary', '.png': 'image/png'};

// The page, three.js, the plug-in and the files of the job, on loopback only.
function fileOf(url) {
    const slid = url.match(/^\/slid\/(components|texture)\.glb$/);
    if (slid) return job[slid[1]];
    if (url.match(/^\/slid\/[^/]*\.png$/)) return path.join(path.dirname(job.texture), path.basename(url)); // by the name in the .glb
    if (url === '/glued.glb') return job.glued;
    const baked = url.match(/^\/baked\/(\d+)\.png$/);
    if (baked) return job.baked[baked[1]];
    if (url.match(/^\/examples\/slide-(texture-)?three\.js$/)) return path.join(here, '../..', url);
    const file = path.join(here, path.normalize(url));
    return file.startsWith(here) ? file : null;
}

const server = await new Promise((resolve) => {
    const made = http.createServer((request, response) => {
        const file = fileOf(decodeURIComponent(new URL(request.url, 'http://localhost').pathname));
        if (!file || !fs.existsSync(file)) return response.writeHead(request.url === '/favicon.ico' ? 204 : 404).end();
        response.writeHead(200, {'Content-Type': TYPES[path.extname(file)] ?? 'application/octet-stream'});
        fs.createReadStream(file).pipe(response);
    });
    made.listen(0, '127.0.0.1', () => resolve(made));
});

function psnr(a, b) {
    let sum = 0, count = 0;
    for (let i = 0; i < a.data.length; i += 4) {
        // the ground is the same in both and does not count
        if ([0, 1, 2].every((c) => a.data[i + c] === a.data[c] && b.data[i + c] === a.data[c])) continue;
        for (let c = 0; c < 3; c++) sum += (a.data[i + c] - b.data[i + c]) ** 2;
        count += 3;
    }
    return 10 * Math.log10((255 * 255) / Math.max(sum / count, 1e-9));
}

const {context, close} = await openBrowser();
const said = [], result = {frames: []};
try {
    const page = await context.newPage();
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && said.push(message.text()));
    page.on('pageerror', (error) => said.push(error.message));
    await page.goto(`http://127.0.0.1:${server.address().port}/page.html`);
    await page.waitForFunction(() => window.interop, null, {timeout: 60000});
    const draw = async (frame) =>
        PNG.sync.read(Buffer.from(await page.evaluate((a) => window.interop.draw(...a), [frame / job.fps, ...SIZE]), 'base64'));
    const shoot = async (name, url, slides, baked) => {
        await page.evaluate(([u, s]) => window.interop.load(u, s), [url, slides]);
        const shots = [];
        for (const frame of job.frames) {
            if (baked) await page.evaluate((u) => window.interop.paint(u), `/baked/${frame}.png`);
            shots.push(await draw(frame));
            fs.writeFileSync(path.join(job.pictures, `slide-${name}-${frame}.png`), PNG.sync.write(shots.at(-1)));
        }
        return shots;
    };
    const between = [];
    const baked = await shoot('baked', '/glued.glb', null, true), glued = await shoot('glued', '/glued.glb', null, false);
    for (const kind of ['components', 'texture']) {
        const url = `/slid/${kind}.glb`, played = await shoot(kind, url, kind, false);
        between.push(await draw(job.between));
        const bare = await shoot(`${kind}-bare`, url, null, false);
        job.frames.forEach((frame, i) => result.frames.push({kind, frame, played: psnr(played[i], baked[i]), glued: psnr(glued[i], baked[i]),
                                                             bare: psnr(bare[i], glued[i])}));
    }
    result.between = psnr(...between);
} finally {
    await close();
    server.close();
}
result.said = said;
fs.writeFileSync(resultPath, JSON.stringify(result));
