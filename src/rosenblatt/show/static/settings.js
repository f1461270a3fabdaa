// Settings: the form that chooses the examples and the algorithm.
import { ALGORITHMS, limitsOf, ORDERS, SIGN_OF_ZERO } from "./address.js";
import { button, make } from "./controls.js";
import { fileState, isProjected, PROJECTION } from "./examples.js";
import { formatCount } from "./numbers.js";

const DATA = {
  separable: "Separable",
  narrow: "Narrow margin",
  noisy: "Noisy",
  xor: "XOR",
  ring: "Ring",
  credit: "Credit, two features",
  three: "Three labels",
};
// Names of the options of `zero` for more than two labels.
const EQUAL = { ...SIGN_OF_ZERO, negative: "the earlier label's", positive: "the later label's" };

export class Settings {
  constructor(form, page) {
    this.form = form;
    this.page = page;
    this.file = page.own;
    form.addEventListener("submit", (event) => event.preventDefault());
    this.narrow = window.matchMedia("(max-width: 78rem)");
    this.narrow.addEventListener("change", () => this.putChoices());
    this.build();
  }

  // Put the two main choices at the top of the page where the style sheet puts the form below the
  // picture: with large type and on narrow screens.
  putChoices() {
    const atTop = this.isLarge || this.narrow.matches;
    const top = document.getElementById("choices");
    if (atTop === (this.data.field.parentElement === top)) return;
    if (atTop) top.replaceChildren(this.data.field, this.algorithm.field);
    else {
      this.again.before(this.data.field);
      this.order.field.before(this.algorithm.field);
    }
  }

  build() {
    const changed = (values) => this.page.set({ t: 0, ...values });
    const chosen = (name) => (value) => changed({ [name]: value });
    const named = [...Object.entries(DATA), ...(this.file ? [["file", this.file.name]] : [])];
    const columns = this.file ? this.file.columns.map((name) => [name, name]) : [];
    this.data = choice("Data set", [...named, ["own", "Drawn by hand"]], (value) =>
      changed({ ...(value === "file" ? fileState(this.file) : { data: value }), points: null }),
    );
    this.own = this.data.select.querySelector('option[value="own"]');
    this.again = button("Resample", null, () => changed({ points: null, seed: this.seed + 1 }));
    const all = this.file?.labels.length > 2 ? [] : [[PROJECTION, "all features, projected"]];
    this.x = choice("Horizontal axis", [...columns, ...all], (x) => {
      const y = this.y.select.value || columns[1]?.[0] || x;
      changed({ x, y: x === PROJECTION ? x : y });
    });
    this.y = choice("Vertical axis", columns, chosen("y"));
    this.algorithm = choice("Algorithm", Object.entries(ALGORITHMS), (value) =>
      changed({ algorithm: value, order: isPocket(value) ? "random" : "cycle" }),
    );
    this.order = choice("Order of visits", Object.entries(ORDERS), chosen("order"));
    this.zero = choice("sign(0) is", Object.entries(SIGN_OF_ZERO), chosen("zero"));
    this.eta = number("Learning rate η", "eta", chosen("eta"));
    const startChanged = () =>
      changed({ start: this.start.map((input) => Number(input.value) || 0) });
    this.start = [0, 1, 2].map((i) =>
      numberInput("start", startChanged, { "aria-label": `Initial w${i}` }),
    );
    const startLegend = make("legend", {}, "Initial weights w(0)");
    this.startFields = make("fieldset", {}, startLegend, ...this.start);
    this.max_updates = number("Maximum number of updates", "max_updates", chosen("max_updates"));
    this.random_state = number("Random seed", "random_state", chosen("random_state"));
    this.place = coordinateFields((x, y) => this.page.addAt(x, y));
    this.note = make("p", { class: "small" });
    document.getElementById("choices").replaceChildren();
    this.form.replaceChildren(
      make("h2", {}, "Examples"),
      this.data.field,
      this.again,
      fileField((file) => this.page.open(file)),
      this.x.field,
      this.y.field,
      this.note,
      this.place,
      make("h2", {}, "Algorithm"),
      this.algorithm.field,
      this.order.field,
      this.random_state.field,
      this.eta.field,
      this.zero.field,
      this.startFields,
      this.max_updates.field,
    );
  }

  // With more than two labels there is no field for w(0), and equal scores take the place of
  // sign(0).
  showLabels({ many }) {
    this.startFields.hidden = many;
    this.zero.label.textContent = many ? "Equal scores are" : "sign(0) is";
    for (const option of this.zero.select.options)
      option.textContent = (many ? EQUAL : SIGN_OF_ZERO)[option.value];
  }

