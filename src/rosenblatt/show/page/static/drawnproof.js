// Drawn proof: the widest band and who holds it, or the examples that block every line, with their
// multipliers and the point of both hulls.
import { clipped, radiusFor } from "./frame.js";
import { say } from "./numbers.js";
import { pixelEdges } from "./regions.js";
import { nameStyle } from "./theme.js";

export function drawProofBelow(pen, scene) {
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
    const colour = sign > 0 ? palette.yes : palette.no;
    pen.polygon(shape, { fill: colour, opacity: 0.14 });
    pen.polygon(shape, { stroke: colour, width: 3 });
  }
}

// The line that makes the fewest mistakes, named where it leaves the picture.
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

export function drawProofAbove(pen, { story, frame, palette }) {
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

// A multiplier as its share of all, as Python says it; those of either side sum to a half.
export function multiplier(part, i) {
  return say(part.shares[i] / 2, 3);
}

// Where a text beside a point covers no other: away from the common point first, where the hulls
// leave room.
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

// About where a text is drawn.
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
