// Embedded: the player in a report, together with the report's pictures, and in a notebook.
import { drawLogSqueeze, drawMargins } from "./charts.js";
import { movesOf } from "./controls.js";
import { CanvasPen, markOf, paletteOf, Sheet } from "./drawing.js";
import { frameOf } from "./geometry.js";
import { drawPlane } from "./plane.js";
import { mountPlayer } from "./player.js";
import { Story } from "./story.js";

const DRAW = { line: drawScene, squeeze: drawLogSqueeze, margins: drawMargins };

// Draw each canvas that has `data-picture`, from its own numbers or the run; return the player.
export function mountReport() {
  const data = document.getElementById("player-story");
  const story = data && JSON.parse(data.textContent);
  for (const canvas of document.querySelectorAll("canvas[data-picture]")) {
    const { picture, numbers } = canvas.dataset;
    mountPicture(canvas, DRAW[picture], numbers ? JSON.parse(numbers) : new Story(story));
  }
  return story ? mountPlayer(document.getElementById("player"), story, { t: story.updates }) : null;
}

function mountPicture(canvas, draw, data) {
  const redraw = () => {
    const { width, height } = sheet;
    const pen = new CanvasPen(sheet.clean());
    if (width) draw(pen, { width, height, palette: paletteOf(canvas) }, data);
  };
  const sheet = new Sheet(canvas, redraw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  redraw();
}

// Draw examples with one line, or with regions, as a story with a single t.
function drawScene(pen, { width, height, palette }, data) {
  const two = data.lines.length === 1;
  const story = {
    ...data,
    labels: two ? null : data.labels,
    json: { zero: Number(data.last) },
    planes: () => data.lines,
    mark: (n) => (two ? markOf(data.targets[n]) : data.targets[n]),
    markOf: (place) => place,
    updatedRow: () => null,
    pocketAt: () => null,
  };
  const frame = frameOf(story, width, height);
  drawPlane(pen, { story, t: 0, part: 1, frame, palette, wrong: data.wrong });
}

// Mount the player in a notebook, as anywidget asks for; return a function that removes it. A
// shadow root keeps the style sheets of the notebook away.
export function render({ model, el }) {
  // Remove the picture that a saved notebook shows without a kernel.
  for (const still of document.querySelectorAll(`.${model.get("mark")}`)) still.remove();
  const host = document.createElement("div");
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(model.get("_style"));
  root.adoptedStyleSheets = [sheet];
  const element = document.createElement("div");
  element.tabIndex = 0;
  root.append(element);
  el.append(host);
  const player = mountPlayer(element, model.get("story"), {
    t: model.get("t"),
    moved(t) {
      model.set("t", t);
      model.save_changes();
    },
  });
  element.addEventListener("keydown", (event) => pressed(player, event));
  const other = () => player.setStory(model.get("story"), model.get("t"));
  const moved = () => model.get("t") === player.t || player.show(model.get("t"));
  model.on("change:story", other);
  model.on("change:t", moved);
  return () => {
    model.off("change:story", other);
    model.off("change:t", moved);
    player.end();
    host.remove();
  };
}

// Handle a key, and keep it from the notebook, which would move to another cell.
function pressed(player, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  event.stopPropagation();
  const actions = movesOf(player);
  if (!(event.key in actions) || event.target.matches("input[type=range], select")) return;
  event.preventDefault();
  actions[event.key]();
}
