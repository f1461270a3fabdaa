// Plane: the picture of the examples, the regions, the lines, w, the update and the proof, drawn
// with any pen.
import { areaOf, colorOf, drawArrow, drawMarks, MARKS, nameStyle } from "./drawing.js";
import { clipped, partsOf, pixelEdges, planesAt, radiusFor, ticks } from "./geometry.js";
import { say } from "./numbers.js";

// A scene is {story, t, part, frame, palette, wrong, proof}; `part`, from 0 to 1, is how far the
// update that leads to t has gone.
export function drawPlane(pen, scene, layPoints) {
  const planes = planesAt(scene);
  drawParts(pen, scene, planes);
  drawGrid(pen, scene);
  if (scene.proof) drawProofBelow(pen, scene);
  drawOldLine(pen, scene);
  drawPocketLine(pen, scene);
  if (planes) drawLine(pen, scene, planes);
  if (layPoints) layPoints();
  else drawPoints(pen, scene.story, scene.frame, scene.palette);
  drawPocketName(pen, scene);
  if (planes) drawMistakes(pen, scene); // while w = 0 all examples are mistakes
  drawUpdated(pen, scene);
  if (scene.proof) drawProofAbove(pen, scene);
}

// Draw what is the same at every t: the player does it once.
export function drawPoints(pen, story, frame, palette) {
  drawLabels(pen, story, frame, palette);
  const r = radiusFor(story.points.length, frame);
  const places = MARKS.map(() => []);
  story.points.forEach((point, n) => places[story.mark(n)].push(frame.at(point)));
  for (const mark of [1, 0, 2, 3, 4]) drawMarks(pen, places[mark], mark, r, palette);
}

function drawParts(pen, { story, frame, palette }, planes) {
  const corners = frame.corners();
  const there = (polygon) => polygon.map((point) => frame.at(point));
  pen.polygon(there(corners), { fill: palette.paper });
  if (!planes) return;
  partsOf(planes, corners, story.json.zero > 0).forEach((part, place) =>
    pen.polygon(there(part), { fill: areaOf(palette, story.markOf(place)) }),
  );
}

function drawGrid(pen, { story, frame, palette }) {
  const { width, height } = frame;
  const [across, up] = gridOf(story, frame);
  const grid = [
    ...across.map((x) => [frame.x(x), 0, frame.x(x), height]),
    ...up.map((y) => [0, frame.y(y), width, frame.y(y)]),
  ];
  pen.strokes(grid, { stroke: palette.faint, width: 1 });
}

// An axis without a name has no numbers either.
function gridOf({ names }, { box, width, height }) {
  const about = (length) => Math.min(8, Math.max(5, length / 110));
  return [
    ticks(box.left, box.right, about(width)),
    names[1] ? ticks(box.bottom, box.top, about(height)) : [],
  ];
}

function drawLabels(pen, story, frame, palette) {
  const { width, height } = frame;
  const size = Math.max(11, Math.min(palette.size * 0.75, 20));
  const style = { size, font: palette.font, fill: palette.soft, halo: palette.paper };
  const [across, up] = gridOf(story, frame);
  const inside = (place, end) => place > 3 * size && place < end - 3 * size;
  for (const x of across.filter((value) => inside(frame.x(value), width)))
    pen.text(say(x), frame.x(x), height - 8, { ...style, align: "center" });
  for (const y of up.filter((value) => inside(frame.y(value), height)))
    pen.text(say(y), 8, frame.y(y) - 4, style);
  pen.text(story.names[0], width - 10, height - 8 - 1.4 * size, {
    ...style,
    align: "right",
    weight: 600,
  });
  pen.text(story.names[1], 8, size + 8, { ...style, weight: 600 });
  drawLegend(pen, story, frame, palette, { ...style, weight: 600, align: "right" });
}

// Draw the legend; labels of the page that have no names are their signs.
function drawLegend(pen, story, { width }, palette, style) {
  const { labels } = story;
  if (!labels) return;
  const two = labels.length === 2;
  const plain = two && labels[1] === "○" && labels[0] === "×" ? ["no, −1", "yes, +1"] : labels;
  const lines = plain.map((name, place) => {
    const { sign } = MARKS[story.markOf(place)];
    return [name === sign ? sign : `${sign} ${shortName(name)}`, story.markOf(place)];
  });
  (two ? lines.reverse() : lines).forEach(([text, mark], i) =>
    pen.text(text, width - 10, (1 + 1.35 * i) * style.size + 8, {
      ...style,
      fill: colorOf(palette, mark),
    }),
  );
}

