// Plane: the picture of the examples with regions, lines, w, the update and the proof, drawn on a
// canvas or as SVG.
import {
  areaOf,
  around,
  colorOf,
  drawArrow,
  drawMarks,
  MARKS,
  RHOMB,
  SQUARE,
  textStyle,
} from "./drawing.js";
import { clipped, pixelEdges, planesAt, radiusFor, regionsOf, ticks } from "./geometry.js";
import { format } from "./numbers.js";

// Draw a scene {story, t, part, frame, palette, wrong, proof}. `part` is the progress of the
// animation from w(t − 1) to w(t), from 0 to 1; `copyPoints` copies the examples if they are drawn
// already.
export function drawPlane(pen, given, copyPoints) {
  const planes = planesAt(given);
  const { story, frame, palette } = given;
  const r = radiusFor(story.points.length, frame);
  const scene = { ...given, r, places: story.points.map((point) => frame.at(point)), occupied: [] };
  drawRegions(pen, scene, planes);
  drawGrid(pen, scene);
  if (scene.proof) drawProofBelow(pen, scene);
  drawLines(pen, scene, planes);
  if (copyPoints) copyPoints();
  else drawPoints(pen, story, frame, palette);
  drawNames(pen, scene, planes);
  drawRings(pen, scene, planes);
  if (scene.proof) drawProofAbove(pen, scene);
}

// Draw the examples and labels of the axes, which are the same at every t.
export function drawPoints(pen, story, frame, palette) {
  drawLabels(pen, story, frame, palette);
  const places = MARKS.map(() => []);
  story.points.forEach((point, n) => places[story.mark(n)].push(frame.at(point)));
  drawMarks(pen, places, radiusFor(story.points.length, frame), palette);
}

