// What the parts of the page share: the clip, the frame, which methods are shown. Parts listen and are told what changed.
import {clamp} from './dom.js';

export class State {
    constructor(report) {
        this.report = report;
        this.clip = report.clips[0] ?? {index: 0, name: '', first: 0, count: 1, offset: 0};
        this.frame = 0; // within the clip
        this.shown = new Set();
        this.listeners = [];
    }

    listen(listener) {
        this.listeners.push(listener);
    }
    tell(what) {
        for (const listener of this.listeners) listener(what);
    }
    setFrame(frame) {
        const next = clamp(Math.round(frame) || 0, 0, this.clip.count - 1);
        if (next === this.frame) return;
        this.frame = next;
        this.tell('frame');
    }
    setClip(index, frame = 0) {
        const clip = this.report.clips[index] ?? this.clip;
        if (clip === this.clip) return this.setFrame(frame);
        this.clip = clip;
        this.frame = clamp(Math.round(frame) || 0, 0, clip.count - 1);
        this.tell('clip');
    }
    toggle(method, on = !this.shown.has(method)) {
        if (on) this.shown.add(method);
        else this.shown.delete(method);
        this.tell('shown');
    }
}
