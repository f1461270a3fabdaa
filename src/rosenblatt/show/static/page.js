// Page: the state of the page, and what happens when the user changes it.
import { DEFAULTS, fromAddress, LONGEST, MOST_POINTS, toAddress } from "./address.js";
import { SPEEDS } from "./controls.js";
import { isDark, labelAddedBy, MARKS, markOf } from "./drawing.js";
import { Editor } from "./editor.js";
import {
  examplesOf,
  fileState,
  firstState,
  isProjected,
  NotReadError,
  planeOf,
  readTable,
} from "./examples.js";
import { pythonLines, savePage } from "./exports.js";
import { fewestBetweenFrames } from "./fewest.js";
import { boxAround, drawingBox } from "./geometry.js";
import { plural } from "./numbers.js";
import { mountPlayer } from "./player.js";
import { Settings } from "./settings.js";
import { emptyStory } from "./story.js";
import { KEYS, pageTools, pressed, pythonWindow, TOUR, Toolbar, Tour } from "./tools.js";
import { train } from "./train.js";

// Training is repeated if one of these changes.
const TRAINED_ON =
  "points algorithm order eta zero start random_state max_updates data seed x y".split(" ");
const NOTE_TIME = 6000; // milliseconds after which a note disappears
const byId = (name) => document.getElementById(name);
const PRISTINE = document.documentElement.outerHTML; // before the page changes it

