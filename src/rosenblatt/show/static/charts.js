// Charts: ‖w(t)‖² between its bounds, the mistakes at each t, and the update as a sum of arrows.
// For a report: the bounds on logarithmic axes, and a histogram of distances from the line.
import { colorOf, drawArrow } from "./drawing.js";
import { Frame, ticks } from "./geometry.js";
import { format, formatBound } from "./numbers.js";

function chartFrame(size, right, top) {
  const text = Math.max(11, Math.min(size.palette.size * 0.72, 20));
  const widest = Math.max(...ticks(0, top, 3).map((y) => format(y, 3).length));
  const edge = { left: 12 + 0.62 * text * widest, right: 12, top: 10, bottom: 2 * text };
  const frame = new Frame({ left: 0, right, bottom: 0, top }, size.width, size.height, edge);
  return { frame, text };
}

function drawAxes(pen, { frame, text }, palette) {
  const { box, edge, width, height } = frame;
  const style = { size: text, font: palette.font, fill: palette.soft };
  const floor = height - edge.bottom;
  for (const y of ticks(0, box.top, 3)) {
    pen.strokes([[edge.left, frame.y(y), width - edge.right, frame.y(y)]], {
      stroke: palette.faint,
      width: 1,
    });
    pen.text(format(y, 3), edge.left - 6, frame.y(y) + 0.35 * text, { ...style, align: "right" });
  }
  for (const x of ticks(0, box.right, 4).filter(Number.isInteger)) {
    const end = frame.x(x) > width - 2.5 * text;
    pen.text(format(x), end ? width - 2 : frame.x(x), floor + 1.3 * text, {
      ...style,
      align: end ? "right" : "center",
    });
  }
  pen.strokes([[edge.left, floor, width - edge.right, floor]], { stroke: palette.soft, width: 1 });
}

// Return the chart of ‖w(t)‖² between its bounds, least(t) ≤ ‖w(t)‖² ≤ most(t). Its function
// `below` draws what is the same at every t, and `above` draws the rest.
export function squeezeChart(size, story) {
  const s = story.squeeze;
  const last = Math.max(1, story.T);
  // If the bound is near, the two curves are drawn until they meet.
  const right = s.bound !== null && s.bound <= 4 * last ? Math.max(last, s.bound) : last;
  const most = (t) => s.squared0 + t * s.most;
  const least = (t) => Math.max(0, s.first + t * s.least) ** 2;
  const chart = chartFrame(size, right, 1.05 * Math.max(most(right), least(right)));
  const { frame } = chart;
  const steps = Array.from({ length: 81 }, (_, k) => (right * k) / 80);
  const upper = steps.map((t) => [frame.x(t), frame.y(most(t))]);
  const lower = steps.map((t) => [frame.x(t), frame.y(least(t))]);
  const points = thinned(s.squared, frame);
  return {
    below(pen) {
      const { palette } = size;
      pen.polygon([...upper, ...lower.slice().reverse()], { fill: palette.band, opacity: 0.35 });
      drawAxes(pen, chart, palette);
      pen.lines(upper, { stroke: palette.no, width: 2, dash: [7, 4] });
      pen.lines(lower, { stroke: palette.yes, width: 2, dash: [2, 4] });
    },
    above(pen, t) {
      drawUpTo(pen, points, t, { stroke: size.palette.ink, width: 2.5 });
      dot(pen, frame, t, s.squared[t], size.palette.ink);
    },
  };
}

// Return the chart of the mistakes of w(t), and of the weights in the pocket if there are any.
export function mistakesChart(size, story) {
  const last = Math.max(1, story.T);
  const top = story.counts.reduce((a, b) => Math.max(a, b), 1);
  const chart = chartFrame(size, last, 1.08 * top);
  const { frame } = chart;
  const points = thinned(story.counts, frame, story.every);
  return {
    below(pen) {
      drawAxes(pen, chart, size.palette);
    },
    above(pen, t) {
      const { palette } = size;
      drawUpTo(pen, points, t, { stroke: palette.soft, width: 1.5 });
      if (story.pocket) {
        const stairs = [];
        for (const [at, mistakes] of story.pocket) {
          if (at > t) break;
          if (stairs.length) stairs.push([frame.x(at), stairs.at(-1)[1]]);
          stairs.push([frame.x(at), frame.y(mistakes)]);
        }
        stairs.push([frame.x(t), stairs.at(-1)[1]]);
        pen.lines(stairs, { stroke: palette.pocket, width: 3 });
      }
      dot(pen, frame, t, story.count(t), palette.ink);
    },
  };
}

