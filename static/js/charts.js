// Charts to take away: a chart as it is drawn on the page becomes an SVG, a PNG or a CSV, in the
// browser. Charts are columns of tables here, so what is drawn is the table: its words, its lines
// and the pieces of SVG that the server put into it. Nothing is sent anywhere.

import { gettext, interpolate } from "./words.js";

const PAD = 16;
const CHART = [
  "table:has(.plot svg)", "table:has(td.heat)", ".panel-row", ".panels", "figure:has(svg.chart)",
  "svg.chart.wide",
].map((one) => `main ${one}`).join();
const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
  "stroke-linejoin", "stroke-linecap", "opacity", "paint-order", "vector-effect",
  "font-size", "font-weight", "text-anchor",
];
const FAMILIES = { inter: "Inter Variable", "crowdqc-serif": "Crowdqc Serif" };
const escaped = (text) =>
  text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
const round = (value) => Math.round(value * 10) / 10;
const unseen = (element) =>
  element.matches(".hidden, .popover, button, input, select, details.menu");
const tabular = (style) => style.fontVariantNumeric.includes("tabular-nums");
const squashed = (style) => style.clipPath !== "none" && style.position === "absolute";

// Drawing -------------------------------------------------------------------------------------

const ruler = document.createElement("canvas").getContext("2d");

// Each line of a text node where it stands, stretched to its width: other fonts are wider.
function lines(node, style, at) {
  const found = [];
  for (const { index, 0: word } of node.data.matchAll(/\S+/g)) {
    const range = document.createRange();
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const rect = range.getClientRects()[0];
    if (!rect?.width) continue;
    const last = found.at(-1);
    if (last && Math.abs(last.top - rect.top) < 2) {
      last.text += ` ${word}`;
      last.right = rect.right;
    } else found.push({ text: word, left: rect.left, right: rect.right, top: rect.top });
  }
  ruler.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const rise = ruler.measureText("x").fontBoundingBoxAscent;
  return found.map((line) =>
    `<text x="${round(line.left - at.x)}" y="${round(line.top + rise - at.y)}" `
    + `textLength="${round(line.right - line.left)}" lengthAdjust="spacingAndGlyphs" `
    + `fill="${style.color}" font-family="${escaped(style.fontFamily)}" `
    + `font-size="${style.fontSize}" font-weight="${style.fontWeight}" `
    + `font-style="${style.fontStyle}"${tabular(style) ? ' class="n"' : ""}>`
    + `${escaped(line.text)}</text>`);
}

function piece(svg, at) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, place) => {
    const style = getComputedStyle(originals[place]);
    for (const name of STYLES) {
      const value = style.getPropertyValue(name);
      if (value) element.setAttribute(name, value);
    }
    element.removeAttribute("class");
    if (element.tagName !== "text") return;
    element.setAttribute("font-family", style.fontFamily);
    if (tabular(style)) element.setAttribute("class", "n");
  });
  const rect = svg.getBoundingClientRect();
  copy.setAttribute("x", round(rect.left - at.x));
  copy.setAttribute("y", round(rect.top - at.y));
  copy.setAttribute("width", round(rect.width));
  copy.setAttribute("height", round(rect.height));
  copy.setAttribute("overflow", "visible");
  return new XMLSerializer().serializeToString(copy);
}

function drawn(element, at) {
  if (unseen(element)) return "";
  const style = getComputedStyle(element);
  if (style.display === "none" || style.visibility === "hidden" || squashed(style)) return "";
  if (element.tagName === "svg") return piece(element, at);
  const rect = element.getBoundingClientRect();
  const [x, y] = [round(rect.left - at.x), round(rect.top - at.y)];
  let body = "";
  if (!/, 0\)$|transparent/.test(style.backgroundColor))
    body += `<rect x="${x}" y="${y}" width="${round(rect.width)}" height="${round(rect.height)}" `
      + `fill="${style.backgroundColor}"/>`;
  if (parseFloat(style.borderBottomWidth) && style.borderBottomStyle !== "none") {
    const foot = round(rect.bottom - at.y - 0.5);
    body += `<path d="M${x} ${foot}h${round(rect.width)}" stroke="${style.borderBottomColor}"/>`;
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) body += lines(child, style, at).join("");
    else if (child.nodeType === Node.ELEMENT_NODE) body += drawn(child, at);
  }
  return body;
}

