// Vectors: the correction as an addition of arrows, w + η·y·x, in the plane of the two features.
import { drawArrow } from "./plane.js";

export function drawVectors(pen, { story, t, part, palette, width, height }) {
  const after = Array.from(story.line(t)).slice(1);
  const before = t > 0 ? Array.from(story.line(t - 1)).slice(1) : after;
  const now = after.map((value, i) => before[i] + part * (value - before[i]));
  const reach = Math.max(1e-300, ...[...before, ...after].map(Math.abs));
  const scale = (Math.min(width, height) / 2 - 22) / reach;
  const place = ([x, y]) => [width / 2 + scale * x, height / 2 - scale * y];
  const origin = [width / 2, height / 2];
  const axes = [[0, origin[1], width, origin[1]], [origin[0], 0, origin[0], height]];
  pen.strokes(axes, { stroke: palette.faint, width: 1 });
  if (t > 0) {
    const colour = story.answers[story.corrected(t)] > 0 ? palette.yes : palette.no;
    drawArrow(pen, origin, place(before), { stroke: palette.soft, width: 2 });
    drawArrow(pen, place(before), place(now), { stroke: colour, width: 3 });
  }
  drawArrow(pen, origin, place(now), { stroke: palette.ink, width: 3 });
  pen.circles([origin], 3, { fill: palette.ink });
}
