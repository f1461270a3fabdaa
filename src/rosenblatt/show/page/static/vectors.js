// Vectors: the correction as an addition of arrows, w + η·y·x, in the plane of the two features.
import { colourOf } from "./marks.js";
import { drawArrow } from "./plane.js";

export function drawVectors(pen, scene) {
  const { story, t, part, palette, width, height } = scene;
  if (story.many) return drawCompass(pen, scene);
  const after = Array.from(story.planes(t)[0]).slice(1);
  const before = t > 0 ? Array.from(story.planes(t - 1)[0]).slice(1) : after;
  const now = after.map((value, i) => before[i] + part * (value - before[i]));
  const place = fitting([[0, 0], before, after], width, height);
  const origin = drawAxes(pen, scene, place);
  if (t > 0) {
    const colour = colourOf(palette, story.mark(story.corrected(t)));
    drawArrow(pen, origin, place(before), { stroke: palette.soft, width: 2 });
    drawArrow(pen, place(before), place(now), { stroke: colour, width: 3 });
  }
  drawArrow(pen, origin, place(now), { stroke: palette.ink, width: 3 });
  pen.circles([origin], 3, { fill: palette.ink });
  const size = Math.max(11, 0.75 * palette.size);
  const name = (text, at, fill) => {
    const away = at[0] < origin[0] ? -1 : 1;
    pen.text(text, at[0] + 8 * away, Math.min(height - 4, Math.max(size, at[1] + 0.35 * size)), {
      size,
      font: palette.font,
      weight: 600,
      fill,
      halo: palette.paper,
      align: away > 0 ? "left" : "right",
    });
  };
  const apart = Math.hypot(place(before)[0] - place(after)[0], place(before)[1] - place(after)[1]);
  if (t > 0 && part === 1 && apart > 1.3 * size)
    name(t < 1000 ? `w(${t - 1})` : "w(t−1)", place(before), palette.soft);
  if (now.some((value) => value !== 0) && part === 1)
    name(t < 1000 ? `w(${t})` : "w(t)", place(after), palette.ink);
  return undefined;
}

// The w of every label: a correction moves that of the right one by x, that of its rival by −x.
function drawCompass(pen, scene) {
  const { story, t, part, palette, width, height } = scene;
  const after = story.planes(t).map(([, a, b]) => [a, b]);
  const before = t > 0 ? story.planes(t - 1).map(([, a, b]) => [a, b]) : after;
  const place = fitting([[0, 0], ...before, ...after], width, height);
  const origin = drawAxes(pen, scene, place);
  after.forEach((to, k) => {
    const now = to.map((value, i) => before[k][i] + part * (value - before[k][i]));
    const stroke = colourOf(palette, story.markOf(k));
    if (to.some((value, i) => value !== before[k][i])) {
      drawArrow(pen, origin, place(before[k]), { stroke: palette.soft, width: 2 });
      pen.lines([place(before[k]), place(now)], { stroke, width: 2, dash: [2, 5] });
    }
    drawArrow(pen, origin, place(now), { stroke, width: 3 });
  });
  pen.circles([origin], 3, { fill: palette.ink });
}

// Two faint lines through 0, which is returned.
function drawAxes(pen, { palette, width, height }, place) {
  const [x, y] = place([0, 0]);
  const axes = [
    [0, y, width, y],
    [x, 0, x, height],
  ];
  pen.strokes(axes, { stroke: palette.faint, width: 1 });
  return [x, y];
}

// All arrows in the middle of the picture, with room at their ends for names.
function fitting(tips, width, height) {
  const [xs, ys] = [tips.map((tip) => tip[0]), tips.map((tip) => tip[1])];
  const middle = [(Math.min(...xs) + Math.max(...xs)) / 2, (Math.min(...ys) + Math.max(...ys)) / 2];
  const spans = [Math.max(...xs) - Math.min(...xs), Math.max(...ys) - Math.min(...ys)];
  const scale = Math.min(
    (width - 130) / (spans[0] || 1e-300),
    (height - 36) / (spans[1] || 1e-300),
  );
  return ([x, y]) => [width / 2 + scale * (x - middle[0]), height / 2 - scale * (y - middle[1])];
}
