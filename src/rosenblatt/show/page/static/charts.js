// Charts: what grows along with t, ‖w(t)‖² in its squeeze and the mistakes of w(t) and the pocket.
import { Frame, ticks } from "./frame.js";
import { say } from "./numbers.js";

function chartFrame(size, right, top) {
  const text = Math.max(11, Math.min(size.palette.size * 0.72, 20));
  const widest = Math.max(...ticks(0, top, 3).map((y) => say(y, 3).length));
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
    pen.text(say(y, 3), edge.left - 6, frame.y(y) + 0.35 * text, { ...style, align: "right" });
  }
  for (const x of ticks(0, box.right, 4).filter(Number.isInteger)) {
    const end = frame.x(x) > width - 2.5 * text;
    pen.text(say(x), end ? width - 2 : frame.x(x), floor + 1.3 * text, {
      ...style,
      align: end ? "right" : "center",
    });
  }
  pen.strokes([[edge.left, floor, width - edge.right, floor]], { stroke: palette.soft, width: 1 });
}

// The squeeze: least(t) ≤ ‖w(t)‖² ≤ most(t), the trace between them up to t.
export function squeezeChart(size, story) {
  const s = story.squeeze;
  const last = Math.max(1, story.T);
  // Where the bound is near, the two bounds are drawn until they meet.
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
      growing(pen, points, frame, t, { stroke: size.palette.ink, width: 2.5 });
      dot(pen, frame, t, s.squared[t], size.palette.ink);
    },
  };
}

// The mistakes of w(t), and of the pocket where there is one.
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
      growing(pen, points, frame, t, { stroke: palette.soft, width: 1.5 });
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

function dot(pen, frame, t, value, colour) {
  pen.circles([[frame.x(t), frame.y(value)]], 4.5, { fill: colour });
}

// One point for each t; with many more t than pixels the least and the most of each pixel.
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

function growing(pen, points, frame, t, style) {
  const path = [];
  for (const [at, x, y] of points) {
    if (at > t) break;
    path.push([x, y]);
  }
  if (path.length > 1) pen.lines(path, style);
}
