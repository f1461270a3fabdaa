// Presets: examples to begin with, each made from a seed.
import { Chance } from "./chance.js";

const TARGET = [0.5, 1.2, -1]; // a line that crosses the picture
const SIZE = Math.hypot(TARGET[1], TARGET[2]);
const round = (value, places) => Number(value.toFixed(places));
const target = ([x, y]) => TARGET[0] + TARGET[1] * x + TARGET[2] * y;
const sign = (x) => (target(x) > 0 ? 1 : -1);

export const PRESETS = { separable: clear, narrow, noisy, xor, ring, credit, three };

// {points, answers, names, labels}; the same seed makes the same. Answers are the signs of marks.js.
export function preset(name, seed) {
  return { names: ["x1", "x2"], labels: ["×", "○"], ...PRESETS[name](new Chance(seed)) };
}

function answered(points) {
  return { points, answers: points.map(sign) };
}

// Examples of the target that are not nearer to it than a number.
function apart(chance, count, least) {
  const points = [];
  while (points.length < count) {
    const point = [0, 1].map(() => round(chance.uniform(-0.95, 0.95), 2));
    if (Math.abs(target(point)) / SIZE >= least) points.push(point);
  }
  return points;
}

// A few examples with room between the answers.
function clear(chance) {
  return answered(apart(chance, 24, 0.08));
}

// Examples that a line answers with hardly any room: three close to it decide how long it takes.
function narrow(chance) {
  const wide = apart(chance, 30, 0.08);
  const across = [TARGET[1] / SIZE, TARGET[2] / SIZE];
  const near = [
    [-0.6, 0.02],
    [0.1, -0.02],
    [0.7, 0.02],
  ].map(([along, out]) => [
    round((out - TARGET[0] / SIZE) * across[0] - along * across[1], 3),
    round((out - TARGET[0] / SIZE) * across[1] + along * across[0], 3),
  ]);
  return answered([...wide, ...near]);
}

// Examples of a line with some answers turned around.
function noisy(chance) {
  const { points, answers } = answered(apart(chance, 40, 0.05));
  for (const n of chance.permutation(40).slice(0, 4)) answers[n] *= -1;
  return { points, answers };
}

// The four examples that no line can answer.
function xor() {
  const points = [
    [-0.5, -0.5],
    [0.5, 0.5],
    [-0.5, 0.5],
    [0.5, -0.5],
  ];
  return { points, answers: [-1, -1, 1, 1] };
}

// One answer in the middle, the other around it.
function ring(chance) {
  const at = (radius, angle) => [radius * Math.cos(angle), radius * Math.sin(angle)];
  const middle = Array.from({ length: 16 }, () =>
    at(0.42 * Math.sqrt(chance.random()), chance.uniform(0, 2 * Math.PI)),
  );
  const around = Array.from({ length: 24 }, (_, k) =>
    at(chance.uniform(0.72, 0.95), (2 * Math.PI * k) / 24),
  );
  const points = [...middle, ...around].map((point) => point.map((v) => round(v, 2)));
  return { points, answers: points.map((_, n) => (n < 16 ? 1 : -1)) };
}

// Applicants for credit by salary and debt, both in thousands; age and years in the job count too
// and are not seen. The bank's rule and its applicants are those of `rosenblatt.read.credit`.
function credit(chance) {
  const [points, answers] = [[], []];
  while (points.length < 60) {
    const age = 18 + chance.below(53);
    const salary = round(Math.exp(3.6 + 0.45 * normal(chance)), 1);
    const years = Math.min(round(-6 * Math.log(1 - chance.random()), 1), age - 17);
    const debt = round(-18 * Math.log(1 - chance.random()), 1);
    const score = age + 2 * salary + 3 * years - 4 * debt - 60;
    if (Math.abs(score) < 2) continue;
    points.push([salary, debt]);
    answers.push(score > 0 ? 1 : -1);
  }
  const names = ["salary, thousands", "debt, thousands"];
  return { points, answers, names, labels: ["refused", "approved"] };
}

// Three clouds with room between them: a label, and a w, for each.
function three(chance) {
  const middles = [
    [-0.5, -0.5],
    [0.5, -0.4],
    [0.3, 0.5],
  ];
  const points = Array.from({ length: 36 }, (_, n) =>
    middles[n % 3].map((v) => round(v + chance.uniform(-0.42, 0.42), 2)),
  );
  return { points, answers: points.map((_, n) => [-1, 1, 2][n % 3]), labels: ["×", "○", "△"] };
}

// A number of the normal distribution, by Box and Muller.
function normal(chance) {
  const radius = Math.sqrt(-2 * Math.log(1 - chance.random()));
  return radius * Math.cos(2 * Math.PI * chance.random());
}
