// Starts the page: reads the data, lets each part show its own, and goes on where one fails.
import {byId, el} from './dom.js';
import {readReport} from './data.js';
import {giveLooks} from './colours.js';
import {State} from './state.js';
import {showFooter, showHeader} from './header.js';
import {showTable} from './table.js';
import {showStrips} from './strips.js';
import {showCurves} from './curves.js';
import {showPlayer} from './player.js';

function notice(place, text) {
    place.append(el('p.notice', {role: 'alert'}, text));
}

// One part may fail, for a damaged blob say, and the others still stand.
function part(place, show, ...parameters) {
    try {
        return show(place, ...parameters);
    } catch (error) {
        console.error(error);
        notice(place, `This part could not be shown: ${error.message}`);
        return null;
    }
}

function start() {
    let report;
    try {
        report = readReport();
    } catch (error) {
        byId('name').textContent = 'This report is damaged';
        return notice(byId('top'), `Its data cannot be read: ${error.message}`);
    }
    if (!report) {
        byId('name').textContent = 'No report';
        return notice(byId('top'), 'This is the empty page that `supple compare` fills: run `supple compare IN -o report.html`.');
    }
    giveLooks(report.methods);
    const state = new State(report);
    byId('content').hidden = false;
    part(byId('top'), () => showHeader(report));
    part(byId('footer'), () => showFooter(report));
    const player = part(byId('player'), showPlayer, report, state);
    const go = (clip, frame) => {
        player?.stop();
        state.setClip(clip, frame);
        byId('player').scrollIntoView({block: 'nearest'});
    };
    part(byId('table'), showTable, report);
    part(byId('curves'), showCurves, report, state);
    part(byId('strips'), showStrips, report, go);
    window.suppleReport = {state, player}; // for tests and the curious
}

start();