class Page {
  // `own` is null or the user's data, as show/browser.py writes them.
  constructor(own, state) {
    this.own = own;
    this.state = state;
    this.past = [];
    this.build();
    byId("keys").textContent = KEYS;
    window.addEventListener("hashchange", () => this.hashChanged());
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault(); // the address is for the state
      this.player.parts.plane.focus();
    });
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      this.open(event.dataTransfer.files[0]);
    });
    document.addEventListener("keydown", (event) => pressed(this, event));
  }

  build() {
    this.player = mountPlayer(byId("player"), emptyStory(DEFAULTS.start), {
      moved: (t) => this.moved(t),
      overlay: (pen, player) => this.editor?.draw(pen, player.palette, player.frame),
      boxOf: (points, ...size) =>
        (this.state.data === "file" ? boxAround : drawingBox)(this.fitted || points, ...size),
      speed: this.state.speed,
    });
    this.toolbar = new Toolbar(this);
    this.player.parts.stage.before(this.toolbar.element);
    this.points = [];
    this.editor = new Editor(this);
    this.settings = new Settings(byId("settings"), this);
    this.tour = new Tour(byId("tour"), this);
    this.tools = pageTools(byId("tools"), this);
  }

  get canEdit() {
    return !isProjected(this.state);
  }

  // Show a message for some seconds.
  note(text) {
    clearTimeout(this.staleness);
    byId("note").textContent = text;
    this.staleness = setTimeout(() => (byId("note").textContent = ""), NOTE_TIME);
  }

  // Add an example by its coordinates.
  addAt(x, y, label = labelAddedBy(this.state.tool) ?? 1, where = "") {
    this.change([...this.points, [x, y, label]], true);
    this.note(`${MARKS[markOf(label)].name} added at ${x}, ${y}${where}.`);
  }

  // Show the data of a file that was chosen or dropped on the page.
  async open(file) {
    if (!file) return;
    try {
      this.own = readTable(file.name, await file.text(), MOST_POINTS);
    } catch (error) {
      if (!(error instanceof NotReadError)) throw error;
      byId("trouble").textContent =
        `${error.message} \`rosenblatt watch\` reads more kinds of file.`;
      return;
    }
    byId("trouble").textContent = "";
    this.settings = new Settings(byId("settings"), this);
    await this.set({ ...fileState(this.own), points: null, t: 0 });
    this.note(`${file.name}: ${plural(this.own.rows, "row")}.`);
  }

  // Change the state, and update the page accordingly.
  async set(values) {
    const trainAgain = TRAINED_ON.some((name) => name in values);
    this.state = { ...this.state, ...values };
    this.show();
    if (trainAgain) await this.load();
    else this.player.draw();
    this.remember();
  }

  turnType() {
    return this.set({ type: this.state.type === "large" ? "normal" : "large" });
  }

  turnTheme() {
    return this.set({ theme: isDark(this.state.theme) ? "light" : "dark" });
  }

  show() {
    const { state } = this;
    const root = document.documentElement;
    root.classList.toggle("rb-large", state.type === "large");
    for (const one of ["dark", "light"]) root.classList.toggle(`rb-${one}`, state.theme === one);
    this.tools.large.setAttribute("aria-pressed", String(state.type === "large"));
    this.tools.theme.textContent = isDark(state.theme) ? "Light" : "Dark";
    this.settings.show(state);
    this.showToolbar();
    this.player.proof = state.proof;
    if (this.player.speed !== state.speed && SPEEDS.includes(state.speed))
      this.player.setSpeed(state.speed);
    this.tour.show(state.tour);
    const look = `${state.type} ${state.theme}`;
    if (look !== this.look) this.player.redraw();
    this.look = look;
  }

  showToolbar() {
    this.toolbar.show(this.state.tool, this.canEdit, this.past.length > 0);
  }

  // Load the examples of the state, and train on them.
  async load() {
    if (this.own?.labels.length > 2 && isProjected(this.state))
      this.state = { ...this.state, ...fileState(this.own) };
    const { state } = this;
    this.plane = planeOf(this.own, state);
    const { points, targets } = this.plane;
    this.points = state.points || points.map(([a, b], n) => [a, b, targets[n]]);
    this.fitted = null;
    await this.train(state.t);
  }

  // Train on the current examples. If requests arrive during training, only the last is carried
  // out.
  train(t) {
    this.request = { t };
    this.training ||= this.trainLatest().finally(() => (this.training = null));
    return this.training;
  }

  async trainLatest() {
    while (this.request) {
      const { t } = this.request;
      this.request = null;
      await new Promise((done) => setTimeout(done)); // let the page draw first
      if (this.request) continue;
      const examples = examplesOf(this);
      const { state } = this;
      const story = examples.targets.length ? train(examples, state) : emptyStory(state.start);
      this.showStory(story, t === "end" ? story.updates : t);
    }
  }

  // Search for the fewest mistakes of any line, and show them if no line is free of mistakes.
  async findFewest(story) {
    const makesMistakes = ["inseparable", "quasi-separable"].includes(story.verdict?.name);
    if (!story.flat || story.many || !makesMistakes) return;
    const isShown = () => this.player.story === story;
    const found = await fewestBetweenFrames(story.points, story.targets, isShown);
    if (found) this.player.setFewest(found);
  }

  showStory(story, t) {
    this.player.setStory(story, t);
    this.state.t = this.player.t;
    this.findFewest(this.player.story);
    this.settings.showLabels(this.player.story);
    this.showToolbar();
    document.body.dataset.ready = String(Number(document.body.dataset.ready || 0) + 1);
    this.remember();
  }

  // Show other examples at once, and train on them as soon as there is time.
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
    this.train(atEnd ? "end" : player.t);
  }

  clearAll() {
    this.past = [...this.past.slice(-49), this.points];
    this.set({ data: DEFAULTS.data, points: [], t: 0 });
  }

  undo() {
    if (!this.past.length || !this.canEdit) return;
    const before = this.past.pop();
    this.change(before, true);
    this.past.pop();
    this.showToolbar();
  }

  moved(t) {
    this.state = { ...this.state, t, proof: this.player.proof, speed: this.player.speed };
    this.remember();
  }

  // Update the address later: browsers limit how often that is allowed.
  remember() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.writeAddress(), this.player.playing ? 400 : 120);
  }

  // Write the state to the address; return the link, or null if it would be too long.
  async writeAddress() {
    clearTimeout(this.timer);
    const { state } = this;
    const address = await toAddress(state);
    if (state !== this.state) return this.writeAddress(); // the state has changed meanwhile
    const fits = address.length <= LONGEST;
    if ((fits ? address : "#") !== location.hash) {
      history.replaceState(null, "", fits && address !== "#" ? address : location.pathname);
    }
    this.written = location.hash;
    return fits ? location.href : null;
  }

  async hashChanged() {
    if (this.written === location.hash) return;
    this.state = await fromAddress(location.hash);
    this.show();
    await this.load();
  }

  async goTour(step) {
    await this.set({ ...TOUR[step - 1].state, tour: step });
    this.tour.show(step, true);
  }

  async copyLink() {
    const link = await this.writeAddress();
    const copied = "The link is copied. It opens the page as it is now.";
    if (link) return this.copy(link, copied, "use the address of this page as the link");
    this.savePage();
    return this.note("This is too long for a link, so the page was saved as a file.");
  }

  async copy(text, copied, otherwise) {
    try {
      await navigator.clipboard.writeText(text);
      this.note(copied);
    } catch {
      this.note(`The browser does not allow copying; ${otherwise}.`);
    }
  }

  savePage() {
    const { x, y, ...state } = this.state;
    savePage(PRISTINE, { own: this.own, state: this.own ? { ...state, x, y } : state });
  }

  showPython() {
    const examples = examplesOf(this);
    const enough = new Set(examples.targets).size > 1;
    if (!enough) return this.note("Add examples with two labels first.");
    return pythonWindow(pythonLines({ X: examples.points, ...examples }, this.state), this);
  }
}

async function begin() {
  document.documentElement.classList.toggle("rb-framed", window.parent !== window);
  const { own, state } = JSON.parse(byId("own").textContent);
  const page = new Page(own, await firstState(own, state));
  window.rosenblatt = page;
  page.show();
  await page.load();
}

begin();