// In light colours, whatever the page has: the style is read at once, so nothing flickers.
function draw(chart) {
  const root = document.documentElement;
  const before = root.style.colorScheme;
  root.style.colorScheme = "light";
  try {
    const parts = [chart.root, ...(chart.legend ? [chart.legend] : [])];
    const rects = parts.map((part) => part.getBoundingClientRect());
    const left = Math.min(...rects.map((rect) => rect.left));
    const width = Math.max(...rects.map((rect) => rect.right)) - left + 2 * PAD;
    const head = 44;
    const at = { x: left - PAD, y: rects[0].top - head };
    const height = rects.at(-1).bottom - rects[0].top + head + 36;
    const ink = getComputedStyle(document.body).color;
    const recipe = document.querySelector(".recipe [data-copy]")?.dataset.copy ?? "";
    const said = `${document.querySelector("h1").textContent.trim()}. ${recipe}`;
    const most = Math.floor((width - 2 * PAD) / 5.6);
    const foot = said.length > most ? `${said.slice(0, most - 1)}…` : said;
    const words = 'font-family="Inter Variable, Inter, Arial, sans-serif"';
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${round(width)}" `
      + `height="${round(height)}" viewBox="0 0 ${round(width)} ${round(height)}">`
      + `<title>${escaped(chart.title)}</title><desc>${escaped(recipe)}</desc>`
      + "<style>.n{font-variant-numeric:tabular-nums}</style>"
      + `<rect width="100%" height="100%" fill="#ffffff"/>`
      + `<text x="${PAD}" y="28" ${words} font-size="16" font-weight="600" fill="${ink}">`
      + `${escaped(chart.title)}</text>${parts.map((part) => drawn(part, at)).join("")}`
      + `<text x="${PAD}" y="${round(height - 12)}" ${words} font-size="11" fill="${ink}">`
      + `${escaped(foot)}</text></svg>`;
  } finally {
    root.style.colorScheme = before;
  }
}

// Fonts of the page go into the picture: an image may load nothing.
async function withFonts(svg) {
  const links = [...document.querySelectorAll('link[rel="preload"][as="font"]')];
  const faces = await Promise.all(links.map(async (link) => {
    const name = Object.keys(FAMILIES).find((one) => link.href.includes(`/${one}`));
    const blob = await (await fetch(link.href)).blob();
    const reader = new FileReader();
    await new Promise((done) => {
      reader.onload = done;
      reader.readAsDataURL(blob);
    });
    return `@font-face{font-family:"${FAMILIES[name]}";font-weight:400 700;`
      + `src:url(${reader.result})}`;
  }));
  return svg.replace("<style>", `<style>${faces.join("")}`);
}

async function toPng(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await withFonts(svg))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * image.width, 2 * image.height];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

// The numbers ---------------------------------------------------------------------------------

// The ends of the interval that a template wrote into a cell, with every digit; null without one.
const endsOf = (cell) => {
  const intervals = cell.querySelectorAll("data[value]");
  return intervals.length === 1 ? intervals[0].value.split("|") : null;
};

// What stands in a cell that has an interval, the interval, and what is said below them.
function partsOf(cell) {
  const [main, below] = [cell.cloneNode(true), document.createElement("span")];
  below.append(...main.querySelectorAll("small"));
  for (const part of [main, below]) part.querySelectorAll("data").forEach((one) => one.remove());
  return [wordsOf(main), ...(endsOf(cell) ?? ["", ""]), wordsOf(below).replace(/^[;,\s]+/, "")];
}

