// Player: shows a training run in an element, and plays it update by update.
//
//   const player = mountPlayer(element, storyJson, { t: 0, proof: false });
//   player.show(t); player.play(); player.setStory(json); player.redraw(); player.end();
//
// `element` gets the class "rb-player"; theme.css and player.css style it. Options: `t`, `proof`,
// `speed` (updates per second), `moved(t)`, called after each move, `overlay(pen, player)`, called
// after the plane is drawn, and `boxOf(points, w, h)` for another box around the points.
// `player.parts` has the elements, for a page that adds to them.
import { drawVectors, mistakesChart, squeezeChart } from "./charts.js";
import { drawTimeline, make, showPlaying, transportOf } from "./controls.js";
import { CanvasPen, paletteOf, Sheet, SvgPen } from "./drawing.js";
import { frameOf } from "./geometry.js";
import { formatCount, plural } from "./numbers.js";
import {
  factsPanel,
  mistakesCaption,
  planeLabel,
  sentenceAt,
  showFacts,
  showVerdict,
  squeezeCaption,
  verdictPanel,
} from "./panels.js";
import { drawPlane, drawPoints } from "./plane.js";
import { Story } from "./story.js";

const TURN_TIME = 420; // milliseconds that the line takes to turn

export function mountPlayer(element, json, options = {}) {
  return new Player(element, json, options);
}

class Player {
  constructor(element, json, options) {
    this.options = options;
    this.proof = Boolean(options.proof);
    this.speed = options.speed || 2;
    this.playing = false;
    this.part = 1;
    this.element = element;
    element.classList.add("rb-player");
    this.build();
    this.setStory(json, options.t || 0);
    this.scheme = window.matchMedia("(prefers-color-scheme: dark)");
    this.recolor = () => this.redraw();
    this.scheme.addEventListener("change", this.recolor);
  }

  build() {
    const redraw = () => this.redraw();
    const plane = make("canvas", { class: "rb-plane", role: "img" });
    const stage = make("div", { class: "rb-stage" }, plane);
    const { transport, ...controls } = transportOf(this);
    const facts = factsPanel();
    const vectors = make("canvas", { class: "rb-vectors", role: "img" });
    const [squeeze, mistakes] = ["squeeze", "mistakes"].map(chartFigure);
    const verdict = verdictPanel((on) => this.setProof(on));
    const live = make("p", { class: "rb-hidden", role: "status" });
    facts.panel.append(vectors);
    const panels = [facts.panel, verdict.panel, squeeze.figure, mistakes.figure];
    const side = make("div", { class: "rb-side" }, ...panels);
    this.element.replaceChildren(make("div", { class: "rb-main" }, stage, transport), side, live);
    this.parts = { ...controls, stage, plane, facts, vectors, squeeze, mistakes, verdict, live };
    this.sheets = {
      plane: new Sheet(plane, redraw),
      vectors: new Sheet(vectors, redraw),
      squeeze: new Sheet(squeeze.canvas, redraw),
      mistakes: new Sheet(mistakes.canvas, redraw),
      marks: new Sheet(controls.marks, redraw),
    };
  }

  setStory(json, t = 0) {
    this.pause();
    this.story = json instanceof Story ? json : new Story(json);
    this.t = Math.max(0, Math.min(t, this.story.T));
    this.part = 1;
    this.redraw();
    this.announce();
  }

  // Show the fewest mistakes of any line: {mistakes, line}.
  setFewest(found) {
    this.story.fewest = found;
    this.shownStory = null;
    this.draw();
  }

  setProof(on) {
    this.proof = on;
    this.draw();
    if (this.options.moved) this.options.moved(this.t);
  }

  setSpeed(speed) {
    this.speed = speed;
    this.parts.speed.value = String(speed);
    if (this.options.moved) this.options.moved(this.t);
  }

  // Show w(t) at once.
  show(t) {
    this.t = Math.max(0, Math.min(Math.round(t), this.story.T));
    this.part = 1;
    this.draw();
    if (this.options.moved) this.options.moved(this.t);
  }

  go(t) {
    this.pause();
    this.show(t);
    this.announce();
  }

  // Go one update forward, and animate how the line turns.
  step() {
    this.pause();
    if (this.t === this.story.T) return this.announce();
    this.show(this.t + 1);
    this.announce();
    if (prefersReducedMotion()) return undefined;
    const begin = performance.now();
    const turn = (now) => {
      this.part = Math.min(1, Math.max(0, now - begin) / TURN_TIME);
      this.draw();
      if (this.part < 1) this.request = requestAnimationFrame(turn);
    };
    this.part = 0;
    this.request = requestAnimationFrame(turn);
    return undefined;
  }

  play() {
    if (this.story.T === 0) return;
    if (this.t >= this.story.T) this.show(0);
    this.playing = true;
    showPlaying(this.parts.play, this.playing);
    const [first, begin, still] = [this.t, performance.now(), prefersReducedMotion()];
    const turn = (now) => {
      if (!this.playing) return;
      const seconds = Math.max(0, now - begin) / 1000; // a frame may have begun before `begin`
      const passed = first + seconds * this.speed + (still ? 0 : 1);
      const t = Math.min(this.story.T, Math.floor(passed));
      // The line turns in the first half of the time of an update and rests in the second.
      this.part = still || this.speed > 10 ? 1 : Math.min(1, 2 * (passed - Math.floor(passed)));
      if (passed > this.story.T + 1) this.part = 1;
      const moved = t !== this.t;
      this.t = t;
      this.draw();
      if (moved && this.options.moved) this.options.moved(t);
      if (t >= this.story.T && this.part === 1) {
        this.pause();
        this.announce();
        return;
      }
      this.request = requestAnimationFrame(turn);
    };
    this.request = requestAnimationFrame(turn);
  }

