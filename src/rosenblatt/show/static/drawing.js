// Drawing: canvases as sharp as the screen, pens that draw the same on a canvas and as SVG text,
// the colors of the style sheet, and the marks of the labels.

// A canvas that calls a function when its size has changed.
export class Sheet {
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.width = 0;
    this.height = 0;
    this.watcher = new ResizeObserver(() => this.measure() && changed());
    this.watcher.observe(canvas);
    this.measure();
  }

  measure() {
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    const ratio = window.devicePixelRatio || 1;
    if (width === this.width && height === this.height && ratio === this.ratio) return false;
    [this.width, this.height, this.ratio] = [width, height, ratio];
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    return true;
  }

  // Clear the canvas, and return its context in CSS pixels.
  clean() {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    return this.context;
  }

  // Return a canvas of the same size, to be drawn on once and copied to this one by `copy`.
  newLayer() {
    const canvas = document.createElement("canvas");
    canvas.width = this.canvas.width;
    canvas.height = this.canvas.height;
    const context = canvas.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    return { canvas, context };
  }

  copy(canvas) {
    this.context.drawImage(canvas, 0, 0, this.width, this.height);
  }

  end() {
    this.watcher.disconnect();
  }
}

// A pen has the methods polygon, lines, circles, strokes and text. A style is {fill, stroke, width,
// dash, opacity}; points are [x, y] in pixels.

export class CanvasPen {
  constructor(context) {
    this.context = context;
  }

  polygon(points, style) {
    this.trace(points, true);
    this.finish(style);
  }

  lines(points, style) {
    this.trace(points, false);
    this.finish(style);
  }

  // Many circles or strokes of the same style are one path, which is fast.
  circles(centers, radius, style) {
    const c = this.context;
    c.beginPath();
    for (const [x, y] of centers) {
      c.moveTo(x + radius, y);
      c.arc(x, y, radius, 0, 2 * Math.PI);
    }
    this.finish(style);
  }

  strokes(segments, style) {
    const c = this.context;
    c.beginPath();
    for (const [x1, y1, x2, y2] of segments) {
      c.moveTo(x1, y1);
      c.lineTo(x2, y2);
    }
    this.finish(style);
  }

  text(text, x, y, style) {
    const c = this.context;
    c.font = `${style.weight || 400} ${style.size}px ${style.font}`;
    c.textAlign = style.align || "left";
    c.textBaseline = "alphabetic";
    if (style.halo) {
      c.lineJoin = "round";
      c.lineWidth = 4;
      c.setLineDash([]);
      c.strokeStyle = style.halo;
      c.strokeText(text, x, y);
    }
    c.fillStyle = style.fill;
    c.fillText(text, x, y);
  }

  trace(points, closed) {
    const c = this.context;
    c.beginPath();
    points.forEach(([x, y], i) => (i ? c.lineTo(x, y) : c.moveTo(x, y)));
    if (closed) c.closePath();
  }

  finish(style) {
    const c = this.context;
    c.globalAlpha = style.opacity ?? 1;
    if (style.fill) {
      c.fillStyle = style.fill;
      c.fill();
    }
    if (style.stroke) {
      c.strokeStyle = style.stroke;
      c.lineWidth = style.width || 1;
      c.lineCap = "round";
      c.lineJoin = "round";
      c.setLineDash(style.dash || []);
      c.stroke();
    }
    c.globalAlpha = 1;
  }
}

export class SvgPen {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.parts = [];
  }

  polygon(points, style) {
    if (points.length) this.path(svgPath(points) + "Z", style);
  }

  lines(points, style) {
    if (points.length) this.path(svgPath(points), style);
  }

  circles(centers, radius, style) {
    for (const [x, y] of centers) {
      const place = `cx="${tenth(x)}" cy="${tenth(y)}" r="${tenth(radius)}"`;
      this.parts.push(`<circle ${place}${svgStyle(style)}/>`);
    }
  }

  strokes(segments, style) {
    const path = segments
      .map(([x1, y1, x2, y2]) => `M${tenth(x1)} ${tenth(y1)}L${tenth(x2)} ${tenth(y2)}`)
      .join("");
    if (path) this.path(path, style);
  }

  text(text, x, y, style) {
    const anchor = { center: "middle", right: "end" }[style.align] || "start";
    const halo = style.halo
      ? ` stroke="${style.halo}" stroke-width="4" stroke-linejoin="round" paint-order="stroke"`
      : "";
    this.parts.push(
      `<text x="${tenth(x)}" y="${tenth(y)}" font-family="system-ui, sans-serif" ` +
        `font-size="${style.size}" font-weight="${style.weight || 400}" ` +
        `text-anchor="${anchor}" fill="${style.fill}"${halo}>${escaped(text)}</text>`,
    );
  }

  path(path, style) {
    this.parts.push(`<path d="${path}"${svgStyle(style)}/>`);
  }

  finished(title) {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" ` +
      `width="${this.width}" height="${this.height}" role="img">` +
      `<title>${escaped(title)}</title>\n${this.parts.join("\n")}\n</svg>\n`
    );
  }
}

function tenth(number) {
  return String(Math.round(10 * number) / 10);
}