function dot(pen, frame, t, value, color) {
  pen.circles([[frame.x(t), frame.y(value)]], 4.5, { fill: color });
}

// Return one point per t or, if there are more t than pixels, the minimum and maximum per pixel.
function thinned(values, frame, every = 1) {
  const columns = Math.max(50, Math.round(frame.width));
  const points = [];
  const each = Math.ceil(values.length / columns);
  for (let begin = 0; begin < values.length; begin += each) {
    const end = Math.min(values.length, begin + each);
    let [low, high] = [begin, begin];
    for (let t = begin; t < end; t++) {
      if (values[t] < values[low]) low = t;
      if (values[t] > values[high]) high = t;
    }
    for (const t of low < high ? [low, high] : low > high ? [high, low] : [low]) {
      points.push([every * t, frame.x(every * t), frame.y(values[t])]);
    }
  }
  return points;
}

function drawUpTo(pen, points, t, style) {
  const path = [];
  for (const [at, x, y] of points) {
    if (at > t) break;
    path.push([x, y]);
  }
  if (path.length > 1) pen.lines(path, style);
}

// Return the frame, text style and text height of a picture of a report.
function reportFrame(box, { width, height, palette }) {
  const text = Math.max(11, 0.8 * palette.size);
  const edge = { left: 2 * text, right: 2 * text, top: text, bottom: 2.2 * text };
  const style = { size: text, font: palette.font, fill: palette.ink, align: "center" };
  return { frame: new Frame(box, width, height, edge), style, foot: height - 0.6 * text };
}

// Draw ‖w(t)‖² on logarithmic axes, on which both bounds are straight lines and meet at R²/ρ².
export function drawLogSqueeze(pen, size, story) {
  const { palette } = size;
  const s = story.squeeze;
  const last = Math.max(story.T, 2, 1.2 * s.bound);
  const most = (t) => t * s.most;
  const least = (t) => (t * s.least) ** 2;
  const run = Array.from(s.squared, (value, t) => [t, value]).filter(([t, v]) => t > 0 && v > 0);
  const low = run.reduce((a, [, value]) => Math.min(a, value), least(1));
  const high = Math.max(most(last), least(last));
  const box = { left: 0, right: Math.log(last), bottom: Math.log(low), top: Math.log(high) };
  const { frame, style, foot } = reportFrame(box, size);
  const at = (t, value) => [frame.x(Math.log(t)), frame.y(Math.log(value))];
  const bound = (of, stroke, dash) =>
    pen.lines([at(1, of(1)), at(last, of(last))], { stroke, width: 2, dash });
  bound(most, palette.no, [7, 4]);
  bound(least, palette.yes, [2, 4]);
  pen.lines(
    run.map(([t, value]) => at(t, value)),
    { stroke: palette.ink, width: 2.5 },
  );
  const [x] = at(s.bound, most(1));
  pen.lines(
    [
      [x, frame.edge.top],
      [x, size.height - frame.edge.bottom],
    ],
    { stroke: palette.soft, width: 1.5, dash: [2, 4] },
  );
  const middle = Math.sqrt(last);
  const name = (text, fill, of, lift) => {
    const [px, py] = at(middle, of(middle));
    pen.text(text, px, py + lift * style.size, { ...style, fill, halo: palette.paper });
  };
  name("t·R²", palette.no, most, -0.8);
  name("t²·ρ²", palette.yes, least, 1.6);
  pen.text("t = 1", frame.x(0), foot, style);
  const text = `R²/ρ² = ${formatBound(s.bound)}`;
  pen.text(text, Math.min(x, size.width - 4.5 * style.size), foot, style);
}

