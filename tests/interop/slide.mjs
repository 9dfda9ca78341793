// slide.mjs JOB.json RESULT.json: plays a .glb whose skin slides by examples/slide-three.js in headless Chromium, and beside it the same
// character glued, with the baked picture of each frame. Also the slid file without the plug-in, which must be as the glued one.
// JOB: {slid, glued, baked: [PNG of every frame], original: PNG, fps, frames: [which to look at], pictures: FOLDER}
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
    if (url === '/slid.glb') return job.slid;
    if (url === '/glued.glb') return job.glued;
    const baked = url.match(/^\/baked\/(\d+)\.png$/);
    if (baked) return job.baked[baked[1]];
    if (url === '/examples/slide-three.js') return path.join(here, '../../examples/slide-three.js');
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
    const shoot = async (name, url, slides, baked) => {
        await page.evaluate(([u, s]) => window.interop.load(u, s), [url, slides]);
        const shots = [];
        for (const frame of job.frames) {
            if (baked) await page.evaluate((u) => window.interop.paint(u), `/baked/${frame}.png`);
            const png = Buffer.from(await page.evaluate((a) => window.interop.draw(...a), [frame / job.fps, ...SIZE]), 'base64');
            fs.writeFileSync(path.join(job.pictures, `slide-${name}-${frame}.png`), png);
            shots.push(PNG.sync.read(png));
        }
        return shots;
    };
    const slid = await shoot('played', '/slid.glb', true, false), baked = await shoot('baked', '/glued.glb', false, true);
    const bare = await shoot('bare', '/slid.glb', false, false), glued = await shoot('glued', '/glued.glb', false, false);
    job.frames.forEach((frame, i) => result.frames.push({frame, played: psnr(slid[i], baked[i]), glued: psnr(glued[i], baked[i]),
                                                         bare: psnr(bare[i], glued[i])}));
} finally {
    await close();
    server.close();
}
result.said = said;
fs.writeFileSync(resultPath, JSON.stringify(result));
