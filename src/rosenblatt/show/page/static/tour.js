// Tour: the four steps of the lecture, each with its examples, its algorithm and a few words.
import { USUAL } from "./address.js";
import { button, clear, make } from "./elements.js";

const PLA = {
  data: "separable",
  points: null,
  seed: 1,
  algorithm: "pla",
  order: "cycle",
  corrections: USUAL.corrections,
  proof: false,
};

export const TOUR = [
  {
    title: "1. The hypothesis",
    spot: ".rb-stage",
    state: { ...PLA, t: 1e9 },
    text:
      "Each example is a point with an answer, ○ for yes and × for no. The hypothesis is " +
      "h(x) = sign(w·x): three weights draw a line, w points to the side where it says yes. " +
      "Drag a point across the line and watch a new line being found.",
  },
  {
    title: "2. The correction",
    spot: ".rb-facts",
    state: { ...PLA, t: 1 },
    text:
      "The perceptron learning algorithm looks for a mistake, an example on the wrong side " +
      "(ringed), and adds it to the weights: w becomes w + y·x. The dashed line is the one before. " +
      "Press Step again and again: each correction turns the line towards its example.",
  },
  {
    title: "3. The guarantee",
    spot: ".rb-verdict",
    state: { ...PLA, proof: true, t: 0 },
    text:
      "If any line can answer everything, PLA halts. The widest band without examples has " +
      "half-width ρ, the longest example length R. Each correction lets ‖w‖² grow by at most R², while " +
      "its part along the best line grows by ρ: T²ρ² ≤ ‖w‖² ≤ TR² leaves room for at most " +
      "R²/ρ² corrections. Play, and see the trace between its two bounds.",
  },
  {
    title: "4. The pocket",
    spot: ".rb-figure.rb-mistakes",
    state: {
      ...PLA,
      data: "noisy",
      algorithm: "pocket",
      order: "random",
      corrections: 200,
      t: 12,
    },
    text:
      "With noise no line answers everything, and PLA never halts. The pocket keeps the best " +
      "weights met so far: its line, green and dashed, changes only when w makes fewer mistakes on " +
      "all examples. Tick “Show the proof” to see the examples that block every line.",
  },
];

// `desk` is {go(state), close()}; steps are counted from 1, 0 is no tour.
export class Tour {
  constructor(element, desk) {
    this.element = element;
    this.desk = desk;
  }

  // On a projector the picture gives way, so that all of it is still seen.
  makeRoom() {
    document.documentElement.style.setProperty("--tour", `${this.element.offsetHeight}px`);
  }

  // What a step speaks of is brought into view, below its words.
  reveal(spot) {
    if (!spot) return;
    spot.style.scrollMarginTop = `${this.element.offsetHeight + 12}px`;
    const { top, bottom } = spot.getBoundingClientRect();
    const hidden = top < this.element.offsetHeight || bottom > window.innerHeight;
    if (hidden) spot.scrollIntoView({ block: "start" });
  }

  show(step, focus = false) {
    document.querySelectorAll(".rb-spot").forEach((element) => element.classList.remove("rb-spot"));
    this.element.hidden = step < 1 || step > TOUR.length;
    if (this.element.hidden) {
      this.makeRoom();
      return clear(this.element);
    }
    const { title, text, spot } = TOUR[step - 1];
    document.querySelector(spot)?.classList.add("rb-spot");
    const heading = make("h2", { tabindex: -1 }, title);
    const move = (to) => () => this.desk.go(to);
    clear(
      this.element,
      heading,
      make("p", {}, text),
      make(
        "div",
        { class: "row" },
        button("Back", null, move(step - 1), { disabled: step === 1 }),
        button("Next", null, move(step + 1), { class: "strong", disabled: step === TOUR.length }),
        button("End the tour", null, () => this.desk.close()),
      ),
    );
    this.makeRoom();
    if (focus) {
      heading.focus({ preventScroll: true });
      this.reveal(document.querySelector(spot));
    }
    return this.element;
  }
}
