// Regions: the parts of a picture in which a label is answered, and the lines between them. A plane
// [c, a, b] is the score c + a·x + b·y; one alone answers yes where it is positive.
import { clipped } from "./frame.js";

// The planes of a story on their way from w(t − 1) to w(t); null while no two scores differ.
export function planesAt({ story, t, part = 1 }) {
  const now = story.planes(t);
  const before = part < 1 && t > 0 ? story.planes(t - 1) : now;
  const planes = now.map((plane, k) =>
    Array.from(plane, (value, i) => before[k][i] + part * (value - before[k][i])),
  );
  return bare(planes) ? null : planes;
}

function bare(planes) {
  const [first, ...others] = planes;
  return others.length ? others.every((plane) => same(plane, first)) : first.every((v) => v === 0);
}

const same = (p, q) => p.every((value, i) => value === q[i]);
const minus = (p, q) => p.map((value, i) => value - q[i]);

// The part of each label within corners: of no and yes, or of every label. Equal scores are the
// first label's, or with `last` the last one's.
export function partsOf(planes, corners, last = false) {
  if (planes.length === 1) {
    const [yes] = planes;
    return [clipped(corners, minus([0, 0, 0], yes)), clipped(corners, yes)];
  }
  return planes.map((plane, k) => {
    const equal = planes.some((other, r) => r !== k && r > k === last && same(plane, other));
    return equal ? [] : planes.reduce((left, other) => clipped(left, minus(plane, other)), corners);
  });
}

// Where these parts meet: the two ends of each line.
function edgesOf(planes, corners) {
  if (planes.length === 1) return sideOn(clipped(corners, planes[0]), planes[0]);
  const parts = partsOf(planes, corners);
  return planes.flatMap((plane, k) =>
    planes.slice(k + 1).flatMap((other) => sideOn(parts[k], minus(plane, other))),
  );
}

// The side of a polygon that lies on a line, if one does.
function sideOn(polygon, [c, a, b]) {
  if (!(a || b)) return [];
  const reach = Math.max(...polygon.map(([x, y]) => Math.abs(a * x) + Math.abs(b * y)));
  const near = 1e-9 * (reach + Math.abs(c));
  const on = polygon.filter(([x, y]) => Math.abs(c + a * x + b * y) <= near);
  if (on.length < 2) return [];
  const along = ([x, y]) => b * x - a * y;
  on.sort((p, q) => along(p) - along(q));
  return [[on[0], on.at(-1)]];
}

// The same in pixels.
export function pixelEdges(frame, planes) {
  return edgesOf(planes, frame.corners()).map((ends) => ends.map((end) => frame.at(end)));
}