function drawRegions(pen, { story, frame, palette }, planes) {
  const corners = frame.corners();
  const there = (polygon) => polygon.map((point) => frame.at(point));
  pen.polygon(there(corners), { fill: palette.paper });
  if (!planes) return;
  regionsOf(planes, corners, story.json.zero > 0).forEach((region, place) =>
    pen.polygon(there(region), { fill: areaOf(palette, story.markOf(place)) }),
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
    pen.text(format(x), frame.x(x), height - 8, { ...style, align: "center" });
  for (const y of up.filter((value) => inside(frame.y(value), height)))
    pen.text(format(y), 8, frame.y(y) - 4, style);
  pen.text(story.names[0], width - 10, height - 8 - 1.4 * size, {
    ...style,
    align: "right",
    weight: 600,
  });
  pen.text(story.names[1], 8, size + 8, { ...style, weight: 600 });
  drawLegend(pen, story, frame, palette, { ...style, weight: 600, align: "right" });
}

// Draw the legend at the right, as near to the top as it covers no examples. Labels without names
// are shown by their signs.
function drawLegend(pen, story, frame, palette, style) {
  const { labels } = story;
  if (!labels) return;
  const two = labels.length === 2;
  const plain = two && labels[1] === "○" && labels[0] === "×" ? ["no, −1", "yes, +1"] : labels;
  const lines = plain.map((name, place) => {
    const { sign } = MARKS[story.markOf(place)];
    const short = name.length > 24 ? `${name.slice(0, 23)}…` : name;
    return [name === sign ? sign : `${sign} ${short}`, story.markOf(place)];
  });
  if (two) lines.reverse();
  const [x, top, row] = [frame.width - 10, style.size + 8, 1.35 * style.size];
  const places = story.points.map((point) => frame.at(point));
  const apart = 3 * radiusFor(places.length, frame); // a sign nearer to examples looks like one
  let [first, least] = [top, Infinity];
  for (let y = top; y < 0.7 * frame.height && least > 0; y += 0.1 * frame.height) {
    const boxes = lines.map(([text], i) =>
      boxOf(text, { x, y: y + i * row, align: "right" }, style.size),
    );
    const covered = boxes.reduce((sum, box) => sum + coveredBy(box, places, apart), 0);
    if (covered < least) [first, least] = [y, covered];
  }
  lines.forEach(([text, mark], i) =>
    pen.text(text, x, first + i * row, { ...style, fill: colorOf(palette, mark) }),
  );
}

// Draw the line before the update, the line of the pocket, and the current line with w.
function drawLines(pen, { story, t, frame, palette }, planes) {
  const draw = (some, style) => {
    for (const ends of pixelEdges(frame, some)) pen.lines(ends, style);
  };
  if (t > 0) draw(story.planes(t - 1), { stroke: palette.soft, width: 1.75, dash: [3, 6] });
  const pocket = story.pocketAt(t);
  if (pocket) draw(story.planes(pocket.t), { stroke: palette.pocket, width: 3.5, dash: [12, 6] });
  if (!planes) return;
  const style = { stroke: palette.ink, width: 2.5 };
  draw(planes, style);
  const arrow = arrowOfW(frame, planes);
  if (arrow) drawArrow(pen, ...arrow, style);
}

// Return both ends of the arrow w, from the line to the side of yes; null if there is no line.
function arrowOfW(frame, planes) {
  const [ends] = planes.length === 1 ? pixelEdges(frame, planes) : [];
  if (!ends) return null;
  const [[x1, y1], [x2, y2]] = ends;
  const [dx, dy] = [planes[0][1] / frame.kx, -planes[0][2] / frame.ky];
  const [ux, uy] = [y2 - y1, x1 - x2];
  const length = Math.hypot(ux, uy) || 1;
  const side = ux * dx + uy * dy >= 0 ? 1 : -1;
  const reach = 0.085 * Math.min(frame.width, frame.height) + 12;
  const from = [(x1 + x2) / 2, (y1 + y2) / 2];
  return [from, [from[0] + (side * reach * ux) / length, from[1] + (side * reach * uy) / length]];
}

// Draw the names of w and of the lines.
function drawNames(pen, scene, planes) {
  const { story, t, frame, palette } = scene;
  const n = story.updatedRow(t);
  if (n !== null) {
    const [[x, y], ring] = [scene.places[n], ringOf(scene.r)];
    scene.occupied.push({ left: x - ring, end: x + ring, top: y - ring, foot: y + ring });
  }
  const arrow = planes && arrowOfW(frame, planes);
  if (arrow) drawName(pen, scene, "w", placesAround(arrow[1], 8), textStyle(palette));
  const pocket = story.pocketAt(t);
  const alongLine = (name, line, fill) => {
    const style = { ...textStyle(palette, 0.85), fill };
    drawName(pen, scene, name, placesAlong(line, 8), style);
  };
  const [kept] = pocket ? pixelEdges(frame, story.planes(pocket.t)) : [];
  if (kept) alongLine("pocket", kept, palette.pocket);
  const best = scene.proof && !story.many && story.fewest;
  const [line] = best ? pixelEdges(frame, [best.line]) : [];
  if (line) alongLine("fewest mistakes", line, palette.mark);
}

const ringOf = (r) => 2.6 * Math.max(6, r); // around the example of the update

// Draw a ring around each misclassified example, unless w is 0, and around the example of the
// update.
function drawRings(pen, { story, t, places, r, palette, wrong }, planes) {
  const misclassified = planes ? wrong.map((n) => places[n]) : [];
  pen.circles(misclassified, 1.75 * r, { stroke: palette.mark, width: Math.max(1, r / 5) });
  const n = story.updatedRow(t);
  if (n !== null) pen.circles([places[n]], ringOf(r), { stroke: palette.ink, width: 3 });
}

// The proof of "separable" is the widest band, with the examples on its edges. Otherwise it is the
// examples in conflict, with their multipliers and the point that both convex hulls contain.

function drawProofBelow(pen, scene) {
  const { story, frame, palette } = scene;
  const verdict = story.verdict;
  if (!verdict || story.many) return;
  if (verdict.name === "separable" && verdict.line && story.flat) drawBand(pen, scene);
  for (const found of story.fewest ? pixelEdges(frame, [story.fewest.line]) : [])
    pen.lines(found, { stroke: palette.mark, width: 2, dash: [2, 6] });
  const conflict = verdict.conflicts[0];
  if (!conflict) return;
  for (const sign of [1, -1]) {
    const members = conflict.rows.filter((n) => story.targets[n] === sign);
    const shape = hull(members.map((n) => story.points[n])).map((point) => frame.at(point));
    const color = sign > 0 ? palette.yes : palette.no;
    pen.polygon(shape, { fill: color, opacity: 0.14 });
    pen.polygon(shape, { stroke: color, width: 3 });
  }
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

function drawProofAbove(pen, scene) {
  const { story, frame, places, palette } = scene;
  const verdict = story.verdict;
  if (!verdict) return;
  const r = Math.max(5, scene.r);
  const held = story.many ? verdict.pairs.map(([n]) => n) : verdict.support;
  const marked = story.many || verdict.name === "separable" ? held : [];
  const square = { stroke: palette.pocket, width: 2.5 };
  for (const n of marked) pen.polygon(around(places[n], SQUARE, 1.9 * r), square);
  const conflict = verdict.conflicts[0];
  if (!conflict) return;
  const style = textStyle(palette, 0.9);
  const [x, y] = conflict.common ? frame.at(conflict.common) : [0, 0];
  if (conflict.common) {
    const above = { x, y: y - 3 * r, align: "center" };
    drawName(pen, scene, "in both hulls", [above, { ...above, y: y + 4.4 * r }], style);
  }
  conflict.rows.slice(0, 8).forEach((n, i) => {
    const [px, py] = places[n];
    // The sides that face away from the common point come first.
    const [right, below] = [px >= x, py >= y];
    const near = [2, 4].flatMap((far) => placesAround([px, py], far * r, right, below));
    drawName(pen, scene, `λ = ${multiplier(conflict, i)}`, near, style);
  });
  if (!conflict.common) return;
  const rhomb = around([x, y], RHOMB, 2.1 * r);
  pen.polygon(rhomb, { stroke: palette.paper, width: 6 });
  pen.polygon(rhomb, { stroke: palette.ink, width: 3 });
}

// Write a multiplier as a share of all, as Python does; the shares of each label sum to one half.
export function multiplier(conflict, i) {
  return format(conflict.shares[i] / 2, 3);
}

// Write a name at the best of several places: inside the picture, over no other name, and over as
// few examples as possible. Of equally good places the first is used.
function drawName(pen, { frame, places: examples, r, occupied }, text, places, style) {
  let [best, least] = [null, Infinity];
  for (const place of places) {
    const box = boxOf(text, place, style.size);
    const { left, end, top, foot } = box;
    const outside = left < 0 || top < 0 || end > frame.width || foot > frame.height;
    const over = occupied.filter((other) => overlap(box, other)).length;
    const cost = 1e6 * outside + 1e4 * over + coveredBy(box, examples, r);
    if (cost < least) [best, least] = [{ ...place, box }, cost];
    if (cost === 0) break;
  }
  occupied.push(best.box);
  pen.text(text, best.x, best.y, { ...style, align: best.align });
}

// Return places for a name at the corners of a point, beginning with one of them, and beside it.
function placesAround([x, y], away, right = true, below = false) {
  const sides = [
    [right, below],
    [right, !below],
    [!right, below],
    [!right, !below],
  ];
  const corners = sides.map(([east, south]) => ({
    x: x + (east ? away : -away),
    y: y + (south ? 0.8 * away + 10 : -0.8 * away),
    align: east ? "left" : "right",
  }));
  const beside = [1, -1].map((side) => ({
    x: x + 1.5 * side * away,
    y: y + 5,
    align: side > 0 ? "left" : "right",
  }));
  return [...corners, ...beside];
}

// Return places for a name on both sides of a line, beginning near its lower end.
function placesAlong(ends, away) {
  const [[x1, y1], [x2, y2]] = [...ends].sort((p, q) => q[1] - p[1]);
  return Array.from({ length: 9 }, (_, k) => 0.16 + 0.085 * k).flatMap((part) => {
    const [x, y] = [x1 + part * (x2 - x1), y1 + part * (y2 - y1)];
    return [
      { x: x + away, y: y + 4, align: "left" },
      { x: x - away, y: y + 4, align: "right" },
      { x, y: y - away, align: "center" },
    ];
  });
}

// Estimate the box that a text covers.
function boxOf(text, { x, y, align }, size) {
  const width = (0.58 * text.length + 0.35) * size; // a single w is wider than most letters
  const left = x - { left: 0, center: width / 2, right: width }[align];
  return { left, end: left + width, top: y - 0.85 * size, foot: y + 0.25 * size };
}

// Count the examples inside a box or nearer to it than r.
function coveredBy({ left, end, top, foot }, examples, r) {
  let count = 0;
  for (const [x, y] of examples)
    if (x > left - r && x < end + r && y > top - r && y < foot + r) count += 1;
  return count;
}

function overlap(a, b) {
  return a.left < b.end && b.left < a.end && a.top < b.foot && b.top < a.foot;
}

// Return the corners of the convex hull, by Andrew's monotone chain.
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
