// Timeline: the slider for t, with a mark for every correction, every cycle, every new pocket.

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
    const thick = Math.min(3, Math.max(1, 0.55 * room));
    let last = -Infinity;
    for (let t = 1; t <= story.T; t++) {
      if (place(t) - last < 0.5) continue; // that pixel has its mark already
      last = place(t);
      mark(t, 0.38, story.answers[story.rows[t - 1]] > 0 ? palette.yes : palette.no, thick);
    }
    if (story.ends.length < width / 3) for (const t of story.ends) mark(t, 0.16, palette.soft, 1);
    context.fillStyle = palette.pocket;
    for (const [t] of story.pocket || []) {
      context.beginPath();
      context.arc(place(t), 0.9 * height, 3, 0, 2 * Math.PI);
      context.fill();
    }
  }

  show(t, T, told) {
    this.input.max = String(T);
    this.input.value = String(t);
    this.input.setAttribute("aria-valuetext", told);
  }
}
