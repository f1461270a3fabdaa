// Editor: examples are added, moved and erased on the picture, by pointer, finger or keys.
import { addedBy, MARKS, markOf, nameStyle } from "./drawing.js";
import { radiusFor } from "./geometry.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// `desk` is what is edited: {points(), tool(), canEdit(), change(points, done), say(text)}, each
// point being [x1, x2, answer].
export class Editor {
  constructor(player, desk) {
    this.player = player;
    this.desk = desk;
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

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [
      event.clientX - box.left - this.canvas.clientLeft,
      event.clientY - box.top - this.canvas.clientTop,
    ];
  }

  // The example nearest to a place in pixels, if it is near.
  near([px, py], reach) {
    const { frame } = this.player;
    const points = this.desk.points();
    let best = null;
    let least = reach;
    points.forEach(([x, y], n) => {
      const away = Math.hypot(frame.x(x) - px, frame.y(y) - py);
      if (away <= least) [best, least] = [n, away];
    });
    return best;
  }

  reach() {
    return Math.max(12, 1.4 * radiusFor(this.desk.points().length, this.player.frame));
  }

  // A place as round numbers, fine enough for the picture.
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
    if (!this.desk.canEdit()) return;
    const place = this.place(event);
    const n = this.near(place, this.reach());
    if (n !== null && this.desk.tool() !== "erase") {
      this.held = n;
      this.begun = place;
      this.before = this.desk.points();
      this.canvas.setPointerCapture(event.pointerId);
      return;
    }
    this.act(place, n, event.shiftKey);
  }

  drag(event) {
    if (this.held === null) {
      const near = this.desk.canEdit() && this.near(this.place(event), this.reach()) !== null;
      this.canvas.classList.toggle("near", near);
      return;
    }
    const place = this.place(event);
    const still = this.desk.points() === this.before;
    if (still && Math.hypot(place[0] - this.begun[0], place[1] - this.begun[1]) < 4) return;
    const [x, y] = this.rounded(place);
    this.desk.change(this.moved(this.held, x, y), false);
  }

  drop() {
    if (this.held === null) return;
    const n = this.held;
    this.held = null;
    if (this.desk.points() !== this.before) this.desk.change(this.desk.points(), true, this.before);
    else this.addOn(n);
  }

  // A click on an example of another kind puts one on it, in the very same place.
  addOn(n) {
    const answer = addedBy(this.desk.tool());
    const [x, y, other] = this.desk.points()[n];
    if (answer === null || other === answer) return;
    this.desk.change([...this.desk.points(), [x, y, answer]], true);
    this.desk.say(`${MARKS[markOf(answer)].name} added at ${x}, ${y}, on another.`);
  }

  moved(n, x, y) {
    return this.desk.points().map((point, i) => (i === n ? [x, y, point[2]] : point));
  }

  // What the tool does at a place; `n` is the example there, if there is one.
  act(place, n, other = false) {
    const tool = this.desk.tool();
    const points = this.desk.points();
    if (tool === "erase") this.erase(n);
    else if (tool !== "move") {
      const chosen = addedBy(tool);
      const answer = other ? (chosen === 1 ? -1 : 1) : chosen;
      const [x, y] = this.rounded(place);
      this.desk.change([...points, [x, y, answer]], true);
      this.desk.say(`${MARKS[markOf(answer)].name} added at ${x}, ${y}.`);
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
        this.desk.change(this.moved(this.carried, ...this.rounded(this.cursor)), false);
    } else if (event.key === "Enter" && this.desk.canEdit()) {
      this.enter();
    } else if (
      (event.key === "Delete" || event.key === "Backspace") &&
      this.cursor &&
      this.desk.canEdit()
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
      this.desk.change(this.desk.points(), true);
      this.desk.say("Put down.");
    } else if (this.desk.tool() === "move") {
      if (n === null) return;
      this.carried = n;
      this.desk.say(`Example ${n + 1} picked up; move it with the arrows, Enter puts it down.`);
    } else this.act(this.cursor, n);
  }

  erase(n) {
    if (n === null) return;
    this.desk.change(
      this.desk.points().filter((_, i) => i !== n),
      true,
    );
    this.desk.say(`Example ${n + 1} erased.`);
  }

  // The cross-hair of the keyboard.
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
    pen.text(`${a}, ${b}`, ...place, nameStyle(palette, 0.85));
  }
}