// Draw a histogram of the signed distances from the line, with one color per label.
export function drawMargins(pen, size, { yes, no, far }) {
  const { palette } = size;
  const top = yes.reduce((a, count, k) => Math.max(a, count + no[k]), 1);
  const { frame, style, foot } = reportFrame({ left: -1, right: 1, bottom: 0, top }, size);
  const step = 2 / yes.length;
  const bar = (k, low, high, fill) => {
    const [left, right] = [frame.x(-1 + k * step), frame.x(-1 + (k + 1) * step) - 1];
    const [floor, roof] = [frame.y(low), frame.y(high)];
    const corners = [left, right, right, left].map((x, i) => [x, i < 2 ? floor : roof]);
    if (high > low) pen.polygon(corners, { fill });
  };
  yes.forEach((count, k) => {
    bar(k, 0, no[k], palette.no);
    bar(k, no[k], no[k] + count, palette.yes);
  });
  const zero = [0, top].map((y) => [frame.x(0), frame.y(y)]);
  pen.lines(zero, { stroke: palette.ink, width: 1.5, dash: [4, 3] });
  pen.text("0", frame.x(0), foot, style);
  pen.text(`−${far}`, frame.x(-1), foot, style);
  pen.text(far, frame.x(1), foot, style);
}

// Draw the update as a sum of arrows, w + η·y·x, in the plane of the two features.
export function drawVectors(pen, scene) {
  const { story, t, part, palette, width, height } = scene;
  if (story.many) return drawLabelVectors(pen, scene);
  const after = Array.from(story.planes(t)[0]).slice(1);
  const before = t > 0 ? Array.from(story.planes(t - 1)[0]).slice(1) : after;
  const now = after.map((value, i) => before[i] + part * (value - before[i]));
  const place = fitting([[0, 0], before, after], width, height);
  const origin = drawCross(pen, scene, place);
  if (t > 0) {
    const color = colorOf(palette, story.mark(story.updatedRow(t)));
    drawArrow(pen, origin, place(before), { stroke: palette.soft, width: 2 });
    drawArrow(pen, place(before), place(now), { stroke: color, width: 3 });
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
  const old = t < 1000 ? `w(${t - 1})` : "w(t−1)";
  const [dx, dy] = [0, 1].map((i) => Math.abs(place(before)[i] - place(after)[i]));
  const apart = dy > 1.2 * size || dx > 8 + 0.6 * size * old.length; // else the names would overlap
  if (t > 0 && part === 1 && apart) name(old, place(before), palette.soft);
  if (now.some((value) => value !== 0) && part === 1)
    name(t < 1000 ? `w(${t})` : "w(t)", place(after), palette.ink);
  return undefined;
}

// Draw the w of every label: an update adds x to the w of the right label, and subtracts it from
// the w of the competing class.
function drawLabelVectors(pen, scene) {
  const { story, t, part, palette, width, height } = scene;
  const after = story.planes(t).map(([, a, b]) => [a, b]);
  const before = t > 0 ? story.planes(t - 1).map(([, a, b]) => [a, b]) : after;
  const place = fitting([[0, 0], ...before, ...after], width, height);
  const origin = drawCross(pen, scene, place);
  after.forEach((to, k) => {
    const now = to.map((value, i) => before[k][i] + part * (value - before[k][i]));
    const stroke = colorOf(palette, story.markOf(k));
    if (to.some((value, i) => value !== before[k][i])) {
      drawArrow(pen, origin, place(before[k]), { stroke: palette.soft, width: 2 });
      pen.lines([place(before[k]), place(now)], { stroke, width: 2, dash: [2, 5] });
    }
    drawArrow(pen, origin, place(now), { stroke, width: 3 });
  });
  pen.circles([origin], 3, { fill: palette.ink });
}

// Draw two faint lines through the origin, and return its place.
function drawCross(pen, { palette, width, height }, place) {
  const [x, y] = place([0, 0]);
  const axes = [
    [0, y, width, y],
    [x, 0, x, height],
  ];
  pen.strokes(axes, { stroke: palette.faint, width: 1 });
  return [x, y];
}

// Return a function that places arrows in the middle of the picture, with room for names.
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
