// compare.mjs OURS.png THEIRS.png OUT.png: two pictures of the same frame side by side. OURS is a contact sheet of one frame, of which
// the first view is taken.
import fs from 'node:fs';
import {PNG} from 'pngjs';

const [ours, theirs, out] = process.argv.slice(2);
const GAP = 8, VIEW = 100; // a run of rows or columns at least this long is a view, not a caption

// The first long run of places that are not paper, the colour of the sheet's corner.
function run(length, isPaper) {
    for (let first = 0, i = 0; i <= length; i++) {
        if (i < length && !isPaper(i)) continue;
        if (i - first >= VIEW) return [first, i - first];
        first = i + 1;
    }
    return [0, length];
}

function firstView(sheet) {
    const paper = (x, y) => [0, 1, 2].every((c) => Math.abs(sheet.data[4 * (y * sheet.width + x) + c] - sheet.data[c]) < 3);
    const middle = sheet.width >> 1;
    const [top, height] = run(sheet.height, (y) => paper(middle, y));
    const [left, width] = run(sheet.width, (x) => paper(x, top + (height >> 1)));
    const view = new PNG({width, height});
    PNG.bitblt(sheet, view, left, top, width, height, 0, 0);
    return view;
}

const pictures = [firstView(PNG.sync.read(fs.readFileSync(ours))), PNG.sync.read(fs.readFileSync(theirs))];
const height = Math.max(...pictures.map((p) => p.height));
const width = pictures.reduce((sum, p) => sum + p.width, GAP * (pictures.length - 1));
const both = new PNG({width, height});
both.data.fill(255);
let x = 0;
for (const picture of pictures) {
    PNG.bitblt(picture, both, 0, 0, picture.width, picture.height, x, (height - picture.height) >> 1);
    x += picture.width + GAP;
}
fs.writeFileSync(out, PNG.sync.write(both));