function svgPath(points) {
  return points.map(([x, y], i) => `${i ? "L" : "M"}${tenth(x)} ${tenth(y)}`).join("");
}

function svgStyle(style) {
  const dash = style.dash ? ` stroke-dasharray="${style.dash.join(" ")}"` : "";
  const stroke = style.stroke
    ? ` stroke="${style.stroke}" stroke-width="${style.width || 1}" ` +
      `stroke-linecap="round" stroke-linejoin="round"${dash}`
    : "";
  const opacity = style.opacity === undefined ? "" : ` opacity="${style.opacity}"`;
  return ` fill="${style.fill || "none"}"${stroke}${opacity}`;
}

function escaped(text) {
  return text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
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

// Colors of the pictures; the style sheet names them --paper, --yes-area and so on.
const COLORS =
  "paper ink soft faint yes no third fourth fifth yesArea noArea thirdArea fourthArea fifthArea " +
  "pocket band mark";

export function isDark(theme) {
  if (theme !== "auto") return theme === "dark";
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}

// Return the text style of names in a picture: bold, with a halo to be legible over lines.
export function textStyle(palette, scale = 1) {
  const { font, ink, paper } = palette;
  return { size: scale * palette.size, font, weight: 700, fill: ink, halo: paper };
}

export function paletteOf(element) {
  const style = getComputedStyle(element);
  const palette = {};
  for (const name of COLORS.split(" ")) {
    palette[name] = style.getPropertyValue(`--${name.replace("Area", "-area")}`).trim();
  }
  palette.font = style.fontFamily;
  palette.size = parseFloat(style.fontSize) || 16;
  return palette;
}

// How the examples of up to five labels are drawn: shapes and colors differ. The label of an
// example of the page is a number: -1 for ×, 1 for ○, 2 for △, 3 for □, 4 for ◆. Its mark is the
// position in this list.
export const MARKS = [
  { sign: "×", letter: "x", name: "Cross", names: "crosses", color: "no" },
  { sign: "○", letter: "o", name: "Circle", names: "circles", color: "yes" },
  { sign: "△", letter: "t", name: "Triangle", names: "triangles", color: "third" },
  { sign: "□", letter: "s", name: "Square", names: "squares", color: "fourth" },
  { sign: "◆", letter: "d", name: "Diamond", names: "diamonds", color: "fifth" },
];

// Return the label of the examples that a tool adds; null for a tool that adds none.
export function labelAddedBy(tool) {
  const mark = MARKS.findIndex(({ letter }) => letter === tool);
  return mark < 0 ? null : labelOf(mark);
}

export const markOf = (label) => (label < 0 ? 0 : label);
export const labelOf = (mark) => mark || -1;
export const colorOf = (palette, mark) => palette[MARKS[mark].color];
export const areaOf = (palette, mark) => palette[`${MARKS[mark].color}Area`];

// Return the labels of points as the algorithms take them: -1 and 1 or, for more than two labels,
// their positions. `names` are the names of the labels by mark. Labels without examples are left
// out.
export function labelled(points, names) {
  const used = new Set(points.map((point) => markOf(point[2])));
  const some = [...used].sort((a, b) => a - b);
  const marks = some.length > 1 ? some : [0, some[0] || 1];
  const place = (point) => marks.indexOf(markOf(point[2]));
  const targets = points.map((point) => (marks.length > 2 ? place(point) : 2 * place(point) - 1));
  return { targets, marks, labels: marks.map((mark) => names[mark] || MARKS[mark].sign) };
}

// Draw the examples of each mark at their places in pixels. All fills are drawn before all
// outlines, so that examples that overlap stay visible.
export function drawMarks(pen, places, r, palette) {
  const width = Math.max(1.2, r / 3);
  places.forEach((some, mark) => {
    const fill = mark === 4 ? colorOf(palette, mark) : palette.paper;
    const style = mark === 0 ? { stroke: palette.paper, width: width + 2.5 } : { fill };
    drawShapes(pen, some, mark, r, style);
  });
  places.forEach((some, mark) =>
    drawShapes(pen, some, mark, r, { stroke: colorOf(palette, mark), width }),
  );
}

function drawShapes(pen, places, mark, r, style) {
  if (mark === 0) {
    const k = 0.8 * r;
    const crosses = places.flatMap(([x, y]) => [
      [x - k, y - k, x + k, y + k],
      [x - k, y + k, x + k, y - k],
    ]);
    pen.strokes(crosses, style);
  } else if (mark === 1) pen.circles(places, 0.9 * r, style);
  else
    for (const place of places)
      pen.polygon(around(place, CORNERS[mark][0], CORNERS[mark][1] * r), style);
}

export const around = ([x, y], corners, r) => corners.map(([a, b]) => [x + a * r, y + b * r]);

const TRIANGLE = [
  [0, -1.1],
  [1, 0.75],
  [-1, 0.75],
];
export const SQUARE = [
  [-1, -1],
  [1, -1],
  [1, 1],
  [-1, 1],
];
export const RHOMB = [
  [0, -1],
  [1, 0],
  [0, 1],
  [-1, 0],
];
const CORNERS = { 2: [TRIANGLE, 1], 3: [SQUARE, 0.8], 4: [RHOMB, 1] };