function wordsOf(cell) {
  const copy = cell.cloneNode(true);
  copy.querySelectorAll(".help-mark, .popover, .hidden, svg, button").forEach((one) => one.remove());
  copy.querySelectorAll("small").forEach((one) => one.prepend("; "));
  copy.querySelectorAll("br, p, li, div, span").forEach((one) => one.prepend(" "));
  const text = copy.textContent.trim().replace(/\s+/g, " ").replace(/ ?; /g, "; ");
  const number = text.replaceAll("\u2212", "-").replace(/^([+-]) /, "$1");
  if (/^[+-]?(\d{1,3}(,\d{3})+|\d*)(\.\d+)?%?$/.test(number) && /\d/.test(number))
    return number.replaceAll(",", "").replace(/^([+-]?)\./, "$10.");
  return /^'*[=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text;
}

// The cells of a row, each with the column where it begins.
function placed(row) {
  let at = 0;
  return [...row.cells].map((cell) => ({ cell, at: (at += cell.colSpan) - cell.colSpan }));
}

// The columns of the file by those of the page: none of drawings and links; those of figures have
// the names and the numbers, with every digit, that the server wrote beside what it shows; those
// of intervals one for each part of their cells (see partsOf).
function columnsOf(rows) {
  const columns = [];
  for (const row of rows.filter((one) => one.closest("thead")))
    for (const { cell, at } of placed(row))
      if (cell.colSpan === 1)
        columns[at] = cell.matches(".plot, .act") ? [] : cell.dataset.csv?.split("|") ?? [wordsOf(cell)];
  const [filled, spread] = [new Set(), new Map()];
  for (const row of rows.filter((one) => !one.closest("thead")))
    for (const { cell, at } of placed(row)) {
      if (!columns[at]?.length) continue;
      if (!cell.dataset.csv) {
        spread.set(at, [...(spread.get(at) ?? []), cell]);
        continue;
      }
      const after = filled.has(at) ? undefined : cell.dataset.csvNames;
      if (after) columns[at] = after.split("|").map((name) => `${columns[at][0]} ${name}`.trim());
      filled.add(at);
    }
  return columns.map((names, at) => {
    const cells = filled.has(at) ? [] : spread.get(at) ?? [];
    if (!cells.some(endsOf)) return { names, figures: filled.has(at), parts: [] };
    const rows = cells.map(partsOf);
    const parts = [0, 1, 2, 3].filter((part) => rows.some((row) => row[part]));
    const ends = ["", "low", "high", "note"];
    return { names: parts.map((part) => `${names[0]} ${ends[part]}`.trim()), figures: false, parts };
  });
}

function fieldsOf({ cell, at }, columns) {
  const own = columns.slice(at, at + cell.colSpan);
  const empty = own.flatMap(({ names, figures, parts }) =>
    (figures || parts.length ? names : names.slice(0, 1)).map(() => ""));
  if (own[0]?.figures && cell.colSpan === 1 && cell.closest("thead")) return own[0].names;
  if (cell.dataset.csv && own[0]?.figures) return cell.dataset.csv.split("|");
  if (own[0]?.parts.length && cell.colSpan === 1) {
    const whole = partsOf(cell);
    return cell.closest("thead") ? own[0].names : own[0].parts.map((part) => whole[part]);
  }
  if (empty.length && !(own[0].figures && !cell.closest("thead"))) empty[0] = wordsOf(cell);
  return empty;
}

function toCsv(table) {
  const rows = [...table.rows].filter((row) => !row.closest("tfoot"));
  const grouped = rows.some((row) => row.matches(".group-head"));
  const columns = columnsOf(rows.filter((row) => !row.matches(".group-head")));
  let group = "";
  const made = [];
  for (const row of rows) {
    if (row.matches(".group-head")) {
      group = wordsOf(row.cells[0]);
      continue;
    }
    const line = placed(row).flatMap((one) => fieldsOf(one, columns));
    if (grouped) line.unshift(row.closest("thead") ? "Group" : group);
    made.push(line.map((text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)));
  }
  return `${made.map((line) => line.join(",")).join("\r\n")}\r\n`;
}

