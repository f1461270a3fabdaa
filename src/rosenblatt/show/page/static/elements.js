// Elements: create them in one line each.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

// Create a button, with a label if its text is not enough.
export function button(text, label, pressed, more = {}) {
  const named = { type: "button", "aria-label": label, title: label };
  return make("button", { ...named, ...more, onclick: pressed }, text);
}

// Create the icon of a button from one path in a box of 16 by 16.
export function icon(path) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
  for (const [name, value] of Object.entries({
    viewBox: "0 0 16 16",
    width: 16,
    height: 16,
    "aria-hidden": "true",
  })) {
    svg.setAttribute(name, value);
  }
  shape.setAttribute("d", path);
  shape.setAttribute("fill", "currentColor");
  svg.append(shape);
  return svg;
}

export const ICONS = {
  first: "M2 2h2.4v12H2zM14 2v12L5.5 8z",
  back: "M11.5 2v12L3 8z",
  play: "M4 2l10 6-10 6z",
  pause: "M3.5 2h3.2v12H3.5zM9.3 2h3.2v12H9.3z",
  last: "M11.6 2H14v12h-2.4zM2 2v12l8.5-6z",
};

export function clear(element, ...children) {
  element.replaceChildren(...children);
  return element;
}
