// Report: a page of its own: the player with its run, and the still pictures below it.
import { drawMargins, drawMeeting } from "./charts.js";
import { CanvasPen, markOf, paletteOf, Sheet } from "./drawing.js";
import { frameOf } from "./geometry.js";
import { drawPlane } from "./plane.js";
import { mountPlayer } from "./player.js";
import { Story } from "./story.js";

const DRAW = { line: drawScene, squeeze: drawMeeting, margins: drawMargins };

// Draws every canvas with `data-picture` from its numbers, or from the run; gives the player.
export function mountReport() {
  const data = document.getElementById("player-story");
  const story = data && JSON.parse(data.textContent);
  for (const canvas of document.querySelectorAll("canvas[data-picture]")) {
    const { picture, numbers } = canvas.dataset;
    mountPicture(canvas, DRAW[picture], numbers ? JSON.parse(numbers) : new Story(story));
  }
  return story
    ? mountPlayer(document.getElementById("player"), story, { t: story.corrections })
    : null;
}

function mountPicture(canvas, draw, data) {
  const again = () => {
    const { width, height } = sheet;
    const pen = new CanvasPen(sheet.clean());
    if (width) draw(pen, { width, height, palette: paletteOf(canvas) }, data);
  };
  const sheet = new Sheet(canvas, again);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  again();
}

// The examples and one line, or regions: a run of which there is one moment.
function drawScene(pen, { width, height, palette }, data) {
  const two = data.lines.length === 1;
  const story = {
    ...data,
    labels: two ? null : data.labels,
    json: { zero: Number(data.last) },
    planes: () => data.lines,
    mark: (n) => (two ? markOf(data.answers[n]) : data.answers[n]),
    markOf: (place) => place,
    corrected: () => null,
    pocketAt: () => null,
  };
  const frame = frameOf(story, width, height);
  drawPlane(pen, { story, t: 0, part: 1, frame, palette, wrong: data.wrong });
}
