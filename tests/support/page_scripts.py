"""What the crawl has a browser find out about the page that it shows."""

from __future__ import annotations

# What axe finds serious or critical, in words: rules whose breach is less are left out, and what
# else it knows of a page stays there, as most of the time goes into handing it over.
# Contrast takes four fifths of that: where elements of one kind are drawn with the same colours on
# the same backgrounds, as the rows of a table are, it is read of two of them, on one page of all.
# Of neighbours that are built of the same parts, as rows are, it reads five, and the others are
# taken out meanwhile: on the page of the API, with its 15,000 elements, it took as long as on fifty
# others.
SERIOUS = """async ([only, known]) => {
  const out = [];
  const itself = (one) => [one.parentElement.tagName, one.tagName, one.getAttribute("class"),
    one.hidden].join(" ");
  const built = (one) => [...new Set([one, ...one.querySelectorAll("*")].map(itself))].sort()
    .join();
  for (const box of [...document.querySelectorAll("main, main :not(svg, svg *)")].reverse()) {
    if (box.children.length <= 5) continue;
    const alike = Map.groupBy(box.children, built);  // those within them first
    for (const one of [...alike.values()].flatMap((some) => some.slice(5))) {
      out.push([box, one, one.nextSibling]);
      one.remove();
    }
  }
  const putBack = () => out.reverse().forEach(([box, one, next]) => box.insertBefore(one, next));
  const under = new Map([[document.documentElement, ""]]);
  const ground = (one) => {  // what lies below its text, from the page up
    if (!under.has(one)) {
      const { backgroundColor, backgroundImage, opacity, filter, position } = getComputedStyle(one);
      const plain = backgroundColor === "rgba(0, 0, 0, 0)" && backgroundImage === "none"
        && opacity === "1" && filter === "none" && position === "static";
      const own = [backgroundColor, backgroundImage, opacity, filter, position].join();
      under.set(one, ground(one.parentElement) + (plain ? "" : `|${own}`));
    }
    return under.get(one);
  };
  const drawn = (one) => {
    const { color, fontSize, fontWeight, textShadow } = getComputedStyle(one);
    const off = Boolean(one.closest(":disabled, [aria-disabled=true], [inert]"));
    return [one.tagName, one.getAttribute("class"), one.checkVisibility(), off, color, fontSize,
      fontWeight, textShadow, ground(one)].join();
  };
  const number = (words) => {  // 53 bits of a kind, as all of them travel with each page
    let [one, two] = [0xdeadbeef, 0x41c6ce57];
    for (let place = 0; place < words.length; place++) {
      one = Math.imul(one ^ words.charCodeAt(place), 2654435761);
      two = Math.imul(two ^ words.charCodeAt(place), 1597334677);
    }
    return 4294967296 * (2097151 & two) + (one >>> 0);
  };
  const [before, counts] = [new Set(known), new Map()];
  const read = [...document.body.querySelectorAll("*")].filter((one) => {
    if (![...one.childNodes].some((part) => part.nodeType === 3 && part.data.trim())
      && !one.matches("input, select, textarea")) return false;
    const kind = number(drawn(one));
    if (before.has(kind)) return false;
    counts.set(kind, (counts.get(kind) || 0) + 1);
    return counts.get(kind) <= 2;
  });
  if (only && !read.length) {
    putBack();
    return [[], []];
  }
  read.forEach((one) => one.setAttribute("data-axe-reads", ""));
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-axe-reads]" }] });
  const serious = (one) => ["serious", "critical"].includes(one.impact);
  const usual = (one) => one.enabled
    && !one.tags.includes("experimental") && !one.tags.includes("deprecated");
  const rules = only || axe._audit.rules.filter((one) => usual(one) && serious(one))
    .map((one) => one.id);
  const options = {
    runOnly: { type: "rule", values: rules },
    resultTypes: ["violations"], reporter: "no-passes", preload: false, iframes: false,
  };
  const { violations } = await axe.run(document, options);
  read.forEach((one) => one.removeAttribute("data-axe-reads"));
  putBack();
  const found = violations.filter(serious)
    .map((one) => [one, one.nodes[0].html.replace(' data-axe-reads=""', "")])
    .map(([one, html]) => `${one.id} (${one.impact}): ${html.slice(0, 160)}`);
  return [found, [...counts.keys()]];
}"""
# What reaches beyond the window and no box of its own cuts off or scrolls.
BEYOND = """() => {
  const wide = document.documentElement.clientWidth;
  const held = (one) => {
    for (let box = one.parentElement; box && box !== document.body; box = box.parentElement)
      if (getComputedStyle(box).overflowX !== "visible") return true;
    return false;
  };
  return [...document.querySelectorAll("body *")]
    .filter((one) => one.getBoundingClientRect().right > wide + 1 && !held(one))
    .slice(0, 3)
    .map((one) => `${one.tagName.toLowerCase()}.${one.getAttribute("class") || ""}`);
}"""
# What a finger hits too little of: less than 24 px of a link, a button or a field, and less than 44
# of a button that looks like one or of a choice. What stands in a line of text is as tall as that.
TARGETS = """() => {
  const kinds = "a[href], button, input:not([type=hidden]), select, textarea, summary";
  const found = [];
  for (const one of document.querySelectorAll(kinds)) {
    const own = one.matches("[type=checkbox], [type=radio]") && one.closest("label") || one;
    if (!own.checkVisibility({ visibilityProperty: true }) || own.closest("[inert]")) continue;
    own.scrollIntoView({ block: "center", behavior: "instant" });
    const [box] = own.getClientRects();
    if (!box || box.width <= 2 || box.height <= 2) continue;  // for screen readers alone
    const text = own.parentElement.textContent.trim() !== own.textContent.trim();
    if (own.matches("p a, li a, dd a, .note a, .help-mark") && text) continue;
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    const hits = (at) => {
      const met = document.elementFromPoint(x, at);
      return met !== null && (own.contains(met) || met.contains(own) && met.matches("label"));
    };
    if (!hits(y)) continue;  // another thing lies over it, or it is scrolled away
    let [up, down] = [0, 0];
    while (up < 30 && hits(y - up - 1)) up += 1;
    while (down < 30 && hits(y + down + 1)) down += 1;
    const main = own.matches("button:not(.link), .button:not(.link), label, select, textarea");
    const least = main && !own.closest(".segmented") ? 44 : 24;
    const tall = up + down + 1;
    if (tall < least - 1 || box.width < 20)
      found.push(`${own.outerHTML.slice(0, 90)}: ${Math.round(box.width)} by ${tall} px`);
  }
  return found;
}"""
# How long its answer took, the buttons of its header, and its crumbs.
ABOUT = """() => {
  const [{ responseEnd, requestStart }] = performance.getEntriesByType("navigation");
  const all = [...document.querySelectorAll(".page-head .actions :is(button, .button)")]
    .filter((one) => one.checkVisibility());
  const next = document.querySelectorAll(".result-head > .primary, .result-head > form .primary");
  return {
    seconds: (responseEnd - requestStart) / 1000,
    buttons: all.length,
    primary: all.filter((one) => one.matches(".primary")).length + next.length,
    hasFindings: document.querySelector(".result-head, .page-results") !== null,
    // Workers' pages load no htmx.
    dead: document.querySelector("script[src*='bundles/worker']")
      ? document.querySelectorAll("[hx-get], [hx-post]").length : 0,
    crumbs: [...document.querySelectorAll(".crumbs a")].map((one) => one.pathname),
  };
}"""
# By a script of the page: a selector of Playwright's own would load a long script into each page.
LINKS = """[...document.querySelectorAll("a[href]")].map((one) => one.href)"""