  pause() {
    this.playing = false;
    cancelAnimationFrame(this.request);
    if (this.part < 1 && this.story) {
      this.part = 1;
      this.draw();
    }
    showPlaying(this.parts.play, this.playing);
  }

  // Report the current update to screen readers.
  announce() {
    this.parts.live.textContent = `${sentenceAt(this.story, this.t)} ${plural(this.story.count(this.t), "mistake")} left.`;
  }

  // Draw everything again, after a change of size, theme or story.
  redraw() {
    if (!this.story) return;
    this.palette = paletteOf(this.element);
    this.frame = this.makeFrame(this.sheets.plane.width, this.sheets.plane.height);
    const layer = this.sheets.plane.newLayer();
    drawPoints(new CanvasPen(layer.context), this.story, this.frame, this.palette);
    this.layer = layer.canvas;
    drawTimeline(this.sheets.marks, this.story, this.palette);
    this.charts = [
      this.chart("squeeze", this.story.squeeze && squeezeChart),
      this.chart("mistakes", mistakesChart),
    ];
    this.draw();
  }

  makeFrame(width, height) {
    return frameOf(this.story, width || 1, height || 1, this.options.boxOf);
  }

  chart(name, kind) {
    const sheet = this.sheets[name];
    this.parts[name].figure.hidden = !kind;
    if (!kind || sheet.width === 0) return null;
    const { width, height } = sheet;
    const chart = kind({ width, height, palette: this.palette }, this.story);
    const layer = sheet.newLayer();
    chart.below(new CanvasPen(layer.context));
    return { ...chart, sheet, layer: layer.canvas };
  }

  scene(frame = this.frame) {
    const { story, t, part, palette, proof } = this;
    return { story, t, part, frame, palette, proof, wrong: story.mistakesAt(t) };
  }

  // Draw everything that depends on t.
  draw() {
    const { story, t, sheets, palette } = this;
    if (sheets.plane.width) {
      const pen = new CanvasPen(sheets.plane.clean());
      drawPlane(pen, this.scene(), () => sheets.plane.copy(this.layer));
      if (this.options.overlay) this.options.overlay(pen, this);
    }
    if (sheets.vectors.width) {
      const { width, height } = sheets.vectors;
      const scene = { story, t, part: this.part, palette, width, height };
      drawVectors(new CanvasPen(sheets.vectors.clean()), scene);
    }
    for (const chart of this.charts.filter(Boolean)) {
      const context = chart.sheet.clean();
      chart.sheet.copy(chart.layer);
      chart.above(new CanvasPen(context), t);
    }
    this.showTexts();
  }

  showTexts() {
    const { story, t, parts } = this;
    if (this.shownAt === t && this.shownStory === story && this.shownProof === this.proof) return;
    const other = this.shownStory !== story || this.shownProof !== this.proof;
    [this.shownAt, this.shownStory, this.shownProof] = [t, story, this.proof];
    showFacts(parts.facts, story, t);
    if (other) showVerdict(parts.verdict, story, this.proof);
    parts.slider.max = String(story.T);
    parts.slider.value = String(t);
    const left = `${plural(story.count(t), "mistake")} left`;
    parts.slider.setAttribute("aria-valuetext", `t = ${t} of ${story.T}, ${left}`);
    parts.where.textContent = `t = ${formatCount(t)}`;
    parts.plane.setAttribute("aria-label", planeLabel(story, t));
    parts.vectors.setAttribute("aria-label", "The update as an addition of vectors");
    parts.squeeze.caption.textContent = squeezeCaption(story, t);
    parts.mistakes.caption.textContent = mistakesCaption(story, t);
    parts.first.disabled = parts.back.disabled = t === 0;
    parts.step.disabled = parts.last.disabled = t === story.T;
    parts.play.disabled = story.T === 0;
  }

  // Return the picture as SVG text, in the current colors.
  svg(width = 800, height = 800) {
    const pen = new SvgPen(width, height);
    drawPlane(pen, this.scene(this.makeFrame(width, height)));
    return pen.finished(planeLabel(this.story, this.t));
  }

  // Return the picture as a new canvas, with `scale` pixels for one.
  picture(width = 800, height = 800, scale = 2) {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [scale * width, scale * height];
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    drawPlane(new CanvasPen(context), this.scene(this.makeFrame(width, height)));
    return canvas;
  }

  end() {
    this.pause();
    this.scheme.removeEventListener("change", this.recolor);
    Object.values(this.sheets).forEach((sheet) => sheet.end());
    this.element.replaceChildren();
  }
}

function chartFigure(kind) {
  const canvas = make("canvas", { class: "rb-chart", "aria-hidden": "true" });
  const caption = make("figcaption", {});
  const figure = make("figure", { class: `rb-figure rb-${kind}` }, canvas, caption);
  return { canvas, caption, figure };
}

function prefersReducedMotion() {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}
