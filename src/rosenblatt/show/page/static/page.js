// Page: connects the address, the settings, the picture and what is learnt.
import { fromAddress, toAddress, USUAL } from "./address.js";
import { Editor } from "./editor.js";
import { saveCsv, savePng, savePython, saveSvg } from "./exports.js";
import { fewest } from "./fewest.js";
import { boxAround } from "./frame.js";
import { learn } from "./learn.js";
import { mountPlayer } from "./player.js";
import { preset } from "./presets.js";
import { pythonLines } from "./pythonlines.js";
import { isProjected, PROJECTION, Settings } from "./settings.js";
import { emptyStory } from "./story.js";
import { pageTools, pythonWindow, Toolbar } from "./toolbar.js";
import { TOUR, Tour } from "./tour.js";
import { SPEEDS } from "./transport.js";

const KEYS =
  "Keys: space plays, → and ← step, Home rewinds; o, x, m, e choose a tool, z undoes; " +
  "l large type, d dark. In the picture: arrows and Enter.";
const LEARNING = [
  "points",
  "algorithm",
  "order",
  "eta",
  "zero",
  "start",
  "chance",
  "corrections",
  "data",
  "seed",
  "x",
  "y",
];
const SLICE = 12; // milliseconds of a search between two frames
const byId = (name) => document.getElementById(name);
const pause = () => new Promise((done) => setTimeout(done));

class Page {
  // `own` is null, or a person's data as show/page/own.py has them.
  constructor(own) {
    this.own = own;
    this.state = fromAddress(location.hash);
    if (own && !location.hash) this.state = { ...this.state, ...fileState(own) };
    this.past = [];
    this.build();
    byId("keys").textContent = KEYS;
    window.addEventListener("hashchange", () => this.hashChanged());
    document.addEventListener("keydown", (event) => this.key(event));
  }

  build() {
    this.player = mountPlayer(byId("player"), emptyStory(USUAL.start), {
      moved: (t) => this.moved(t),
      overlay: (pen, player) => this.editor?.draw(pen, player.palette, player.frame),
      boxOf: (points, width, height) => boxAround(this.fitted || points, width, height),
      speed: this.state.speed,
    });
    this.toolbar = new Toolbar(
      (tool) => this.set({ tool }),
      () => this.undo(),
      () => this.clearAll(),
    );
    this.player.parts.stage.before(this.toolbar.element);
    this.editor = new Editor(this.player, {
      points: () => this.points,
      tool: () => this.state.tool,
      canEdit: () => !isProjected(this.state),
      change: (points, done, before) => this.change(points, done, before),
      say: (text) => (byId("note").textContent = text),
    });
    this.settings = new Settings(byId("settings"), this.own, (values) =>
      this.set({ t: 0, ...values }),
    );
    this.tour = new Tour(byId("tour"), {
      go: (step) => this.goTour(step),
      close: () => this.set({ tour: 0 }),
    });
    this.tools = pageTools(byId("tools"), {
      png: () => savePng(this.player),
      svg: () => saveSvg(this.player),
      csv: () => saveCsv(this.player.story),
      python: () => this.showPython(),
      link: () => this.copyLink(),
      tour: () => this.goTour(1),
      large: () => this.set({ type: this.state.type === "large" ? "normal" : "large" }),
      theme: () => this.set({ theme: isDark(this.state.theme) ? "light" : "dark" }),
    });
    this.points = [];
  }

  // Take new values of the state, and do what follows from them.
  async set(values) {
    const learnAgain = LEARNING.some((name) => name in values);
    this.state = { ...this.state, ...values };
    this.show();
    if (learnAgain) await this.load();
    else this.player.draw();
    this.remember();
  }

  show() {
    const { state } = this;
    const root = document.documentElement;
    root.classList.toggle("rb-large", state.type === "large");
    root.classList.toggle("rb-dark", state.theme === "dark");
    root.classList.toggle("rb-light", state.theme === "light");
    this.tools.large.setAttribute("aria-pressed", String(state.type === "large"));
    this.tools.theme.textContent = isDark(state.theme) ? "Light" : "Dark";
    this.settings.show(state);
    this.toolbar.show(state.tool, !isProjected(state), this.past.length > 0);
    this.player.proof = state.proof;
    if (this.player.speed !== state.speed && SPEEDS.includes(state.speed))
      this.player.setSpeed(state.speed);
    this.tour.show(state.tour);
    this.player.redraw();
  }

  // The examples of the state, and then their story.
  async load() {
    const { state } = this;
    this.plane = this.planeOf(state);
    const { points, answers } = this.plane;
    this.points = state.points || points.map(([a, b], n) => [a, b, answers[n]]);
    this.fitted = null;
    await this.learn(state.t);
  }

  // What the state begins with; examples that a person has changed keep its names.
  planeOf({ data, seed, x, y }) {
    const { own } = this;
    if (data !== "file" || !own) return preset(data === "file" ? USUAL.data : data, seed);
    const { answers, labels, columns } = own;
    const [i, j] = [x, y].map((name) => columns.indexOf(name));
    if (i < 0 || j < 0) return { points: [], answers: [], names: ["", ""], labels };
    return { points: own.X.map((row) => [row[i], row[j]]), answers, names: [x, y], labels };
  }

  // The story of the examples as they are; of many wishes only the last is fulfilled.
  async learn(t) {
    this.wish = { t };
    if (this.asking) return this.asking;
    this.asking = this.learnLast();
    try {
      await this.asking;
    } finally {
      this.asking = null;
    }
    return undefined;
  }

  async learnLast() {
    while (this.wish) {
      const { t } = this.wish;
      this.wish = null;
      await pause();
      if (this.wish) continue;
      const story = this.storyNow();
      this.take(story, t === "end" ? story.corrections : t);
    }
  }

