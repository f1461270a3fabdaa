// Transport: the slider, the buttons that move through t, and the speed.
import { button, ICONS, icon, make } from "./elements.js";

export const SPEEDS = [0.5, 1, 2, 5, 20, 100, 1000]; // corrections a second

// What keys do in the player.
export function movesOf(player) {
  return {
    ArrowRight: () => player.step(),
    ArrowLeft: () => player.go(player.t - 1),
    Home: () => player.go(0),
    End: () => player.go(player.story.T),
  };
}

export function transportOf(player) {
  const slider = make("input", {
    type: "range",
    min: 0,
    max: 0,
    step: 1,
    value: 0,
    "aria-label": "Correction t",
    oninput: () => player.go(Number(slider.value)),
  });
  const marks = make("canvas", { class: "rb-marks", "aria-hidden": "true" });
  const first = button(icon(ICONS.first), "Back to the start", () => player.go(0));
  const back = button(icon(ICONS.back), "One correction back", () => player.go(player.t - 1));
  const play = button("Play", "Play", () => (player.playing ? player.pause() : player.play()));
  const step = button("Step", "Step: make one correction", () => player.step());
  const last = button(icon(ICONS.last), "To the last correction", () => player.go(player.story.T));
  [play.className, step.className] = ["rb-play strong", "rb-step"];
  const speed = speedChoice(player);
  const where = make("output", { class: "rb-where" });
  const transport = make(
    "div",
    { class: "rb-transport", role: "group", "aria-label": "Player" },
    make("div", { class: "rb-track" }, marks, slider),
    make("div", { class: "rb-buttons" }, first, back, play, step, last, where, speed),
  );
  return { transport, slider, marks, first, back, play, step, last, speed, where };
}

function speedChoice(player) {
  const options = SPEEDS.map((s) =>
    make("option", { value: s, selected: s === player.speed }, `${s} / s`),
  );
  const speed = make(
    "select",
    {
      "aria-label": "Speed, corrections a second",
      onchange: () => player.setSpeed(Number(speed.value)),
    },
    ...options,
  );
  return speed;
}

export function namePlay(play, playing) {
  const name = playing ? "Pause" : "Play";
  play.replaceChildren(icon(playing ? ICONS.pause : ICONS.play), ` ${name}`);
  play.setAttribute("aria-label", name);
  play.title = name;
}
