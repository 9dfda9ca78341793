// report.mjs JOBS.json RESULTS.json: the page of `supple compare` in headless Chromium. JOBS: {"template", "out", "stored", "real": page of the tool
// or null}. One result a check: {name} or {name, trouble}. SUPPLE_STORE=1 writes the stored screenshot anew.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {pathToFileURL} from 'node:url';
import {PNG} from 'pngjs';
import {openBrowser} from './browser.mjs';
import {filled, HOSTILE, KINDS, samplePositions} from './report_sample.mjs';

const [jobsPath, resultsPath] = process.argv.slice(2);
const job = JSON.parse(fs.readFileSync(jobsPath));
const template = fs.readFileSync(job.template, 'utf8');
const PIXEL = 30,
    SAME = 0.004; // a pixel differs by more than this sum of channels; the share of such pixels that is still the same picture
const WAIT = {timeout: 120000};

function write(name, html) {
    const file = path.join(job.out, name);
    fs.writeFileSync(file, html);
    return file;
}
const files = Object.fromEntries(
    ['sample', 'minimal'].map((kind) => [kind, write(`report-${kind}.html`, filled(template, KINDS[kind]()))]),
);

// A page whose every word to the console and every request is noted.
async function open(context, file, {loaded = true, media = {reducedMotion: 'reduce'}, size = {width: 1280, height: 900}, before} = {}) {
    const page = await context.newPage();
    page.said = [];
    page.asked = [];
    page.on('console', (m) => ['error', 'warning'].includes(m.type()) && page.said.push(`${m.type()}: ${m.text()}`));
    page.on('pageerror', (e) => page.said.push(`error: ${e.message}`));
    page.on('request', (r) => page.asked.push(r.url()));
    await page.setViewportSize(size);
    await page.emulateMedia(media);
    if (before) await page.addInitScript(before);
    await page.goto(pathToFileURL(file).href);
    if (loaded)
        await page.waitForFunction(
            () => window.suppleReport?.player?.loaded !== undefined && suppleReport.player.stats.draws > 0,
            null,
            WAIT,
        );
    return page;
}

const frameOf = (page) => page.evaluate(() => suppleReport.state.frame);
const camera = (page) =>
    page.evaluate(() => [...suppleReport.player.stage.camera.position.toArray(), ...suppleReport.player.stage.controls.target.toArray()]);
