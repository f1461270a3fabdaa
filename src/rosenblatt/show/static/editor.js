// Editor: add, move and erase examples on the picture, by mouse, touch or keyboard.
import { labelAddedBy, textStyle } from "./drawing.js";
import { radiusFor } from "./geometry.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// A point of the page is [x1, x2, label].
export class Editor {
  constructor(page) {
    const { player } = page;
    this.player = player;
    this.page = page;
    this.cursor = null;
    this.held = null;
    const canvas = player.parts.plane;
    this.canvas = canvas;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "application");
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    canvas.addEventListener("pointerup", () => this.drop());
    canvas.addEventListener("pointercancel", () => this.drop());
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("focus", () => player.draw());
    canvas.addEventListener("blur", () => player.draw());
  }

  // Return the example nearest to a place in pixels, or null if none is within reach.
  near([px, py], reach) {
    const { frame } = this.player;
    const points = this.page.points;
    let best = null;
    let least = reach;
    points.forEach(([x, y], n) => {
      const away = Math.hypot(frame.x(x) - px, frame.y(y) - py);
      if (away <= least) [best, least] = [n, away];
    });
    return best;
  }

  reach() {
    return Math.max(12, 1.4 * radiusFor(this.page.points.length, this.player.frame));
  }

  // Return the coordinates of a place in pixels, rounded to the resolution of the picture.
  rounded([px, py]) {
    const { frame } = this.player;
    const { left, right, bottom, top } = frame.box;
    const round = (value, span) => {
      const places = Math.max(0, Math.min(12, -Math.floor(Math.log10(span / 500))));
      return Number(value.toFixed(places));
    };
    const [x, y] = frame.back(px, py);
    const within = (v, a, b) => Math.min(b, Math.max(a, v));
    return [
      round(within(x, left, right), right - left),
      round(within(y, bottom, top), top - bottom),
    ];
  }

  press(event) {
    if (event.button !== 0 && event.button !== 2) return;
    this.cursor = null;
    if (!this.page.canEdit) return;
    const place = [event.offsetX, event.offsetY];
    const n = this.near(place, this.reach());
    if (n !== null && this.page.state.tool !== "erase") {
      this.held = n;
      this.begun = place;
      this.before = this.page.points;
      this.canvas.setPointerCapture(event.pointerId);
      return;
    }
    this.act(place, n, event.shiftKey);
  }

  drag(event) {
    const place = [event.offsetX, event.offsetY];
    if (this.held === null) {
      const near = this.page.canEdit && this.near(place, this.reach()) !== null;
      this.canvas.classList.toggle("near", near);
      return;
    }
    const still = this.page.points === this.before;
    if (still && Math.hypot(place[0] - this.begun[0], place[1] - this.begun[1]) < 4) return;
    const [x, y] = this.rounded(place);
    this.page.change(this.moved(this.held, x, y), false);
  }

  drop() {
    if (this.held === null) return;
    const n = this.held;
    this.held = null;
    if (this.page.points !== this.before) this.page.change(this.page.points, true, this.before);
    else this.addOn(n);
  }

  // Add an example of the chosen label at the place of an example of another label.
  addOn(n) {
    const label = labelAddedBy(this.page.state.tool);
    const [x, y, other] = this.page.points[n];
    if (label === null || other === label) return;
    this.page.addAt(x, y, label, ", on another");
  }

  moved(n, x, y) {
    return this.page.points.map((point, i) => (i === n ? [x, y, point[2]] : point));
  }

  // Use the chosen tool at a place; `n` is the example there, or null.
  act(place, n, other = false) {
    const { tool } = this.page.state;
    if (tool === "erase") this.erase(n);
    else if (tool !== "move") {
      const chosen = labelAddedBy(tool);
      const label = other ? (chosen === 1 ? -1 : 1) : chosen;
      this.page.addAt(...this.rounded(place), label);
    }
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { frame } = this.player;
    const step = (event.shiftKey ? 0.1 : 0.02) * Math.min(frame.width, frame.height);
    if (event.key in ARROWS) {
      const [dx, dy] = ARROWS[event.key];
      const [x, y] = this.cursor || [frame.width / 2, frame.height / 2];
      this.cursor = [
        Math.min(frame.width, Math.max(0, x + step * dx)),
        Math.min(frame.height, Math.max(0, y - step * dy)),
      ];
      if (this.carried !== undefined)
        this.page.change(this.moved(this.carried, ...this.rounded(this.cursor)), false);
    } else if (event.key === "Enter" && this.page.canEdit) {
      this.enter();
    } else if (
      (event.key === "Delete" || event.key === "Backspace") &&
      this.cursor &&
      this.page.canEdit
    ) {
      this.erase(this.near(this.cursor, 3 * this.reach()));
    } else return;
    event.preventDefault();
    event.stopPropagation();
    this.player.draw();
  }

  enter() {
    this.cursor ||= [this.player.frame.width / 2, this.player.frame.height / 2];
    const n = this.near(this.cursor, 3 * this.reach());
    if (this.carried !== undefined) {
      this.carried = undefined;
      this.page.change(this.page.points, true);
      this.page.note("Put down.");
    } else if (this.page.state.tool === "move") {
      if (n === null) return;
      this.carried = n;
      this.page.note(`Example ${n + 1} picked up; move it with the arrows, Enter puts it down.`);
    } else this.act(this.cursor, n);
  }

  erase(n) {
    if (n === null) return;
    this.page.change(
      this.page.points.filter((_, i) => i !== n),
      true,
    );
    this.page.note(`Example ${n + 1} erased.`);
  }

  // Draw the crosshair that the arrow keys move.
  draw(pen, palette, frame) {
    if (!this.cursor || document.activeElement !== this.canvas) return;
    const [x, y] = this.cursor;
    const cross = [
      [x - 14, y, x + 14, y],
      [x, y - 14, x, y + 14],
    ];
    pen.strokes(cross, { stroke: palette.paper, width: 5 });
    pen.strokes(cross, { stroke: palette.ink, width: 2 });
    const [a, b] = this.rounded(this.cursor);
    const place = [Math.min(x + 16, frame.width - 90), Math.max(y - 12, 18)];
    pen.text(`${a}, ${b}`, ...place, textStyle(palette, 0.85));
  }
}
