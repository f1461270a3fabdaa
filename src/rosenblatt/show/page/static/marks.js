// Marks: how the examples of up to five labels are drawn, told apart by their shapes without colour.
// A point of the page has a sign as its answer: -1 for ×, 1 for ○, then 2 for △, 3 for □, 4 for ◆.

export const MARKS = [
  { sign: "×", letter: "x", name: "Cross", names: "crosses", colour: "no" },
  { sign: "○", letter: "o", name: "Circle", names: "circles", colour: "yes" },
  { sign: "△", letter: "t", name: "Triangle", names: "triangles", colour: "third" },
  { sign: "□", letter: "s", name: "Square", names: "squares", colour: "fourth" },
  { sign: "◆", letter: "d", name: "Diamond", names: "diamonds", colour: "fifth" },
];

// The answer of the examples that a tool adds; null for a tool that adds none.
export function addedBy(tool) {
  const mark = MARKS.findIndex(({ letter }) => letter === tool);
  return mark < 0 ? null : answerOf(mark);
}

export const markOf = (answer) => (answer < 0 ? 0 : answer);
export const answerOf = (mark) => mark || -1;
export const colourOf = (palette, mark) => palette[MARKS[mark].colour];
export const areaOf = (palette, mark) => palette[`${MARKS[mark].colour}Area`];

// Examples as they are learnt from: of two labels -1 and 1, of more their places. `names` are what
// the labels are called, by mark. Labels without examples are not there to be learnt.
export function labelled(points, names) {
  const used = new Set(points.map((point) => markOf(point[2])));
  const some = [...used].sort((a, b) => a - b);
  const marks = some.length > 1 ? some : [0, some[0] || 1];
  const place = (point) => marks.indexOf(markOf(point[2]));
  const answers = points.map((point) => (marks.length > 2 ? place(point) : 2 * place(point) - 1));
  return { answers, marks, labels: marks.map((mark) => names[mark] || MARKS[mark].sign) };
}

// All examples of one mark, as strokes of a pen.
export function drawMarks(pen, places, mark, r, palette) {
  const stroke = colourOf(palette, mark);
  const width = Math.max(1.2, r / 3);
  const style = { stroke, width, fill: palette.paper };
  if (mark === 1) return pen.circles(places, r * 0.9, style);
  if (mark > 1) {
    const fill = mark === 4 ? stroke : palette.paper;
    for (const [x, y] of places)
      pen.polygon(
        CORNERS[mark].map(([a, b]) => [x + a * r, y + b * r]),
        { ...style, fill },
      );
    return undefined;
  }
  const strokes = places.flatMap(([x, y]) => [
    [x - 0.8 * r, y - 0.8 * r, x + 0.8 * r, y + 0.8 * r],
    [x - 0.8 * r, y + 0.8 * r, x + 0.8 * r, y - 0.8 * r],
  ]);
  pen.strokes(strokes, { stroke: palette.paper, width: width + 2.5 });
  return pen.strokes(strokes, { stroke, width: width * 1.15 });
}

const CORNERS = {
  2: [
    [0, -1.1],
    [1, 0.75],
    [-1, 0.75],
  ],
  3: [
    [-0.8, -0.8],
    [0.8, -0.8],
    [0.8, 0.8],
    [-0.8, 0.8],
  ],
  4: [
    [0, -1],
    [1, 0],
    [0, 1],
    [-1, 0],
  ],
};