const set = (page, options) => page.evaluate((o) => suppleReport.player.set(o), options);
const drawn = (page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
const quiet = (page) =>
    assert.deepEqual(
        page.said.filter((s) => !s.includes('GPU stall')),
        [],
    );

// The stage's pixels, without the names in it, whose font is the system's. Texts above it leave it between two pixels: it is moved onto one.
async function shot(page) {
    await page.evaluate(() => {
        document.querySelector('.labels').style.visibility = 'hidden';
        document.querySelector('.status').style.visibility = 'hidden';
        const stage = document.querySelector('.stage'),
            {width, height} = stage.getBoundingClientRect();
        Object.assign(stage.style, {position: 'fixed', left: 0, top: 0, width: `${width}px`, height: `${height}px`, zIndex: 9});
    });
    await drawn(page);
    const png = PNG.sync.read(await page.locator('.stage canvas').screenshot());
    await page.evaluate(() => {
        const stage = document.querySelector('.stage');
        Object.assign(stage.style, {position: '', left: '', top: '', width: '', height: '', zIndex: ''});
        stage.scrollIntoView({block: 'center'});
    });
    await drawn(page);
    return png;
}

// The share of pixels that differ.
function difference(a, b) {
    assert.deepEqual([a.width, a.height], [b.width, b.height]);
    let other = 0;
    for (let i = 0; i < a.data.length; i += 4) {
        other +=
            Math.abs(a.data[i] - b.data[i]) + Math.abs(a.data[i + 1] - b.data[i + 1]) + Math.abs(a.data[i + 2] - b.data[i + 2]) > PIXEL;
    }
    return other / (a.width * a.height);
}

// How much of a window is figure: coloured, which neither the ground nor the grid is.
function figure(png, {x, y, width, height}) {
    let count = 0;
    for (let v = Math.round(y); v < y + height - 1; v++) {
        for (let u = Math.round(x); u < x + width - 1; u++) {
            const [r, g, b] = png.data.subarray(4 * (v * png.width + u));
            count += Math.max(r, g, b) - Math.min(r, g, b) > 25;
        }
    }
    return count / (width * height);
}

// A pixel in the middle of the first run of at least 20 coloured ones.
function coloured(png) {
    for (let y = 60; y < png.height; y += 7) {
        let run = 0;
        for (let x = 0; x < png.width / 2; x++) {
            const [r, g, b] = png.data.subarray(4 * (y * png.width + x));
            run = Math.max(r, g, b) - Math.min(r, g, b) > 25 ? run + 1 : 0;
            if (run === 20) return [x - 8, y];
        }
    }
    throw new Error('nothing is drawn');
}

const checks = {
    async loads({page}) {
        quiet(page);
        assert.deepEqual(
            page.asked.filter((url) => !/^(file|blob|data):/.test(url)),
            [],
        );
        assert.equal(page.asked.filter((url) => url.startsWith('file:')).length, 1, 'it asks for another file');
        assert.match(await page.textContent('#advice'), /Recommended: mixed/);
        assert.equal(await page.evaluate(() => document.querySelectorAll('#table tbody tr').length), 4);
    },

    async hostile_names_are_inert({page}) {
        assert.equal(await page.evaluate(() => window.hostile), undefined);
        assert.equal(await page.evaluate(() => document.querySelectorAll('img[src="x"], [onerror]').length), 0);
        const text = await page.evaluate(() => document.body.innerText);
        for (const place of [`tube ${HOSTILE}`, `walk ${HOSTILE}`, `m&m ${HOSTILE}`, `(--model) ${HOSTILE}`, `sets it) ${HOSTILE}`])
            assert.ok(text.includes(place), `${place} is not shown as text`);
        // Even markup that got in could not run: the policy knows one script.
        await page.evaluate(() => {
            const script = document.createElement('script');
            script.textContent = 'window.hostile = 2';
            document.body.append(script);
        });
        assert.equal(await page.evaluate(() => window.hostile), undefined);
        page.said.length = 0; // the browser tells that it refused
    },

    async positions_are_decoded({page}) {
        for (const [c, methods] of samplePositions().entries()) {
            await page.evaluate((i) => suppleReport.state.setClip(i), c);
            await page.waitForFunction((i) => suppleReport.player.loaded === i, c, WAIT);
            for (const [m, {frames, stored}] of methods.entries()) {
                const got = await page.evaluate((index) => {
                    const {player, state} = suppleReport,
                        motion = player.ready(player.playable[index]),
                        out = new Float32Array(3 * motion.vertices);
                    return Array.from({length: state.clip.count}, (_, f) => (motion.write(f, out), [...out]));
                }, m);
                assert.equal(got.length, frames.length);
                got.forEach((x, f) => {
                    const b = stored.find((s) => s >= f),
                        a = b === f ? b : stored.findLast((s) => s < f),
                        t = b === a ? 0 : (f - a) / (b - a);
                    const worst = Math.max(...x.map((v, i) => Math.abs(v - (1 - t) * frames[a][i] - t * frames[b][i])));
                    assert.ok(worst < 4e-5, `clip ${c}, method ${m}, frame ${f}: off by ${worst}`); // a step is 6e-5 of 4 m
                });
            }
        }
        await page.evaluate(() => suppleReport.state.setClip(0));
    },

    // The straight tube's normals are known: n = (slope, cos, sin). The seam, where two vertices are in one place, is no exception.
    async normals_are_smooth({page}) {
        await page.evaluate(() => suppleReport.state.setFrame(0));
        await drawn(page);
        const got = await page.evaluate(() => [...suppleReport.player.stage.dolls.get(suppleReport.player.playable[0]).geometry.attributes.normal.array]);
        const around = 16,
            slope = 0.13 * 0.25,
            length = Math.hypot(slope, 1);
        for (let i = 1; i < 40; i++) {
            for (let k = 0; k <= around; k++) {
                const turn = (2 * Math.PI * k) / around,
                    at = 3 * (i * (around + 1) + k),
                    wanted = [slope / length, Math.cos(turn) / length, Math.sin(turn) / length];
                const off = Math.hypot(...wanted.map((v, axis) => v - got[at + axis]));
                assert.ok(off < 0.02, `ring ${i}, corner ${k}: off by ${off}`);
            }
        }
    },

    async plays({context}) {
        const page = await open(context, files.sample, {media: {reducedMotion: 'no-preference'}});
        assert.equal(await page.evaluate(() => suppleReport.player.playing), true, 'it does not start by itself');
        const first = await frameOf(page);
        await page.waitForFunction((f) => suppleReport.state.frame !== f, first, WAIT);
        await page.getByRole('button', {name: 'Pause'}).click();
        const [at, draws] = await page.evaluate(() => [suppleReport.state.frame, suppleReport.player.stats.draws]);
        await page.waitForTimeout(600);
        assert.equal(await frameOf(page), at, 'it does not pause');
        assert.ok((await page.evaluate(() => suppleReport.player.stats.draws)) - draws <= 2, 'it draws though nothing changes');
        await page.locator('body').press('Space');
        await page.waitForFunction((f) => suppleReport.state.frame !== f, at, WAIT);
        const hide = (hidden) =>
            page.evaluate((h) => {
                Object.defineProperty(document, 'hidden', {value: h, configurable: true});
                document.dispatchEvent(new Event('visibilitychange'));
            }, hidden);
        await hide(true);
        await drawn(page);
        const unseen = await page.evaluate(() => suppleReport.player.stats.draws);
        await page.waitForTimeout(400);
        assert.equal(await page.evaluate(() => suppleReport.player.stats.draws), unseen, 'a hidden page draws');
        await hide(false);
        await page.waitForFunction((n) => suppleReport.player.stats.draws > n, unseen, WAIT);
        await page.evaluate(() => suppleReport.player.set({loop: false}));
        await page.waitForFunction(
            () => !suppleReport.player.playing && suppleReport.state.frame === suppleReport.state.clip.count - 1,
            null,
            WAIT,
        );
        quiet(page);
        await page.close();
    },

    async does_not_start_where_motion_is_unwanted({page}) {
        assert.equal(await page.evaluate(() => suppleReport.player.playing), false);
    },

    async orbits_zooms_and_pans({page}) {
        await page.evaluate(() => suppleReport.state.setFrame(12));
        const before = await shot(page),
            home = await camera(page),
            box = await page.locator('.stage canvas').boundingBox();
        const [x, y] = [box.x + 0.25 * box.width, box.y + 0.3 * box.height];
        const drag = async (button) => {
            await page.mouse.move(x, y);
            await page.mouse.down({button});
            await page.mouse.move(x + 80, y + 20, {steps: 4});
            await page.mouse.up({button});
            return camera(page);
        };
        const orbited = await drag('left');
        assert.deepEqual(orbited.slice(3), home.slice(3), 'turning moved the centre');
        assert.ok(difference(before, await shot(page)) > 0.02, 'turning changed no pixels');
        const panned = await drag('right');
        assert.notDeepEqual(panned.slice(3), home.slice(3), 'a right drag does not pan');
        await page.mouse.wheel(0, -400);
        await drawn(page);
        const far = (c) => Math.hypot(c[0] - c[3], c[1] - c[4], c[2] - c[5]);
        const zoomed = await camera(page);
        assert.ok(far(zoomed) < 0.95 * far(panned), 'the wheel does not zoom');
        const session = await page.context().newCDPSession(page);
        for (const [type, apart] of [['touchStart', 20], ['touchMove', 40], ['touchMove', 80], ['touchEnd', 0]]) {
            const touchPoints = type === 'touchEnd' ? [] : [{x: x - apart, y, id: 1}, {x: x + apart, y, id: 2}];
            await session.send('Input.dispatchTouchEvent', {type, touchPoints});
        }
        await drawn(page);
        assert.ok(far(await camera(page)) < 0.7 * far(zoomed), 'two fingers do not zoom');
        await page.locator('body').press('f');
        await drawn(page);
        (await camera(page)).forEach((v, i) => assert.ok(Math.abs(v - home[i]) < 1e-6, 'F does not bring the view back'));
        assert.ok(difference(before, await shot(page)) < SAME);
        const spot = coloured(await shot(page)),
            at = await page.locator('.stage canvas').boundingBox();
        await page.mouse.dblclick(at.x + spot[0], at.y + spot[1]);
        await drawn(page);
        assert.notDeepEqual((await camera(page)).slice(3), home.slice(3), 'a double click does not focus');
        await page.locator('body').press('Shift+ArrowLeft');
        await page.locator('body').press('f');
        await drawn(page);
    },

    async methods_are_switched({page}) {
        const names = () =>
            page.evaluate(() => suppleReport.player.stage.windows.map((w) => w.methods.map((m) => m.name.slice(0, 6)).join('+')));
        assert.deepEqual(await names(), ['linear', 'mixed', 'm&m </', 'refere']);
        const four = await shot(page);
        await page.locator('body').press('1');
        await page.getByRole('checkbox', {name: 'reference'}).click();
        await drawn(page);
        assert.deepEqual(await names(), ['mixed', 'm&m </']);
        assert.ok(difference(four, await shot(page)) > 0.05);
        await page.locator('body').press('1');
        await page.getByRole('checkbox', {name: 'reference'}).click();
        await page.evaluate(() => suppleReport.state.setFrame(20));
        const pictures = [];
        for (const mode of ['wipe', 'overlay', 'swap']) {
            await page.getByLabel('View', {exact: true}).selectOption(mode);
            await drawn(page);
            pictures.push(await shot(page));
        }
        assert.deepEqual(await names(), ['linear']);
        await page.locator('body').press('x');
        pictures.push(await shot(page));
        assert.deepEqual(await names(), ['mixed']);
        for (let i = 1; i < pictures.length; i++)
            assert.ok(difference(pictures[i - 1], pictures[i]) > 2 * SAME, `pictures ${i - 1} and ${i} are the same`);
        await page.locator('body').press('x');
        await page.getByLabel('View', {exact: true}).selectOption('side');
    },

    async colours_by_distance({page}) {
        const plain = await shot(page);
        await page.getByLabel('Colour by').selectOption('heat');
        await drawn(page);
        assert.ok(difference(plain, await shot(page)) > 0.05);
        assert.match(await page.textContent('.heat-legend'), /Distance from reference, mm.*≥/);
        // What the page finds at the frame is what the report says of it.
        const [far, told] = await page.evaluate(() => {
            const {player, state} = suppleReport,
                method = player.playable[0];
            return [player.stage.dolls.get(method).largest, method.error[state.clip.offset + state.frame].max];
        });
        assert.ok(Math.abs(far - told) < 1e-4, `${far} m, and the report says ${told} m`);
        // Frames that reference was not solved in: between the distances of those around, and said so.
        await page.evaluate(() => suppleReport.state.setClip(1, 2));
        await page.waitForFunction(() => suppleReport.player.loaded === 1, null, WAIT);
        await drawn(page);
        const [middle, low, high] = await page.evaluate(() => {
            const {player, state} = suppleReport,
                method = player.playable[0],
                at = (f) => method.error[state.clip.offset + f].max;
            return [player.stage.dolls.get(method).largest, ...[at(0), at(4)].sort((a, b) => a - b)];
        });
        assert.ok(middle > low - 1e-4 && middle < high + 1e-4, `${middle} m between ${low} and ${high}`);
        assert.match(await page.textContent('.labels'), /reference.*between frames 1 and 5/);
        await page.evaluate(() => suppleReport.state.setClip(0, 20));
        await page.getByLabel('Colour by').selectOption('material');
    },

    async keys_work({page}) {
        const body = page.locator('body'),
            at = async (key, frame) => {
                await body.press(key);
                assert.equal(await frameOf(page), frame, key);
            };
        await page.evaluate(() => document.activeElement.blur());
        await at('Home', 0);
        await at('ArrowRight', 1);
        await at('ArrowRight', 2);
        await at('ArrowLeft', 1);
        await at('End', 23);
        await at('ArrowRight', 23);
        await body.press('w');
        assert.equal(await page.evaluate(() => suppleReport.player.wire), true);
        await body.press('w');
        await body.press('?');
        assert.equal(await page.locator('#help').isVisible(), true);
        await page.keyboard.press('Escape');
        assert.equal(await page.locator('#help').isVisible(), false);
        await page.getByLabel('Frame number').fill('7');
        await page.keyboard.press('Enter');
        assert.equal(await frameOf(page), 6, 'a number that is typed, from 1 on');
        await page.getByLabel('Frame number').fill('1e9');
        await page.keyboard.press('Enter');
        assert.equal(await frameOf(page), 23, 'a number beyond the end');
    },

    async tab_reaches_every_control_and_shows_it({page}) {
        await page.evaluate(() => {
            document.activeElement.blur();
            scrollTo(0, 0);
        });
        const wanted = await page.evaluate(
            () =>
                [...document.querySelectorAll('a, button, select, input, summary, [tabindex="0"]')].filter(
                    (n) => n.checkVisibility() && !n.disabled,
                ).length,
        );
        const seen = new Set();
        for (let i = 0; i < wanted + 5; i++) {
            await page.keyboard.press('Tab');
            const [id, outline, tag] = await page.evaluate(() => {
                const node = document.activeElement;
                return [
                    [...document.querySelectorAll('*')].indexOf(node),
                    getComputedStyle(node).outlineStyle,
                    node.outerHTML.slice(0, 90),
                ];
            });
            if (seen.has(id)) break;
            if (tag.startsWith('<body')) continue; // the end of the page, or its start
            assert.notEqual(outline, 'none', `the focus is not seen on ${tag}`);
            seen.add(id);
        }
        assert.ok(seen.size >= wanted, `Tab reaches ${seen.size} of ${wanted} controls`);
    },

    async every_control_has_a_name({page}) {
        const session = await page.context().newCDPSession(page);
        const {nodes} = await session.send('Accessibility.getFullAXTree');
        const roles = new Set([
            'button',
            'checkbox',
            'slider',
            'combobox',
            'spinbutton',
            'link',
            'textbox',
            'image',
            'img',
            'DisclosureTriangle',
            'table',
            'region',
        ]);
        const found = nodes.filter((n) => !n.ignored && roles.has(n.role?.value));
        assert.ok(found.length > 30, `only ${found.length} controls`);
        assert.deepEqual(
            found.filter((n) => !n.name?.value?.trim()).map((n) => n.role.value),
            [],
        );
    },

    async curves_follow_and_lead({page}) {
        const charts = await page.evaluate(() =>
            [...document.querySelectorAll('.chart')]
                .filter((c) => c.checkVisibility())
                .map((c) => [c.dataset.chart, c.querySelectorAll('.line').length]),
        );
        assert.deepEqual(charts, [
            ['volume', 4],
            ['penetration', 4],
            ['crossed', 4],
            ['strain', 3],
            ['error', 3],
            ['time', 4],
        ]);
        const plot = page.locator('[data-chart=time] .plot');
        await plot.scrollIntoViewIfNeeded();
        const box = await plot.boundingBox();
        await page.mouse.click(box.x + 46 + (box.width - 56) * 0.5, box.y + 60);
        const frame = await frameOf(page);
        assert.ok(Math.abs(frame - 11.5) <= 1, `a click in the middle leads to frame ${frame}`);
        await page.mouse.move(5, 5);
        const values = () => page.locator('[data-chart=volume] output').allTextContents();
        await page.locator('body').press('End');
        assert.equal((await values())[0], '86.3', 'the lowest joint of linear at the last frame');
        await page.getByLabel('Joint volume: Joint').selectOption({index: 2});
        assert.equal((await values())[0], '98', 'the other joint');
        await page.getByLabel('Joint volume: Joint').selectOption('');
        assert.match(await plot.getAttribute('aria-valuetext'), /^frame 24: linear/);
    },

    async table_is_sorted({page}) {
        const names = () => page.evaluate(() => [...document.querySelectorAll('#table tbody th')].map((n) => n.textContent.slice(0, 5)));
        assert.deepEqual(await names(), ['linea', 'mixed', 'm&m <', 'refer']);
        const head = page.getByRole('button', {name: 'Error, mean'});
        await head.click();
        assert.deepEqual(await names(), ['refer', 'mixed', 'm&m <', 'linea']);
        await head.click();
        assert.deepEqual(await names(), ['linea', 'm&m <', 'mixed', 'refer']);
        const best = await page.evaluate(() =>
            [...document.querySelectorAll('#table tbody tr')].map((r) => r.querySelectorAll('.best').length),
        );
        assert.ok(best[0] >= 3 && best[2] >= 1, 'the best values are not marked');
        assert.match(await page.textContent('#table'), /subspace.*no model was given/s);
    },

    async strips_are_shown_and_enlarged({page}) {
        await page.locator('#strips').scrollIntoViewIfNeeded();
        for (const image of await page.locator('.picture img').all()) {
            await image.scrollIntoViewIfNeeded();
            await page.waitForFunction((i) => i.naturalWidth > 0, await image.elementHandle(), WAIT);
        }
        assert.equal(await page.locator('.picture img').count(), 8);
        await page.locator('.picture').nth(1).click();
        assert.match(await page.textContent('#enlarged-title'), /^mixed/);
        await page.keyboard.press('ArrowRight');
        assert.match(await page.textContent('#enlarged-title'), /^m&m/);
        await page.keyboard.press('Escape');
        assert.equal(await page.locator('#enlarged').isVisible(), false);
        await page.getByRole('button', {name: 'Show frame 13 of bend in the player'}).first().click();
        assert.equal(await frameOf(page), 12);
    },

    async clips_are_changed({page}) {
        await page.getByLabel('Clip').selectOption({index: 1});
        await page.waitForFunction(() => suppleReport.player.loaded === 1, null, WAIT);
        assert.equal(await page.evaluate(() => suppleReport.player.follow), true, 'it walks away');
        for (const frame of [0, 11]) {
            await page.evaluate((f) => suppleReport.state.setFrame(f), frame);
            const png = await shot(page),
                windows = await page.evaluate(() =>
                    suppleReport.player.stage.windows.map(({x, y, width, height}) => ({x, y, width, height})),
                );
            windows.forEach((w, i) => assert.ok(figure(png, w) > 0.01, `window ${i} is empty at frame ${frame}`));
        }
        await page.getByLabel('Clip').selectOption({index: 0});
    },

    async nothing_was_said({page}) {
        quiet(page);
    },

    async views_are_as_stored({context}) {
        const page = await open(context, files.sample, {
            size: {width: 800, height: 600},
            media: {reducedMotion: 'reduce', colorScheme: 'light'},
        });
        await page.evaluate(() => suppleReport.state.setFrame(18));
        const png = await shot(page),
            windows = await page.evaluate(() => suppleReport.player.stage.windows.map(({x, y, width, height}) => ({x, y, width, height})));
        fs.writeFileSync(path.join(job.out, 'report-views.png'), PNG.sync.write(png));
        assert.equal(windows.length, 4);
        windows.forEach((w, i) => assert.ok(figure(png, w) > 0.05, `window ${i} is empty: ${figure(png, w)}`));
        if (process.env.SUPPLE_STORE) fs.writeFileSync(job.stored, PNG.sync.write(png));
        const stored = PNG.sync.read(fs.readFileSync(job.stored)),
            off = difference(stored, png);
        assert.ok(off < SAME, `${(100 * off).toFixed(2)} % of the pixels differ from the stored picture`);
        // The measure sees a wrong pose and a missing method.
        await page.evaluate(() => suppleReport.state.setFrame(17));
        const wrong = difference(stored, await shot(page));
        await page.evaluate(() => suppleReport.state.setFrame(18));
        await page.evaluate(() => suppleReport.player.stage.dolls.get(suppleReport.player.playable[1]).mesh.removeFromParent());
        await page.evaluate(() => suppleReport.player.invalidate());
        const missing = difference(stored, await shot(page));
        console.log(
            `pixels that differ: ${(100 * off).toFixed(3)} % same, ${(100 * wrong).toFixed(2)} % one frame off, ${(100 * missing).toFixed(2)} % a method missing`,
        );
        assert.ok(wrong > 3 * SAME && missing > 3 * SAME, 'the comparison would not see it');
        await page.close();
    },

    async narrow_and_wide_fit({context}) {
        for (const width of [400, 1280]) {
            const page = await open(context, files.sample, {
                size: {width, height: 800},
                media: {reducedMotion: 'reduce', colorScheme: 'dark'},
            });
            const [content, ground] = await page.evaluate(() => [
                document.documentElement.scrollWidth,
                getComputedStyle(document.documentElement).backgroundColor,
            ]);
            assert.ok(content <= width, `${content} px at ${width}`);
            assert.ok(Number(ground.match(/\d+/)[0]) < 60, `dark is ${ground}`);
            for (const mode of ['wipe', 'overlay']) {
                await set(page, {mode, heat: true});
                await drawn(page);
                assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${mode} is wider than ${width}`);
            }
            quiet(page);
            await page.close();
        }
    },

    // Of a long figure that comes towards the camera nothing is cut off, and little room is left.
    async the_whole_figure_is_in_view({context}) {
        const page = await open(context, files.sample);
        for (const stretch of [1, 6]) {
            const most = await page.evaluate((by) => {
                const {player} = suppleReport,
                    {stage, home} = player,
                    [w] = stage.windows;
                home.points.forEach((points) => points.forEach((v, i) => i % 3 === 2 && (points[i] = v * by)));
                stage.touched = false;
                player.aspect = null;
                player.frameCamera();
                stage.camera.aspect = w.width / w.height;
                stage.camera.updateProjectionMatrix();
                stage.camera.updateMatrixWorld();
                const p = stage.camera.position.clone();
                let far = 0;
                for (const points of home.points) {
                    for (let i = 0; i < points.length; i += 3) {
                        p.fromArray(points, i).project(stage.camera);
                        far = Math.max(far, Math.abs(p.x), Math.abs(p.y));
                    }
                }
                return far;
            }, stretch);
            assert.ok(most > 0.9 && most < 1, `${most} of half a window, stretched by ${stretch}`);
        }
        await page.close();
    },

    async what_has_no_size_is_not_drawn({context}) {
        const page = await open(context, files.sample);
        const draws = () => page.evaluate(() => suppleReport.player.stats.draws);
        await page.evaluate(() => (document.getElementById('player').style.display = 'none'));
        await drawn(page);
        const before = await draws();
        await page.evaluate(() => suppleReport.state.setFrame(3));
        await drawn(page);
        assert.equal(await draws(), before);
        await page.evaluate(() => (document.getElementById('player').style.display = ''));
        await page.waitForFunction((n) => suppleReport.player.stats.draws > n, before, WAIT);
        quiet(page);
        await page.close();
    },

    async works_without_webgl({context}) {
        const page = await open(context, files.sample, {
            loaded: false,
            before: () => {
                const original = HTMLCanvasElement.prototype.getContext;
                HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
                    return kind.startsWith('webgl') ? null : original.call(this, kind, ...rest);
                };
            },
        });
        assert.match(await page.textContent('.stage'), /no 3D/);
        await page.locator('body').press('ArrowRight');
        assert.equal(await frameOf(page), 1);
        await page.getByRole('button', {name: 'Play', exact: true}).click();
        await page.waitForFunction(() => suppleReport.state.frame > 2, null, WAIT);
        assert.equal(await page.locator('.plot:visible').count(), 6);
        quiet(page);
        await page.close();
    },

    async little_is_enough({context}) {
        const page = await open(context, files.minimal);
        assert.equal(await page.locator('.label b').textContent(), 'linear');
        assert.match(await page.textContent('#table'), /not positive/);
        quiet(page);
        await page.close();
    },

    async damage_is_told({context}) {
        const sample = KINDS.sample(),
            blob = sample.json.methods[1].positions[0].blob;
        sample.blobs.texts[blob] = sample.blobs.texts[blob].slice(0, 400);
        const cases = [
            [filled(template, sample), '.status', /mixed/],
            [template, '#top', /supple compare/],
            [
                template.replace('<!--supple-report-->', '<script type="application/json" id="supple-report">{"a":</script>'),
                '#top',
                /damaged/,
            ],
        ];
        for (const [i, [html, place, words]] of cases.entries()) {
            const page = await open(context, write(`report-damaged-${i}.html`, html), {loaded: i === 0});
            assert.match(await page.textContent(place), words);
            if (i === 0)
                assert.equal(
                    await page.evaluate(() => suppleReport.player.playable.filter((m) => suppleReport.player.ready(m)).length),
                    3,
                    'the others play',
                );
            await page.close();
        }
    },

    async a_page_of_the_tool_plays({context}) {
        if (!job.real) return;
        const page = await open(context, job.real);
        quiet(page);
        assert.deepEqual(
            page.asked.filter((url) => !/^(file|blob|data):/.test(url)),
            [],
        );
        const png = await shot(page),
            windows = await page.evaluate(() => suppleReport.player.stage.windows.map(({x, y, width, height}) => ({x, y, width, height})));
        assert.equal(windows.length, 2);
        fs.writeFileSync(path.join(job.out, 'report-real.png'), PNG.sync.write(png));
        await page.locator('body').press('End');
        assert.ok(difference(png, await shot(page)) > 0.002, 'the last frame is the first');
        await page.locator('#strips').scrollIntoViewIfNeeded();
        await page.waitForFunction(() => document.querySelector('.picture img')?.naturalWidth > 0, null, WAIT);
        assert.ok((await page.locator('#table tbody tr').count()) >= 2);
        assert.ok((await page.textContent('#advice')).length > 30, 'no recommendation');
        const [width, room] = await page.locator('#table .scroll').evaluate((node) => [node.scrollWidth, node.clientWidth]);
        assert.ok(width <= room, `the table's ${width} px do not fit into ${room}`);
        await page.close();
    },
};

const only = process.env.SUPPLE_REPORT_ONLY ?? '',
    results = [],
    {context, close} = await openBrowser();
try {
    const page = await open(context, files.sample);
    for (const [name, check] of Object.entries(checks)) {
        if (!name.includes(only)) continue;
        const start = Date.now();
        try {
            await check({page, context});
            results.push({name});
        } catch (error) {
            results.push({name, trouble: `${error.message.slice(0, 400)} ${page.said.join('; ')}`});
        }
        console.log(`${results.at(-1).trouble ? 'FAIL' : 'ok'} ${name} ${Date.now() - start} ms ${results.at(-1).trouble ?? ''}`);
        fs.writeFileSync(resultsPath, JSON.stringify(results));
    }
} finally {
    await close();
}
