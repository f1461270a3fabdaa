// Report: the player with its run, and the pictures below it.
import { drawLogSqueeze, drawMargins } from "./charts.js";
import { CanvasPen, markOf, paletteOf, Sheet } from "./drawing.js";
import { frameOf } from "./geometry.js";
import { drawPlane } from "./plane.js";
import { mountPlayer } from "./player.js";
import { Story } from "./story.js";

const DRAW = { line: drawScene, squeeze: drawLogSqueeze, margins: drawMargins };

// Draw every canvas with `data-picture` from its numbers or from the run; returns the player.
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

// Draw the examples and one line, or regions: a story with a single t.
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
