// What was compared, the recommendation, and how the numbers are defined.
import {byId, duration, el, grouped, isNumber, sentence, short} from './dom.js';
import WORDS from './words.json';

function showFacts(report) {
    const {input, clips, methods} = report,
        facts = [];
    const add = (what, value) => facts.push(el('li', {}, el('b', {}, value), ` ${what}`));
    if (isNumber(input.vertices)) add('vertices', grouped(input.vertices));
    if (isNumber(input.triangles)) add('triangles', grouped(input.triangles));
    if (isNumber(input.joints)) add('joints', grouped(input.joints));
    if (isNumber(input.size_m)) add('large', `${short(input.size_m)} m`);
    const frames = clips.reduce((sum, clip) => sum + clip.count, 0);
    if (clips.length) add(`frames of ${clips.map((c) => c.name).join(', ')}, ${short(report.fps)} a second`, grouped(frames));
    const ran = methods.filter((m) => m.frames.length || m.positions).length;
    add(ran === methods.length ? (ran === 1 ? 'method' : 'methods') : `of ${methods.length} methods ran`, grouped(ran));
    byId('facts').replaceChildren(...facts);
}

function showAdvice(report) {
    const {method, summary, reasons} = report.advice;
    if (!method && !summary) return;
    byId('advice-method').textContent = method || '–';
    byId('advice-summary').replaceChildren(...sentence(summary));
    byId('advice-reasons').replaceChildren(...reasons.map((reason) => el('li', {}, ...sentence(reason))));
    byId('advice').hidden = false;
}

// What is to be known of the report as a whole: a size that was guessed, frames that the player does without.
function showNotes(report) {
    if (!report.notes.length) return;
    byId('facts').after(el('ul.told', {}, ...report.notes.map((note) => el('li.note', {}, ...sentence(note)))));
}

export function showHeader(report) {
    document.title = `${report.input.name}: skinning methods compared`;
    byId('name').textContent = report.input.name;
    showFacts(report);
    showNotes(report);
    showAdvice(report);
}

export function showFooter(report) {
    byId('definitions').replaceChildren(
        el('h2', {}, 'How the numbers are defined'),
        el('dl', {}, ...WORDS.definitions.flatMap(([name, text]) => [el('dt', {}, name), el('dd', {}, text)])),
    );
    const {processor, cores} = report.machine,
        words = [`Made by Supple ${report.version}`];
    if (isNumber(report.threads)) words.push(`${report.threads} ${report.threads === 1 ? 'thread' : 'threads'}`);
    if (processor) words.push(String(processor) + (isNumber(cores) ? `, ${cores} ${cores === 1 ? 'core' : 'cores'}` : ''));
    if (isNumber(report.elapsed)) words.push(`in ${duration(1000 * report.elapsed)}`);
    byId('origin').replaceChildren(words.join(' · '), ...(report.command ? [el('br'), el('code', {}, report.command)] : []));
}
