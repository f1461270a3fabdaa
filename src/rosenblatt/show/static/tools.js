// Tools: the toolbar for examples, the buttons at the top of the page, the keys and the tour.
import { DEFAULTS } from "./address.js";
import { button, make, movesOf } from "./controls.js";
import { MARKS } from "./drawing.js";
import { saveCsv, savePng, saveProof, savePython, saveSvg } from "./exports.js";

const TOOLS = [
  ["o", "○", "Add circles: key o"],
  ["x", "×", "Add crosses: key x"],
  ["t", "△", "Add triangles, a third label: key 3"],
  ["s", "□", "Add squares, a fourth label: key 4"],
  ["d", "◆", "Add diamonds, a fifth label: key 5"],
  ["move", "Move", "Move examples: key m"],
  ["erase", "Erase", "Erase examples: key e"],
];

export class Toolbar {
  constructor(page) {
    this.buttons = new Map(
      TOOLS.map(([tool, text, label]) => [tool, button(text, label, () => page.set({ tool }))]),
    );
    this.undo = button("Undo", "Undo the last change: key z", () => page.undo());
    this.clearAll = button("Clear", "Remove all examples", () => page.clearAll());
    this.element = make(
      "div",
      { class: "toolbar", role: "toolbar", "aria-label": "Examples" },
      ...this.buttons.values(),
      make("span", { class: "gap" }),
      this.undo,
      this.clearAll,
    );
  }

  show(tool, canEdit, canUndo) {
    for (const [name, element] of this.buttons) {
      element.setAttribute("aria-pressed", String(name === tool));
      element.disabled = !canEdit;
    }
    this.undo.disabled = !canUndo;
    this.clearAll.disabled = !canEdit;
  }
}

// Create the buttons at the top.
export function pageTools(nav, page) {
  const close = () => {
    menu.open = false;
    menu.querySelector("summary").focus();
  };
  const item = (text, action) =>
    button(text, null, () => {
      close();
      action();
    });
  const menu = make(
    "details",
    { class: "menu" },
    make("summary", {}, "Export"),
    make(
      "div",
      {},
      item("Picture (PNG)", () => savePng(page.player)),
      item("Picture (SVG)", () => saveSvg(page.player)),
      item("Examples (CSV)", () => saveCsv(page.player.story)),
      item("Python code", () => page.showPython()),
      item("Proof (JSON)", () => page.note(saveProof(page.player.story))),
      item("This page (HTML)", () => page.savePage()),
    ),
  );
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  const large = button("Large type", "Large type, for a projector: key l", () => page.turnType());
  const theme = button("Dark", "Dark or light: key d", () => page.turnTheme());
  nav.replaceChildren(
    button("Tour", "A tour in four steps", () => page.goTour(1)),
    button("Copy link", "Copy a link to the page as it is now", () => page.copyLink()),
    menu,
    large,
    theme,
  );
  return { large, theme };
}