  show(state) {
    this.seed = state.seed;
    this.isLarge = state.type === "large";
    this.putChoices();
    const file = state.data === "file" && !state.points;
    const projected = isProjected(state);
    this.own.hidden = this.own.disabled = !state.points;
    this.data.select.value = state.points ? "own" : state.data;
    this.again.hidden = file || Boolean(state.points) || state.data === "xor";
    this.x.field.hidden = !file;
    this.y.field.hidden = !file || projected;
    if (file)
      [this.x.select.value, this.y.select.value] = [projected ? PROJECTION : state.x, state.y];
    this.note.textContent = file ? fileNote(this.file, projected) : "";
    this.note.hidden = !file;
    this.place.hidden = projected;
    this.algorithm.select.value = state.algorithm;
    this.order.select.value = state.algorithm === "online" ? "cycle" : state.order;
    this.order.select.disabled = state.algorithm === "online";
    this.random_state.field.hidden =
      state.algorithm === "online" || ["cycle", "first"].includes(state.order);
    this.zero.select.value = state.zero;
    setValue(this.eta.input, state.eta);
    setValue(this.random_state.input, state.random_state);
    setValue(this.max_updates.input, state.max_updates);
    this.max_updates.field.hidden = state.algorithm === "online";
    this.start.forEach((input, i) => {
      setValue(input, state.start[i]);
      input.disabled = projected;
    });
  }
}

const isPocket = (algorithm) => algorithm === "pocket" || algorithm === "ratchet";

function fileNote(file, projected) {
  const some =
    file.X.length < file.rows
      ? `${formatCount(file.X.length)} of ${formatCount(file.rows)} rows, chosen at random. `
      : "";
  const drawn =
    file.columns.length === 1
      ? "Trained on the one feature; points are spread upwards to be seen."
      : `Trained on all ${file.columns.length} features; drawn along w and the first remaining principal direction.`;
  const how = projected
    ? `${drawn} Points cannot be moved.`
    : "Trained on these two features alone.";
  return some + how;
}

function setValue(input, value) {
  if (document.activeElement !== input || Number(input.value) !== value)
    input.value = String(value);
}

function choice(label, options, changed) {
  const select = make(
    "select",
    { onchange: () => changed(select.value) },
    ...options.map(([value, text]) => make("option", { value }, text)),
  );
  const name = make("span", {}, label);
  return { select, label: name, field: make("label", { class: "field" }, name, select) };
}

function number(label, name, changed) {
  const input = numberInput(name, changed);
  return { input, field: make("label", { class: "field" }, make("span", {}, label), input) };
}

function numberInput(name, changed, more = {}) {
  const onchange = () => isValid(input) && changed(Number(input.value));
  const input = make("input", { ...limitsOf(name), ...more, onchange });
  return input;
}

// Check a number, and mark it with its allowed range if it is not valid.
function isValid(input) {
  const valid = input.value !== "" && input.checkValidity();
  input.setAttribute("aria-invalid", String(!valid));
  const [least, most] = [Number(input.min), Number(input.max)].map((v) =>
    v.toLocaleString("en-US"),
  );
  input.title = valid ? "" : `a number from ${least} to ${most}`;
  const hint = input.parentElement.querySelector(".hint");
  hint?.remove();
  if (!valid) input.after(make("small", { class: "hint", role: "alert" }, input.title));
  return valid;
}

// Create a field to choose a file, for users who cannot drop one on the page.
function fileField(open) {
  const input = make("input", {
    type: "file",
    accept: ".csv,.tsv,.txt,text/csv,text/plain",
    onchange: () => open(input.files[0]),
  });
  return make("label", { class: "field" }, make("span", {}, "Open a file"), input);
}

// Create two fields for coordinates, and a button that adds the example.
function coordinateFields(add) {
  const addThere = () => {
    if ([x, y].every(isValid)) add(Number(x.value), Number(y.value));
  };
  const onkeydown = (event) => event.key === "Enter" && addThere();
  const [x, y] = ["x1", "x2"].map((name) => {
    const more = { value: 0, "aria-label": `${name} of a new example`, onkeydown };
    return make("input", { ...limitsOf("points"), ...more });
  });
  const legend = make("legend", {}, "Add at x1, x2");
  return make("fieldset", {}, legend, x, y, button("Add", null, addThere));
}
