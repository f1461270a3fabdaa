// Plane: the examples, the line, both half-planes, w and the correction, drawn once for a canvas
// and for SVG alike.
import { drawProofAbove, drawProofBelow } from "./drawnproof.js";
import { clipped, pixelEnds, radiusFor, ticks } from "./frame.js";
import { say } from "./numbers.js";

// A scene is {story, t, part, frame, palette, wrong, proof, ghost}; `part` from 0 to 1 is how far
// the correction that leads to t has gone.
export function drawPlane(pen, scene, layPoints) {
  const line = lineOf(scene);
  drawHalfPlanes(pen, scene, line);
  drawGrid(pen, scene);
  if (scene.proof) drawProofBelow(pen, scene);
  drawOldLine(pen, scene);
  drawPocketLine(pen, scene);
  if (line) drawLine(pen, scene, line);
  if (layPoints) layPoints();
  else drawPoints(pen, scene.story, scene.frame, scene.palette);
  drawPocketName(pen, scene);
  if (line) drawMistakes(pen, scene); // while w = 0 all are, and nothing is to be seen
  drawCorrected(pen, scene);
  if (scene.proof) drawProofAbove(pen, scene);
}

// What is the same at every t: the player draws it once and lays it over the rest.
export function drawPoints(pen, story, frame, palette) {
  drawLabels(pen, story, frame, palette);
  const r = radiusFor(story.points.length, frame);
  const [yes, no] = [[], []];
  story.points.forEach(([x, y], n) => {
    const [px, py] = [frame.x(x), frame.y(y)];
    if (story.answers[n] > 0) yes.push([px, py]);
    else
      no.push(
        [px - 0.8 * r, py - 0.8 * r, px + 0.8 * r, py + 0.8 * r],
        [px - 0.8 * r, py + 0.8 * r, px + 0.8 * r, py - 0.8 * r],
      );
  });
  const width = Math.max(1.2, r / 3);
  pen.circles(yes, r * 0.9, { stroke: palette.yes, width, fill: palette.paper });
  pen.strokes(no, { stroke: palette.paper, width: width + 2.5 });
  pen.strokes(no, { stroke: palette.no, width: width * 1.15 });
}

// The line on its way from w(t − 1) to w(t); null while all weights are zero.
function lineOf({ story, t, part }) {
  const now = story.line(t);
  let line = Array.from(now);
  if (part < 1 && t > 0) {
    const before = story.line(t - 1);
    line = line.map((value, i) => before[i] + part * (value - before[i]));
  }
  return line[1] || line[2] || line[0] ? line : null;
}

function drawHalfPlanes(pen, { frame, palette }, line) {
  const corners = frame.corners();
  const there = (polygon) => polygon.map(([x, y]) => [frame.x(x), frame.y(y)]);
  pen.polygon(there(corners), { fill: palette.paper });
  if (!line) return;
  const opposite = line.map((value) => -value);
  pen.polygon(there(clipped(corners, line)), { fill: palette.yesArea });
  pen.polygon(there(clipped(corners, opposite)), { fill: palette.noArea });
}

function drawGrid(pen, { story, frame, palette }) {
  const { width, height } = frame;
  const grid = { stroke: palette.faint, width: 1 };
  const [across, up] = marks(story, frame);
  pen.strokes(
    across.map((x) => [frame.x(x), 0, frame.x(x), height]),
    grid,
  );
  pen.strokes(
    up.map((y) => [0, frame.y(y), width, frame.y(y)]),
    grid,
  );
}

// An axis without a name has no numbers either.
function marks({ names }, { box, width, height }) {
  return [
    ticks(box.left, box.right, Math.min(8, width / 110)),
    names[1] ? ticks(box.bottom, box.top, Math.min(8, height / 90)) : [],
  ];
}

function drawLabels(pen, story, frame, palette) {
  const { width, height } = frame;
  const size = Math.max(11, Math.min(palette.size * 0.75, 20));
  const style = { size, font: palette.font, fill: palette.soft, halo: palette.paper };
  const [across, up] = marks(story, frame);
  across
    .slice(1, -1)
    .forEach((x) => pen.text(say(x), frame.x(x), height - 8, { ...style, align: "center" }));
  up.slice(1, -1).forEach((y) => pen.text(say(y), 8, frame.y(y) - 4, style));
  pen.text(story.names[0], width - 10, height - 8 - 1.4 * size, {
    ...style,
    align: "right",
    weight: 600,
  });
  pen.text(story.names[1], 8, size + 8, { ...style, weight: 600 });
  drawLegend(pen, story, frame, palette, { ...style, weight: 600, align: "right" });
}

