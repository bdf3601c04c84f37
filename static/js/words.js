// Texts of scripts in English; in another language the catalogue that follows takes their place.
window.gettext ??= (text) => text;
window.ngettext ??= (one, many, count) => (count === 1 ? one : many);
window.interpolate ??= (text, values) => text.replace(/%\((\w+)\)s/g, (_, name) => values[name]);