// The menus -----------------------------------------------------------------------------------

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// As the server names files: task-16-run-2-ratings; further charts of a page have a number.
function nameOf(chart) {
  const where = location.pathname.split("/").filter(Boolean);
  const [kind, number, ...rest] = where[0] === "projects" ? where.slice(2) : where;
  const run = new URLSearchParams(location.search).get("run");
  const place = [...document.querySelectorAll("[data-offered]")].indexOf(chart.root);
  const parts = kind === "tasks" ? ["task", number] : [kind, number];
  if (run) parts.push("run", run);
  return [...parts, ...rest, place ? place + 1 : ""].filter(Boolean).join("-").slice(0, 60);
}

async function take(chart, form) {
  const name = nameOf(chart);
  if (form === "csv") save(new Blob(["\ufeff", toCsv(chart.table)], { type: "text/csv" }), `${name}.csv`);
  else if (form === "svg") save(new Blob([draw(chart)], { type: "image/svg+xml" }), `${name}.svg`);
  else save(await toPng(draw(chart)), `${name}.png`);
}

function titleOf(root, head) {
  const own = root.querySelector(":scope > :is(caption, figcaption, h3)")?.textContent ?? "";
  const heading = head?.querySelector("h2, h3")?.cloneNode(true);
  heading?.querySelectorAll(".help-mark, .popover").forEach((one) => one.remove());
  return (own || heading?.textContent || document.querySelector("h1").textContent)
    .trim().replace(/\s+/g, " ");
}

function offer(root) {
  if (root.closest("[data-offered], aside, .panel, details.menu")) return;
  root.dataset.offered = "";
  const box = root.closest(".scroll") ?? root;
  let head = box.previousElementSibling;
  while (head && !head.matches(".section-head, table, .scroll, svg")) head = head.previousElementSibling;
  if (!head?.matches(".section-head") || head.querySelector(":scope > .chart-tools")) head = null;
  let legend = box.nextElementSibling;
  if (!legend?.matches(".legend")) legend = null;
  const near = root.closest("section") ?? box.parentElement;
  const table = root.tagName === "TABLE"
    ? root : near.querySelector("table") ?? near.nextElementSibling?.querySelector("table");
  const chart = { root, legend, table, title: titleOf(root, head) };
  const menu = document.createElement("details");
  menu.className = "menu chart-tools";
  menu.dataset.menu = "";
  const forms = [["svg", "SVG", gettext("for print")], ["png", "PNG", gettext("for slides, 2×")]];
  if (table) forms.unshift(["csv", "CSV", gettext("the numbers")]);
  menu.innerHTML = '<summary></summary><div class="menu-list"></div>';
  menu.querySelector("summary").textContent = gettext("Download");
  menu.querySelector("summary").setAttribute("aria-label", interpolate(gettext("Download: %(title)s"), { title: chart.title }, true));
  for (const [form, label, use] of forms) {
    const button = document.createElement("button");
    button.type = "button";
    button.innerHTML = `${label} <small>${use}</small>`;
    button.addEventListener("click", () => take(chart, form));
    menu.lastChild.append(button);
  }
  menu.lastChild.addEventListener("click", () => (menu.open = false));
  if (head) {
    // What the server writes of the same table has every digit: it takes its place in the menu.
    for (const server of head.querySelectorAll("a[data-form]")) {
      const place = forms.findIndex(([form]) => form === server.dataset.form);
      server.innerHTML = menu.lastChild.children[place].innerHTML;
      menu.lastChild.children[place].replaceWith(server);
    }
    head.append(menu);
  } else box.after(menu);
}

const offerAll = () => document.querySelectorAll(CHART).forEach(offer);
offerAll();
document.addEventListener("htmx:afterSettle", offerAll);