// What the two signs mean; Python's own labels are the signs themselves.
function drawLegend(pen, story, { width }, palette, style) {
  const [no, yes] = story.labels || [];
  if (yes === undefined) return;
  const plain = yes === "○" && no === "×";
  const lines = [
    [`○ ${plain ? "yes, +1" : shortName(yes)}`, palette.yes],
    [`× ${plain ? "no, −1" : shortName(no)}`, palette.no],
  ];
  lines.forEach(([text, fill], i) =>
    pen.text(text, width - 10, (1 + 1.35 * i) * style.size + 8, { ...style, fill }),
  );
}

function shortName(text) {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

function drawLine(pen, scene, line) {
  const { frame, palette } = scene;
  const found = pixelEnds(frame, line);
  if (!found) return;
  pen.lines(found, { stroke: palette.ink, width: 2.5 });
  drawNormal(pen, scene, line, found);
}

// w is drawn on its line, pointing to where the answer is yes.
function drawNormal(pen, { frame, palette }, line, [[x1, y1], [x2, y2]]) {
  const [dx, dy] = [line[1] / frame.kx, -line[2] / frame.ky];
  const [ux, uy] = [y2 - y1, x1 - x2];
  const length = Math.hypot(ux, uy) || 1;
  const side = ux * dx + uy * dy >= 0 ? 1 : -1;
  const reach = 0.085 * Math.min(frame.width, frame.height) + 12;
  const from = [(x1 + x2) / 2, (y1 + y2) / 2];
  const to = [from[0] + (side * reach * ux) / length, from[1] + (side * reach * uy) / length];
  drawArrow(pen, from, to, { stroke: palette.ink, width: 2.5 });
  pen.text("w", to[0] + 8, to[1] - 6, {
    size: palette.size,
    font: palette.font,
    weight: 700,
    fill: palette.ink,
    halo: palette.paper,
  });
}

export function drawArrow(pen, from, to, style) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(dx, dy);
  if (length < 1) return;
  const head = Math.min(11, 0.6 * length);
  const [ux, uy] = [dx / length, dy / length];
  const base = [to[0] - head * ux, to[1] - head * uy];
  const wing = 0.45 * head;
  pen.lines([from, base], style);
  pen.polygon(
    [to, [base[0] - wing * uy, base[1] + wing * ux], [base[0] + wing * uy, base[1] - wing * ux]],
    { fill: style.stroke },
  );
}

function drawOldLine(pen, { story, t, frame, palette, ghost }) {
  if (t === 0 || ghost === false) return;
  const found = pixelEnds(frame, story.line(t - 1));
  if (found) pen.lines(found, { stroke: palette.soft, width: 1.75, dash: [3, 6] });
}

function drawPocketLine(pen, { story, t, frame, palette }) {
  const pocket = story.pocketAt(t);
  const found = pocket && pixelEnds(frame, story.line(pocket.t));
  if (!found) return;
  pen.lines(found, { stroke: palette.pocket, width: 3.5, dash: [12, 6] });
}

function drawPocketName(pen, { story, t, frame, palette }) {
  const pocket = story.pocketAt(t);
  const found = pocket && pixelEnds(frame, story.line(pocket.t));
  if (!found) return;
  const [[x1, y1], [x2, y2]] = found;
  const [x, y] = [x1 + 0.84 * (x2 - x1), y1 + 0.84 * (y2 - y1)];
  const room = Math.min(Math.max(x, 40), frame.width - 40);
  pen.text("pocket", room, Math.min(Math.max(y - 9, 20), frame.height - 12), {
    size: palette.size * 0.85,
    font: palette.font,
    weight: 700,
    align: "center",
    fill: palette.pocket,
    halo: palette.paper,
  });
}

function drawMistakes(pen, { story, frame, palette, wrong }) {
  const r = radiusFor(story.points.length, frame);
  const places = wrong.map((n) => [frame.x(story.points[n][0]), frame.y(story.points[n][1])]);
  pen.circles(places, r * 1.75, { stroke: palette.mark, width: Math.max(1, r / 5) });
}

function drawCorrected(pen, { story, t, frame, palette }) {
  const n = story.corrected(t);
  if (n === null) return;
  const r = Math.max(6, radiusFor(story.points.length, frame));
  const place = [frame.x(story.points[n][0]), frame.y(story.points[n][1])];
  pen.circles([place], r * 2.6, { stroke: palette.ink, width: 3 });
}
