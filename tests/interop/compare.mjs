// compare.mjs OURS.png THEIRS.png OUT.png: two pictures of the same frame side by side, on one ground, centred.
import fs from 'node:fs';
import {PNG} from 'pngjs';

const [ours, theirs, out] = process.argv.slice(2);
const GAP = 8;
const pictures = [ours, theirs].map((file) => PNG.sync.read(fs.readFileSync(file)));
const height = Math.max(...pictures.map((p) => p.height));
const width = pictures.reduce((sum, p) => sum + p.width, GAP * (pictures.length - 1));
const sheet = new PNG({width, height});
sheet.data.fill(255);
let x = 0;
for (const picture of pictures) {
    PNG.bitblt(picture, sheet, 0, 0, picture.width, picture.height, x, (height - picture.height) >> 1);
    x += picture.width + GAP;
}
fs.writeFileSync(out, PNG.sync.write(sheet));
