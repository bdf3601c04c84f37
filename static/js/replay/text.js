// A text as it was written, rebuilt from its changes: the text at any time, what of it came from
// where, and what was deleted shortly before. Pure: no page is touched here.

const EVERY = 200; // keystrokes between two checkpoints
const STRUCK_MS = 10000; // how long what was deleted stays to be seen
const MARK = /\[\s*\d{1,4}(?:\s*[,;]\s*\d{1,4})*\s*[,;]?\s*\]/g; // as annotation/task_types/writing/citations.py

// Runs of keys as single keystrokes: {time, at, gone, put, parts: [[length, source, passage]]}.
function keystrokes(changes) {
  const steps = [];
  let now = 0;
  for (const [time, at, gone, put, parts, kind, ms] of changes) {
    now = Math.max(now, time);
    const quiet = kind === "shown" || kind === "sync"; // nobody deleted here just now
    if (!ms?.length) {
      steps.push({ time: now, at, gone, put, parts, quiet });
      continue;
    }
    const [, source, passage] = parts[0] ?? [0, "", 0];
    ms.forEach((after, k) => {
      now += after;
      steps.push(
        put
          ? { time: now, at: at + k, gone: 0, put: put[k], parts: [[1, source, passage]], quiet }
          : { time: now, at: at + gone - 1 - k, gone: 1, put: "", parts: [], quiet },
      );
    });
  }
  return steps;
}

// Origins as [length, source, passage] that add up to the text; joined where they are the same.
function push(list, part) {
  if (!part[0]) return;
  const last = list.at(-1);
  if (last && last[1] === part[1] && last[2] === part[2]) {
    list[list.length - 1] = [last[0] + part[0], part[1], part[2]];
  } else list.push(part);
}

// Only what the change touches is looked at; ``state`` becomes the one after the step.
function apply(state, { at, gone, put, parts: added }) {
  const { parts } = state;
  const end = at + gone;
  let [first, place] = [0, 0];
  while (first < parts.length && place + parts[first][0] < at) place += parts[first++][0];
  let [last, reach] = [first, place];
  while (last < parts.length && reach + parts[last][0] <= end) reach += parts[last++][0];
  const between = [];
  if (first < parts.length) push(between, [at - place, parts[first][1], parts[first][2]]);
  added.forEach((part) => push(between, part));
  if (last < parts.length) {
    push(between, [reach + parts[last][0] - end, parts[last][1], parts[last][2]]);
  }
  parts.splice(first, last - first + 1, ...between);
  state.text = state.text.slice(0, at) + put + state.text.slice(end);
}

// Pieces with what is gone among them: {text, source, passage, gone}; joined where they are alike.
function join(list, piece) {
  if (!piece.text) return;
  const last = list.at(-1);
  const alike = last && last.gone === piece.gone && last.source === piece.source;
  if (alike && last.passage === piece.passage) {
    list[list.length - 1] = { ...last, text: last.text + piece.text };
  } else list.push(piece);
}

function strike(pieces, step) {
  const found = [];
  let place = 0;
  let done = false;
  const end = step.at + step.gone;
  const insert = () => {
    if (done) return;
    done = true;
    let from = 0;
    for (const [length, source, passage] of step.parts) {
      join(found, { text: step.put.slice(from, (from += length)), source, passage, gone: false });
    }
  };
  for (const piece of pieces) {
    if (piece.gone) {
      join(found, piece);
      continue;
    }
    const { text } = piece;
    if (done || place + text.length < step.at) {
      join(found, piece);
      place += text.length;
      continue;
    }
    const [a, b] = [step.at - place, end - place].map((n) => Math.max(0, Math.min(n, text.length)));
    join(found, { ...piece, text: text.slice(0, a) });
    if (!step.quiet) join(found, { ...piece, text: text.slice(a, b), gone: true });
    if (place + text.length > end) insert(); // what is new stands after what it replaced
    join(found, { ...piece, text: text.slice(b) });
    place += text.length;
  }
  insert();
  return found;
}

const copy = ({ text, parts }) => ({ text, parts: [...parts] });

export class Text {
  constructor(changes) {
    this.steps = keystrokes(changes);
    this.checkpoints = [{ text: "", parts: [] }];
    this.last = { count: 0, state: { text: "", parts: [] } };
    const state = { text: "", parts: [] };
    this.steps.forEach((step, k) => {
      apply(state, step);
      if ((k + 1) % EVERY === 0) this.checkpoints.push(copy(state));
    });
  }

