// Keys: what the keyboard does on the page, wherever the focus is.
import { MARKS } from "./marks.js";
import { movesOf } from "./transport.js";

export const KEYS =
  "Keys: space plays, → and ← step, Home rewinds; o, x, m, e choose a tool, 1 to 5 a label, z undoes; " +
  "l large type, d dark. In the picture: arrows and Enter.";

export function pressed(page, event) {
  const { target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("dialog")) return;
  if (target.matches?.("input[type=number], select")) return;
  // A slider has its own arrows.
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