// Show Python code in a dialog, to read, copy or save.
export function pythonWindow(lines, page) {
  const copy = () => page.copy(lines, "The code is copied.", "save the code as a file instead");
  const dialog = make("dialog", { class: "code", "aria-label": "Python code" });
  const close = button("Close", null, () => dialog.close());
  dialog.append(
    make("h2", {}, "The same run in Python"),
    make("pre", { tabindex: 0 }, lines),
    make(
      "div",
      { class: "row" },
      button("Copy", null, copy, { class: "strong" }),
      button("Save as file", null, () => savePython(lines)),
      close,
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}

export const KEYS =
  "Keys: space plays; → and ← go one update forward and back, Home to the start; o, x, m and e choose " +
  "a tool, 1 to 5 a label; z undoes; l is large type, d is dark. In the picture, the arrow keys move a " +
  "cursor, and Enter uses the tool there.";

// Handle a key, wherever the focus is.
export function pressed(page, event) {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("dialog")) return;
  if (target.matches?.("input[type=number], select")) return;
  // A slider handles its own arrows.
  if (target.matches?.("input[type=range]") && event.key.length > 1) return;
  const { player } = page;
  const actions = {
    ...movesOf(player),
    " ": () => (player.playing ? player.pause() : player.play()),
    o: () => page.set({ tool: "o" }),
    x: () => page.set({ tool: "x" }),
    m: () => page.set({ tool: "move" }),
    e: () => page.set({ tool: "erase" }),
    z: () => page.undo(),
    l: () => page.turnType(),
    d: () => page.turnTheme(),
  };
  MARKS.forEach(({ letter }, k) => (actions[k + 1] = () => page.set({ tool: letter })));
  if (!(event.key in actions)) return;
  // Space presses the button that has the focus.
  if (event.key === " " && target.matches?.("button, summary, input, a")) return;
  event.preventDefault();
  actions[event.key]();
}

const PLA = {
  data: "separable",
  points: null,
  seed: 1,
  algorithm: "pla",
  order: "cycle",
  max_updates: DEFAULTS.max_updates,
  proof: false,
};

// The four steps of the tour; `spot` is the element that a step describes.
export const TOUR = [
  {
    title: "1. The hypothesis",
    spot: ".rb-stage",
    state: { ...PLA, t: 1e9 },
    text:
      "Each example is a point with a label, ○ for +1 and × for −1. The hypothesis is " +
      "h(x) = sign(w·x): three weights define a line, and w points to the side of +1. " +
      "Drag a point across the line to train again.",
  },
  {
    title: "2. The update",
    spot: ".rb-facts",
    state: { ...PLA, t: 1 },
    text:
      "The perceptron learning algorithm looks for a misclassified example " +
      "(with a ring) and adds it to the weights: w becomes w + y·x. The dashed line is the previous one. " +
      "Press Step repeatedly: each update turns the line toward classifying its example correctly.",
  },
  {
    title: "3. The guarantee",
    spot: ".rb-verdict",
    state: { ...PLA, proof: true, t: 0 },
    text:
      "If some line classifies every example correctly, PLA halts. The widest band without examples has " +
      "half-width ρ, and the longest example has norm R. Each update increases ‖w‖² by at most R², while " +
      "the component of w along the maximum-margin w grows by at least ρ: T²ρ² ≤ ‖w‖² ≤ TR² allows at most " +
      "R²/ρ² updates. Press Play to see ‖w‖² between its two bounds.",
  },
  {
    title: "4. The pocket",
    spot: ".rb-figure.rb-mistakes",
    state: {
      ...PLA,
      data: "noisy",
      algorithm: "pocket",
      order: "random",
      max_updates: 200,
      t: 12,
    },
    text:
      "With noise no line classifies every example correctly, and PLA never halts. The pocket keeps the best " +
      "weights so far: its line, green and dashed, changes only when w makes fewer mistakes on " +
      "all examples. Tick “Show the proof” to see examples that no line classifies all correctly.",
  },
];

// Steps are counted from 1, and 0 is no tour.
export class Tour {
  constructor(element, page) {
    this.element = element;
    this.page = page;
  }

  // Pass the height of the tour to the style sheet, so that the picture still fits on a projector.
  passHeight() {
    document.documentElement.style.setProperty("--tour", `${this.element.offsetHeight}px`);
  }

  show(step, focus = false) {
    document.querySelectorAll(".rb-spot").forEach((element) => element.classList.remove("rb-spot"));
    this.element.hidden = step < 1 || step > TOUR.length;
    if (this.element.hidden) {
      this.element.replaceChildren();
      this.passHeight();
      return;
    }
    const { title, text, spot } = TOUR[step - 1];
    const described = document.querySelector(spot);
    described.classList.add("rb-spot");
    const heading = make("h2", { tabindex: -1 }, title);
    const move = (to) => () => this.page.goTour(to);
    this.element.replaceChildren(
      heading,
      make("p", {}, text),
      make(
        "div",
        { class: "row" },
        button("Back", null, move(step - 1), { disabled: step === 1 }),
        button("Next", null, move(step + 1), { class: "strong", disabled: step === TOUR.length }),
        button("End the tour", null, () => this.page.set({ tour: 0 })),
      ),
    );
    this.passHeight();
    if (!focus) return;
    heading.focus({ preventScroll: true });
    // Scroll the element that the step describes into view, below the text.
    described.style.scrollMarginTop = `${this.element.offsetHeight + 12}px`;
    const { top, bottom } = described.getBoundingClientRect();
    if (top < this.element.offsetHeight || bottom > window.innerHeight)
      described.scrollIntoView({ block: "start" });
  }
}