  // How many keystrokes have happened by a time, that moment included.
  count(time) {
    let [low, high] = [0, this.steps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.steps[middle].time <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The text after so many keystrokes: on from the last one asked for, or from a checkpoint.
  after(count) {
    const from = Math.floor(count / EVERY) * EVERY;
    let { count: k, state } = this.last;
    if (k > count || k < from) [k, state] = [from, copy(this.checkpoints[from / EVERY])];
    for (; k < count; k++) apply(state, this.steps[k]);
    this.last = { count, state };
    return state;
  }

  // What is to be seen at a time: pieces, the caret, the plain text, the keystrokes so far.
  at(time) {
    const count = this.count(time);
    const before = Math.min(count, this.count(time - STRUCK_MS));
    const state = this.after(before);
    let pieces = [];
    let place = 0;
    for (const [length, source, passage] of state.parts) {
      const text = state.text.slice(place, (place += length));
      pieces.push({ text, source, passage, gone: false });
    }
    for (let k = before; k < count; k++) pieces = strike(pieces, this.steps[k]);
    const last = this.steps[count - 1];
    const text = pieces.map((piece) => (piece.gone ? "" : piece.text)).join("");
    return { count, pieces, text, caret: last ? last.at + last.put.length : 0 };
  }
}

// Lines of runs: {text, source, passage, gone, mark, number, caret}; a run of a citation has
// ``mark``, one of its numbers ``number``, and before a run with ``caret`` the caret stands.
export function lines({ pieces, text, caret }, atEnd) {
  const cuts = new Map(); // place in the plain text -> what starts there
  const marks = [...text.matchAll(MARK)].map((found) => [found.index, found[0].length]);
  for (const [start, length] of marks) {
    cuts.set(start, true).set(start + length, true);
    for (const found of text.slice(start, start + length).matchAll(/\d+/g)) {
      cuts.set(start + found.index, true).set(start + found.index + found[0].length, true);
    }
  }
  if (!atEnd) cuts.set(caret, true);
  const sorted = [...cuts.keys()].sort((a, b) => a - b);
  const all = [[]];
  let [place, next, mark] = [0, 0, 0];
  const add = (piece, part, here) => {
    while (marks[mark] && marks[mark][0] + marks[mark][1] <= here) mark++;
    const inside = !piece.gone && marks[mark] && here >= marks[mark][0];
    const number = inside && /^\d+$/.test(part) ? Number(part) : 0;
    const [words, ...more] = piece.gone ? [part.replaceAll("\n", " ")] : part.split("\n");
    const run = { ...piece, mark: Boolean(inside), number, text: words };
    run.caret = !piece.gone && !atEnd && here === caret && part !== "";
    if (words || run.caret) all.at(-1).push(run);
    more.forEach((line) => all.push(line ? [{ ...run, text: line, caret: false }] : []));
  };
  for (const piece of pieces) {
    if (piece.gone) {
      add(piece, piece.text, place);
      continue;
    }
    const end = place + piece.text.length;
    const start = place;
    while (place < end) {
      while (sorted[next] <= place) next++;
      const stop = Math.min(end, sorted[next] ?? end);
      add(piece, piece.text.slice(place - start, stop - start), place);
      place = stop;
    }
  }
  if (!atEnd && caret >= text.length) {
    all.at(-1).push({ text: "", source: "", passage: 0, gone: false, mark: false, caret: true });
  }
  return all;
}

// Real and folded time, in milliseconds; folds are [start, end, kept].
export class Time {
  constructor(length, folds) {
    let cut = 0;
    this.length = length;
    this.folds = folds.map(([start, end, kept]) => {
      const fold = { start, end, kept, at: start - cut };
      cut += end - start - kept;
      return { ...fold, after: cut };
    });
    this.total = length - cut;
  }

  folded(real) {
    const fold = this.folds.findLast((one) => one.start <= real);
    if (!fold) return real;
    if (real >= fold.end) return real - fold.after;
    return fold.at + ((real - fold.start) / (fold.end - fold.start)) * fold.kept;
  }

  real(folded) {
    const fold = this.folds.findLast((one) => one.at <= folded);
    if (!fold) return folded;
    if (folded >= fold.at + fold.kept) return folded + fold.after;
    return fold.start + ((folded - fold.at) / fold.kept) * (fold.end - fold.start);
  }

  // The fold that a real time lies in, its end left out.
  within(real) {
    return this.folds.find((one) => one.start <= real && real < one.end);
  }
}
