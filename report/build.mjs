// build.mjs SOURCE PACKAGES OUT.html: bundles main.js with three.js and puts it, the style and three.js' licence into page.html.
// PACKAGES is the folder whose node_modules `npm ci` filled. The result needs nothing beside itself.
import crypto from 'node:crypto';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';

const [source, packages, out] = process.argv.slice(2).map((p) => path.resolve(p));
const MARK = '<!--supple-report-->';
const TARGET = ['chrome100', 'firefox113', 'safari16.4'];

function read(...parts) {
    return fs.readFileSync(path.join(...parts), 'utf8');
}

async function bundle(esbuild, entry, options) {
    const result = await esbuild.build({
        entryPoints: [path.join(source, entry)],
        bundle: true,
        minify: true,
        write: false,
        charset: 'ascii',
        target: TARGET,
        legalComments: 'eof', // three.js keeps its notice
        nodePaths: [path.join(packages, 'node_modules')],
        logLevel: 'warning',
        ...options,
    });
    return result.outputFiles[0].text.trim();
}

// The page's policy lets these two texts in by their hash and nothing else: no other script runs, and nothing is fetched.
function hash(text) {
    return `'sha256-${crypto.createHash('sha256').update(text).digest('base64')}'`;
}

function escapeHtml(text) {
    return text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
}

function fill(page, values) {
    return page.replace(/@(SCRIPT|STYLE|POLICY|LICENCE)@/g, (_, name) => values[name]);
}

function check(html, script) {
    if (/<\/script|<!--/i.test(script)) throw new Error('the bundle has a text that ends a script');
    if (html.split('\n').filter((line) => line === MARK).length !== 1 || html.split(MARK).length !== 2) {
        throw new Error(`page.html must have exactly one line ${MARK}`);
    }
}

const esbuild = createRequire(path.join(packages, 'package.json'))('esbuild');
const script = `\n${await bundle(esbuild, 'main.js', {format: 'iife'})}\n`;
const style = `\n${await bundle(esbuild, 'style.css', {})}\n`;
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'`;
const html = fill(read(source, 'page.html'), {
    SCRIPT: script,
    STYLE: style,
    POLICY: policy,
    LICENCE: escapeHtml(read(packages, 'node_modules/three/LICENSE').trim()),
});
check(html, script);
fs.writeFileSync(`${out}.part`, html);
fs.renameSync(`${out}.part`, out); // whole or not at all
console.log(`report.html: ${(html.length / 1e3).toFixed(0)} kB`);