function shortName(text) {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

function drawLine(pen, scene, planes) {
  const { frame, palette } = scene;
  const edges = pixelEdges(frame, planes);
  for (const found of edges) pen.lines(found, { stroke: palette.ink, width: 2.5 });
  if (planes.length === 1 && edges.length) drawNormal(pen, scene, planes[0], edges[0]);
}

// Draw w on its line, pointing to the side of yes.
function drawNormal(pen, { frame, palette }, line, [[x1, y1], [x2, y2]]) {
  const [dx, dy] = [line[1] / frame.kx, -line[2] / frame.ky];
  const [ux, uy] = [y2 - y1, x1 - x2];
  const length = Math.hypot(ux, uy) || 1;
  const side = ux * dx + uy * dy >= 0 ? 1 : -1;
  const reach = 0.085 * Math.min(frame.width, frame.height) + 12;
  const from = [(x1 + x2) / 2, (y1 + y2) / 2];
  const to = [from[0] + (side * reach * ux) / length, from[1] + (side * reach * uy) / length];
  drawArrow(pen, from, to, { stroke: palette.ink, width: 2.5 });
  pen.text("w", to[0] + 8, to[1] - 6, nameStyle(palette));
}

function drawOldLine(pen, { story, t, frame, palette }) {
  if (t === 0) return;
  for (const found of pixelEdges(frame, story.planes(t - 1)))
    pen.lines(found, { stroke: palette.soft, width: 1.75, dash: [3, 6] });
}

function drawPocketLine(pen, { story, t, frame, palette }) {
  const pocket = story.pocketAt(t);
  for (const found of pocket ? pixelEdges(frame, story.planes(pocket.t)) : [])
    pen.lines(found, { stroke: palette.pocket, width: 3.5, dash: [12, 6] });
}

function drawPocketName(pen, { story, t, frame, palette }) {
  const pocket = story.pocketAt(t);
  const [found] = pocket ? pixelEdges(frame, story.planes(pocket.t)) : [];
  if (!found) return;
  const [[x1, y1], [x2, y2]] = found;
  const [x, y] = [x1 + 0.84 * (x2 - x1), y1 + 0.84 * (y2 - y1)];
  const room = Math.min(Math.max(x, 40), frame.width - 40);
  const style = { ...nameStyle(palette, 0.85), align: "center", fill: palette.pocket };
  pen.text("pocket", room, Math.min(Math.max(y - 9, 20), frame.height - 12), style);
}

function drawMistakes(pen, { story, frame, palette, wrong }) {
  const r = radiusFor(story.points.length, frame);
  const places = wrong.map((n) => frame.at(story.points[n]));
  pen.circles(places, r * 1.75, { stroke: palette.mark, width: Math.max(1, r / 5) });
}

function drawUpdated(pen, { story, t, frame, palette }) {
  const n = story.updatedRow(t);
  if (n === null) return;
  const r = Math.max(6, radiusFor(story.points.length, frame));
  pen.circles([frame.at(story.points[n])], r * 2.6, { stroke: palette.ink, width: 3 });
}

// The proof: the widest band and the examples on its edges, or the examples in conflict with their
// multipliers and the point that both convex hulls contain.

function drawProofBelow(pen, scene) {
  const { story, frame, palette } = scene;
  const verdict = story.verdict;
  if (!verdict || story.many) return;
  if (verdict.name === "separable" && verdict.line && story.flat) drawBand(pen, scene);
  if (story.fewest) drawFewest(pen, scene);
  const part = verdict.blocking[0];
  if (!part) return;
  for (const sign of [1, -1]) {
    const members = part.rows.filter((n) => story.answers[n] === sign);
    const shape = hull(members.map((n) => story.points[n])).map((point) => frame.at(point));
    const color = sign > 0 ? palette.yes : palette.no;
    pen.polygon(shape, { fill: color, opacity: 0.14 });
    pen.polygon(shape, { stroke: color, width: 3 });
  }
}

// Draw the line with the fewest mistakes, with its name where it leaves the picture.
function drawFewest(pen, { story, frame, palette }) {
  const [found] = pixelEdges(frame, [story.fewest.line]);
  if (!found) return;
  pen.lines(found, { stroke: palette.mark, width: 2, dash: [2, 6] });
  const [x, y] = found[0][1] > found[1][1] ? found[0] : found[1];
  const align = x < frame.width / 2 ? "left" : "right";
  const style = { ...nameStyle(palette, 0.85), fill: palette.mark, align };
  const place = [x + (align === "left" ? 8 : -8), Math.min(y, frame.height) - 2.4 * palette.size];
  pen.text("fewest mistakes", ...place, style);
}

function drawBand(pen, { story, frame, palette }) {
  const { line, margin } = story.verdict;
  const [c, a, b] = line;
  const inside = clipped(clipped(frame.corners(), [margin + c, a, b]), [margin - c, -a, -b]);
  pen.polygon(
    inside.map((point) => frame.at(point)),
    { fill: palette.band, opacity: 0.4 },
  );
  for (const [shift, dash] of [[margin], [-margin], [0, [2, 5]]])
    for (const ends of pixelEdges(frame, [[c + shift, a, b]]))
      pen.lines(ends, { stroke: palette.pocket, width: 1.5, dash });
}

function drawProofAbove(pen, { story, frame, palette }) {
  const verdict = story.verdict;
  if (!verdict) return;
  const r = Math.max(5, radiusFor(story.points.length, frame));
  const at = (n) => frame.at(story.points[n]);
  const held = story.many ? verdict.pairs.map(([n]) => n) : verdict.support;
  const squares = (story.many || verdict.name === "separable" ? held : []).map(at);
  for (const [x, y] of squares) {
    const s = 1.9 * r;
    pen.polygon(
      [
        [x - s, y - s],
        [x + s, y - s],
        [x + s, y + s],
        [x - s, y + s],
      ],
      { stroke: palette.pocket, width: 2.5 },
    );
  }
  const part = verdict.blocking[0];
  if (!part) return;
  const style = nameStyle(palette, 0.9);
  const [x, y] = part.common ? frame.at(part.common) : [0, 0];
  const taken = part.common ? [boxOf("in both hulls", x, y - 3 * r, "center", style.size)] : [];
  part.rows.slice(0, 8).forEach((n, i) => {
    const text = `λ = ${multiplier(part, i)}`;
    const { px, py, align, box } = freePlace(text, at(n), { x, y, r, frame, taken, style });
    taken.push(box);
    pen.text(text, px, py, { ...style, align });
  });
  if (!part.common) return;
  const k = 2.1 * r;
  const rhomb = [
    [x, y - k],
    [x + k, y],
    [x, y + k],
    [x - k, y],
  ];
  pen.polygon(rhomb, { stroke: palette.paper, width: 6 });
  pen.polygon(rhomb, { stroke: palette.ink, width: 3 });
  pen.text("in both hulls", x, y - 1.4 * k, { ...style, align: "center" });
}

// Write a multiplier as its share of all, as Python does; those of either side sum to one half.
export function multiplier(part, i) {
  return say(part.shares[i] / 2, 3);
}

// Find a place for a text beside a point where it covers no other, starting on the side that faces
// away from the common point.
function freePlace(text, [px, py], { x, y, r, frame, taken, style }) {
  const [right, below] = [px >= x, py >= y];
  const places = [1, 2.2].flatMap((far) =>
    [
      [right, below],
      [right, !below],
      [!right, below],
      [!right, !below],
    ].map(([east, south]) => {
      const align = east ? "left" : "right";
      const [tx, ty] = [px + (east ? 2 : -2) * r, py + (south ? 2.2 + far : -0.8 - far) * r];
      return { px: tx, py: ty, align, box: boxOf(text, tx, ty, align, style.size) };
    }),
  );
  const inside = ({ left, end, top, foot }) =>
    left >= 0 && top >= 0 && end <= frame.width && foot <= frame.height;
  const free = ({ box }) => inside(box) && !taken.some((other) => overlap(box, other));
  return places.find(free) || places[0];
}

// Estimate the box of a text.
function boxOf(text, x, y, align, size) {
  const width = 0.58 * size * text.length;
  const left = x - { left: 0, center: width / 2, right: width }[align];
  return { left, end: left + width, top: y - 0.85 * size, foot: y + 0.25 * size };
}

function overlap(a, b) {
  return a.left < b.end && b.left < a.end && a.top < b.foot && b.top < a.foot;
}

function hull(points) {
  const sorted = [...points].sort((p, q) => p[0] - q[0] || p[1] - q[1]);
  if (sorted.length < 3) return sorted;
  const turn = (o, p, q) => (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0]);
  const half = (list) => {
    const chain = [];
    for (const p of list) {
      while (chain.length > 1 && turn(chain.at(-2), chain.at(-1), p) <= 0) chain.pop();
      chain.push(p);
    }
    return chain.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.reverse())];
}
