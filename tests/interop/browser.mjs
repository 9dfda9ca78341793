// Headless Chromium for the tests, with a profile of its own that is removed at the end.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import {chromium} from 'playwright-core';

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/snap/bin/chromium', '/usr/bin/google-chrome'];

// {context, close}; options go to the context (viewport, colorScheme ...).
export async function openBrowser(options = {}) {
    const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'supple-chromium-'));
    const context = await chromium.launchPersistentContext(profile, {
        executablePath: PROGRAMS.find((p) => fs.existsSync(p)),
        headless: true,
        // No graphics card is needed: SwiftShader draws. The rest keeps Chromium from calling home.
        args: [
            '--no-sandbox',
            '--use-gl=angle',
            '--use-angle=swiftshader',
            '--enable-unsafe-swiftshader',
            '--ignore-gpu-blocklist',
            '--disable-quic',
            '--no-first-run',
            '--disable-background-networking',
            '--disable-component-update',
            '--disable-sync',
        ],
        ...options,
    });
    const close = async () => {
        await context.close();
        fs.rmSync(profile, {recursive: true, force: true});
    };
    return {context, close};
}
