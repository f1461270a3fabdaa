// Controls: functions that create elements; the slider, buttons and speed of the player.
import { colorOf } from "./drawing.js";
import { ticks } from "./geometry.js";
import { formatCount } from "./numbers.js";

// Create an element with attributes, event listeners (names with "on") and children.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Create a button, with a label if its text is not enough.
export function button(text, label, pressed, more = {}) {
  const named = { type: "button", "aria-label": label, title: label };
  return make("button", { ...named, ...more, onclick: pressed }, text);
}

// Create the icon of a button from one path in a box of 16 by 16.
function icon(path) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("width", "16");
  svg.setAttribute("height", "16");
  svg.setAttribute("aria-hidden", "true");
  shape.setAttribute("d", path);
  shape.setAttribute("fill", "currentColor");
  svg.append(shape);
  return svg;
}

const ICONS = {
  first: "M2 2h2.4v12H2zM14 2v12L5.5 8z",
  back: "M11.5 2v12L3 8z",
  play: "M4 2l10 6-10 6z",
  pause: "M3.5 2h3.2v12H3.5zM9.3 2h3.2v12H9.3z",
  last: "M11.6 2H14v12h-2.4zM2 2v12l8.5-6z",
};

export const SPEEDS = [0.5, 1, 2, 5, 20, 100, 1000]; // updates per second

// Return the action of each key in the player.
export function movesOf(player) {
  return {
    ArrowRight: () => player.step(),
    ArrowLeft: () => player.go(player.t - 1),
    Home: () => player.go(0),
    End: () => player.go(player.story.T),
  };
}

// Create the slider for t, the buttons that move through t, and the choice of speed.
export function transportOf(player) {
  const slider = make("input", {
    type: "range",
    min: 0,
    max: 0,
    step: 1,
    value: 0,
    "aria-label": "Update t",
    oninput: () => player.go(Number(slider.value)),
  });
  const marks = make("canvas", { class: "rb-marks", "aria-hidden": "true" });
  const first = button(icon(ICONS.first), "Back to the start", () => player.go(0));
  const back = button(icon(ICONS.back), "One update back", () => player.go(player.t - 1));
  const play = button("Play", "Play", () => (player.playing ? player.pause() : player.play()));
  const step = button("Step", "Step: make one update", () => player.step());
  const last = button(icon(ICONS.last), "To the last update", () => player.go(player.story.T));
  [play.className, step.className] = ["rb-play strong", "rb-step"];
  const speeds = SPEEDS.map((s) =>
    make("option", { value: s, selected: s === player.speed }, `${s} / s`),
  );
  const onchange = () => player.setSpeed(Number(speed.value));
  const label = "Speed, updates per second";
  const speed = make("select", { "aria-label": label, onchange }, ...speeds);
  const where = make("output", { class: "rb-where" });
  const transport = make(
    "div",
    { class: "rb-transport", role: "group", "aria-label": "Player" },
    make("div", { class: "rb-track" }, marks, slider),
    make("div", { class: "rb-buttons" }, first, back, play, step, last, where, speed),
  );
  return { transport, slider, marks, first, back, play, step, last, speed, where };
}

export function showPlaying(play, playing) {
  const name = playing ? "Pause" : "Play";
  play.replaceChildren(icon(playing ? ICONS.pause : ICONS.play), ` ${name}`);
  play.setAttribute("aria-label", name);
  play.title = name;
}

const APART = 3; // pixels between updates that can be distinguished
const THUMB = 16; // width of the slider's thumb: the scale begins and ends half of it further in

// Draw the scale above the slider: a mark for each update, epoch and change of the pocket, or round
// numbers if there are very many updates.
export function drawTimeline(sheet, story, palette) {
  const { width, height } = sheet;
  const { T } = story;
  const context = sheet.clean();
  if (T === 0 || width < 2 * THUMB) return;
  const place = (t) => THUMB / 2 + ((width - THUMB) * t) / T;
  const room = (width - THUMB) / T;
  const mark = (t, top, color, w) => {
    context.fillStyle = color;
    context.fillRect(place(t) - w / 2, top * height, w, (0.78 - top) * height);
  };
  if (room >= APART) {
    for (let t = 1; t <= T; t++) {
      const color = colorOf(palette, story.mark(story.updatedRow(t)));
      mark(t, 0.38, color, Math.min(3, 0.55 * room));
    }
    if (story.ends.length < width / 3) for (const t of story.ends) mark(t, 0.16, palette.soft, 1);
  } else {
    const size = Math.max(11, Math.min(0.7 * palette.size, 0.45 * height));
    context.font = `${size}px ${palette.font}`;
    context.fillStyle = palette.soft;
    for (const t of ticks(0, T, Math.min(10, width / (6 * size)))) {
      const end = place(t) > width - 2 * size;
      context.textAlign = t === 0 ? "left" : end ? "right" : "center";
      context.fillText(formatCount(t), t === 0 ? 0 : end ? width : place(t), size);
      context.fillRect(place(t) - 0.5, 0.55 * height, 1, 0.2 * height);
    }
    context.fillRect(place(0), 0.74 * height, place(T) - place(0), 1);
  }
  context.fillStyle = palette.pocket;
  for (const [t] of story.pocket || []) {
    context.beginPath();
    context.arc(place(t), 0.9 * height, 3, 0, 2 * Math.PI);
    context.fill();
  }
}
