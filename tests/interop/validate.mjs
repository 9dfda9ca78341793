// validate.mjs JOBS.json RESULTS.json: the Khronos validator on each job's output and, where it is a file, on its input.
import fs from 'node:fs';
import path from 'node:path';
import validator from 'gltf-validator';

const [jobsPath, resultsPath] = process.argv.slice(2);

// The errors of a file as "CODE at POINTER: message".
async function errors(file) {
    if (!file) return [];
    const report = await validator.validateBytes(new Uint8Array(fs.readFileSync(file)), {
        uri: path.basename(file),
        maxIssues: 0,
        externalResourceFunction: (uri) =>
            fs.promises.readFile(path.join(path.dirname(file), decodeURIComponent(uri))).then((b) => new Uint8Array(b)),
    });
    return report.issues.messages.filter((m) => m.severity === 0).map((m) => ({code: m.code, text: `${m.pointer}: ${m.message}`}));
}

const results = [];
for (const job of JSON.parse(fs.readFileSync(jobsPath))) {
    const known = new Set((await errors(job.input)).map((e) => e.code));
    for (const file of job.files) {
        const fresh = (await errors(file)).filter((e) => !known.has(e.code));
        results.push({name: job.name, file: path.basename(file), known: [...known], fresh: fresh.slice(0, 5), count: fresh.length});
    }
}
fs.writeFileSync(resultsPath, JSON.stringify(results));
