// Timeline: the slider for t, with a mark for every correction, every cycle, every new pocket; of
// very many corrections round numbers instead.
import { ticks } from "./frame.js";
import { colourOf } from "./marks.js";
import { grouped } from "./numbers.js";

const APART = 3; // pixels between corrections that can be told apart
const THUMB = 16; // the slider's thumb is this wide, so its ends are half of it further in

export class Timeline {
  constructor(sheet, input) {
    this.sheet = sheet;
    this.input = input;
  }

  draw(story, palette) {
    const { width, height } = this.sheet;
    const context = this.sheet.clean();
    if (!story || story.T === 0 || width < 2 * THUMB) return;
    const place = (t) => THUMB / 2 + ((width - THUMB) * t) / story.T;
    const room = (width - THUMB) / story.T;
    const mark = (t, top, colour, w) => {
      context.fillStyle = colour;
      context.fillRect(place(t) - w / 2, top * height, w, (0.78 - top) * height);
    };
    if (room >= APART) {
      for (let t = 1; t <= story.T; t++) {
        const colour = colourOf(palette, story.mark(story.corrected(t)));
        mark(t, 0.38, colour, Math.min(3, 0.55 * room));
      }
      if (story.ends.length < width / 3) for (const t of story.ends) mark(t, 0.16, palette.soft, 1);
    } else this.number(story.T, place, palette);
    context.fillStyle = palette.pocket;
    for (const [t] of story.pocket || []) {
      context.beginPath();
      context.arc(place(t), 0.9 * height, 3, 0, 2 * Math.PI);
      context.fill();
    }
  }

  // Corrections that would run into each other: round numbers instead.
  number(T, place, palette) {
    const { width, height } = this.sheet;
    const context = this.sheet.context;
    const size = Math.max(11, Math.min(0.7 * palette.size, 0.45 * height));
    context.font = `${size}px ${palette.font}`;
    context.fillStyle = palette.soft;
    for (const t of ticks(0, T, Math.min(10, width / (6 * size)))) {
      const end = place(t) > width - 2 * size;
      context.textAlign = t === 0 ? "left" : end ? "right" : "center";
      context.fillText(grouped(t), t === 0 ? 0 : end ? width : place(t), size);
      context.fillRect(place(t) - 0.5, 0.55 * height, 1, 0.2 * height);
    }
    context.fillRect(place(0), 0.74 * height, place(T) - place(0), 1);
  }

  show(t, T, told) {
    this.input.max = String(T);
    this.input.value = String(t);
    this.input.setAttribute("aria-valuetext", told);
  }
}
