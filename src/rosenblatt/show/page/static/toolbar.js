// Toolbar: the tools that edit the examples, and the buttons of the page.
import { button, clear, make } from "./elements.js";

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
  constructor(chosen, undone, cleared) {
    this.buttons = new Map(
      TOOLS.map(([name, text, label]) => [name, button(text, label, () => chosen(name))]),
    );
    this.undo = button("Undo", "Undo the last change: key z", undone);
    this.clearAll = button("Clear", "Take all examples away", cleared);
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

// The buttons at the top; `actions` names what each does.
export function pageTools(nav, actions) {
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
      item("Picture (PNG)", actions.png),
      item("Picture (SVG)", actions.svg),
      item("Examples (CSV)", actions.csv),
      item("Python lines", actions.python),
      item("Proof (JSON)", actions.proof),
      item("This page (HTML)", actions.page),
    ),
  );
  menu.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  const large = button("Large type", "Large type, for a projector: key l", actions.large);
  const theme = button("Dark", "Dark or light: key d", actions.theme);
  clear(
    nav,
    button("Tour", "A tour in four steps", actions.tour),
    button("Copy link", "Copy a link to exactly this", actions.link),
    menu,
    large,
    theme,
  );
  return { large, theme, menu };
}

// Python lines in a window of their own, to read, copy or save.
export function pythonWindow(lines, saved, copied) {
  const dialog = make("dialog", { class: "code", "aria-label": "Python lines" });
  const close = button("Close", null, () => dialog.close());
  dialog.append(
    make("h2", {}, "The Python lines that do the same"),
    make("pre", { tabindex: 0 }, lines),
    make(
      "div",
      { class: "row" },
      button("Copy", null, () => copied(lines), { class: "strong" }),
      button("Save as file", null, () => saved(lines)),
      close,
    ),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  close.focus();
}