  // The examples as they are learnt from.
  examples() {
    const { own, state, points, plane } = this;
    const { names, labels } = plane;
    const answers = points.map((point) => point[2]);
    if (!isProjected(state))
      return { points: points.map(([x, y]) => [x, y]), answers, names, labels };
    const { X, columns, verdict } = own;
    return { X, answers: own.answers, features: columns, verdict, labels: own.labels };
  }

  storyNow() {
    const { state } = this;
    const examples = this.examples();
    return examples.answers.length ? learn(examples, state) : emptyStory(state.start);
  }

  // The fewest mistakes of any line, looked for between frames as long as the story is shown.
  async lookForFewest(story) {
    if (!story.flat || !["inseparable", "quasi-separable"].includes(story.verdict?.name)) return;
    const search = fewest(story.points, story.answers);
    for (let step = search.next(); !step.done; ) {
      const until = performance.now() + SLICE;
      while (!step.done && performance.now() < until) step = search.next();
      if (step.done) this.player.setFewest(step.value);
      else await pause();
      if (this.player.story !== story) return;
    }
  }

  take(story, t) {
    this.player.setStory(story, t);
    this.state.t = this.player.t;
    this.lookForFewest(this.player.story);
    this.toolbar.show(this.state.tool, !isProjected(this.state), this.past.length > 0);
    document.body.dataset.ready = String(Number(document.body.dataset.ready || 0) + 1);
    this.remember();
  }

  // Other examples: shown at once, learnt from as soon as there is time.
  change(points, done, before = this.points) {
    const { player, state } = this;
    const atEnd = player.t > 0 && player.t === player.story.T;
    this.fitted ||= player.story.points;
    if (done) {
      this.past = [...this.past.slice(-49), before];
      this.fitted = null;
    }
    this.points = points;
    this.state = { ...state, points };
    if (points.length === player.story.points.length) {
      points.forEach(([x, y], n) => (player.story.points[n] = [x, y]));
      player.redraw();
    }
    if (done) this.settings.show(this.state);
    this.learn(atEnd ? "end" : player.t);
  }

  clearAll() {
    this.past = [...this.past.slice(-49), this.points];
    this.set({ data: USUAL.data, points: [], t: 0 });
  }

  undo() {
    if (!this.past.length || isProjected(this.state)) return;
    const before = this.past.pop();
    this.change(before, true);
    this.past.pop();
    this.toolbar.show(this.state.tool, true, this.past.length > 0);
  }

  moved(t) {
    this.state = { ...this.state, t, proof: this.player.proof, speed: this.player.speed };
    this.remember();
  }

  // The address follows, not faster than browsers allow.
  remember() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.writeAddress(), this.player.playing ? 400 : 120);
  }

  writeAddress() {
    clearTimeout(this.timer);
    const address = toAddress(this.state);
    if (address !== location.hash)
      history.replaceState(null, "", address === "#" ? location.pathname : address);
  }

  async hashChanged() {
    if (toAddress(this.state) === location.hash) return;
    this.state = fromAddress(location.hash);
    this.show();
    await this.load();
  }

  async goTour(step) {
    const { state } = TOUR[step - 1];
    await this.set({
      ...state,
      tour: step,
      corrections: USUAL.corrections,
      ...(state.corrections ? { corrections: state.corrections } : {}),
    });
    this.tour.show(step, true);
  }

  async copyLink() {
    this.writeAddress();
    await this.copy(location.href, "The link is copied: it leads to exactly this.");
  }

  async copy(text, told) {
    try {
      await navigator.clipboard.writeText(text);
      byId("note").textContent = told;
    } catch {
      byId("note").textContent =
        "Copying is not allowed here; the address of this page is the link.";
    }
  }

  showPython() {
    const examples = this.examples();
    if (new Set(examples.answers).size < 2) {
      byId("note").textContent = "There is nothing to learn yet: add both ○ and ×.";
      return;
    }
    const lines = pythonLines({ X: examples.points, ...examples }, this.state);
    pythonWindow(lines, savePython, (text) => this.copy(text, "The lines are copied."));
  }

  key(event) {
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest("dialog")) return;
    if (target.matches("input[type=number], select")) return;
    // A slider has its own arrows.
    if (target.matches("input[type=range]") && event.key.length > 1) return;
    const { player } = this;
    const actions = {
      " ": () => (player.playing ? player.pause() : player.play()),
      ArrowRight: () => player.step(),
      ArrowLeft: () => player.go(player.t - 1),
      Home: () => player.go(0),
      End: () => player.go(player.story.T),
      o: () => this.set({ tool: "o" }),
      x: () => this.set({ tool: "x" }),
      m: () => this.set({ tool: "move" }),
      e: () => this.set({ tool: "erase" }),
      z: () => this.undo(),
      l: () => this.set({ type: this.state.type === "large" ? "normal" : "large" }),
      d: () => this.set({ theme: isDark(this.state.theme) ? "light" : "dark" }),
    };
    if (!(event.key in actions)) return;
    // Space presses the button that has the focus.
    if (event.key === " " && target.matches("button, summary, input, a")) return;
    event.preventDefault();
    actions[event.key]();
  }
}

function isDark(theme) {
  return (
    theme === "dark" ||
    (theme === "auto" && window.matchMedia("(prefers-color-scheme: dark)").matches)
  );
}

function fileState(file) {
  return { data: "file", x: file.columns[0], y: file.columns[1] || PROJECTION };
}

const page = new Page(JSON.parse(byId("own").textContent));
window.rosenblatt = page;
page.show();
page.load();
