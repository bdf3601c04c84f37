// Texts of scripts: in English as they stand here, else by the catalogue that came before this script.
export const gettext = window.gettext ?? ((text) => text);
export const ngettext = window.ngettext ?? ((one, many, count) => (count === 1 ? one : many));
export const interpolate =
  window.interpolate ?? ((text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => values[name]));

// How words are counted, as crowdqc/web/words.py has it: scripts without spaces by their signs.
const SIGNS =
  "\\u3005-\\u3007\\u3041-\\u3096\\u309d-\\u309f\\u30a1-\\u30fa\\u30fc-\\u30ff\\u3105-\\u312f" +
  "\\u31a0-\\u31bf\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\uff66-\\uff9f" +
  "\\u{20000}-\\u{323af}";
const RUNS =
  "\\u0e01-\\u0e3a\\u0e40-\\u0e4e\\u0e81-\\u0ebd\\u0ec0-\\u0ecd\\u0edc-\\u0edf\\u1000-\\u103f" +
  "\\u1050-\\u108f\\u109a-\\u109d\\u1780-\\u17d3\\u17d7\\u17dc\\u17dd\\ua9e0-\\ua9ef\\ua9fa-\\ua9fe" +
  "\\uaa60-\\uaa7f";
const unspaced = new RegExp(`[${SIGNS}]|[${RUNS}]{1,5}`, "gu");
const word = /[\p{L}\p{N}_][\p{L}\p{N}_'’-]*/gu;
export const countWords = (text) => text.replace(unspaced, " x ").replace(/\p{M}/gu, "").match(word)?.length ?? 0;
