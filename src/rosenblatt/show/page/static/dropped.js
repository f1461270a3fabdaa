// Dropped: a file of examples that is dropped on the page, read as far as a page can: lines of
// numbers with a column of two different answers, or else of up to five, the last of those there are.
import { MARKS } from "./marks.js";

export class NotReadError extends Error {}

// {name, columns, labels, rows, X, answers, verdict} of a text, as the page has own data.
export function readTable(name, text, most) {
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  if (lines.length < 3) throw new NotReadError(`${name} has no rows.`);
  const separator = [",", ";", "\t"].find((mark) => lines[0].includes(mark)) || " ";
  const cells = lines.map((line) => line.split(separator).map(plain));
  const isNumber = (cell) => cell !== "" && Number.isFinite(Number(cell));
  const hasHead = !cells[0].some(isNumber);
  const names = hasHead ? cells[0] : cells[0].map((_, j) => `column ${j + 1}`);
  const rows = cells.slice(hasHead ? 1 : 0);
  const wrong = rows.findIndex((row) => row.length !== names.length);
  if (wrong >= 0) {
    const line = wrong + (hasHead ? 2 : 1);
    throw new NotReadError(`${name}, line ${line}, has ${rows[wrong].length} values.`);
  }
  const different = names.map((_, j) => [...new Set(rows.map((row) => row[j]))]);
  const two = different.findLastIndex(({ length }) => length === 2);
  const again = Math.min(MARKS.length, rows.length / 2); // so few that they come again
  const few = different.findLastIndex(({ length }) => length > 2 && length <= again);
  const answer = two < 0 ? few : two;
  if (answer < 0) throw new NotReadError(`${name} has no column with two to five answers.`);
  const features = names
    .map((_, j) => j)
    .filter((j) => j !== answer && rows.every((row) => isNumber(row[j])));
  const labels = different[answer].sort(inOrder);
  if (!features.length) throw new NotReadError(`${name} has no column of numbers.`);
  if (two < 0 && features.length < 2)
    throw new NotReadError(`${name} has ${labels.length} answers, which need two columns.`);
  const kept = rows.filter((_, n) => n % Math.ceil(rows.length / most) === 0);
  return {
    name,
    columns: features.map((j) => names[j]),
    labels,
    rows: rows.length,
    X: kept.map((row) => features.map((j) => Number(row[j]))),
    answers: kept.map((row) => labels.indexOf(row[answer])).map((k) => (two < 0 ? k : 2 * k - 1)),
    verdict: null,
  };
}

function plain(cell) {
  return cell
    .trim()
    .replace(/^"(.*)"$/, "$1")
    .replaceAll('""', '"');
}

// Numbers by size, other answers by letter, as Python sorts them.
function inOrder(a, b) {
  const numbers = Number.isFinite(Number(a)) && Number.isFinite(Number(b));
  return numbers ? Number(a) - Number(b) : a < b ? -1 : 1;
}
