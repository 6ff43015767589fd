// Elements from values. Text is always text: nothing that a job, a silo or a reason says is read as HTML.

/** An element. @param spec "tag.class.class" @param attributes by name; "on..." are listeners, false and null are left
 * out @param children texts, elements, arrays of them; false and null are left out */
export function h(spec, attributes = {}, ...children) {
  const [tag, ...classes] = spec.split(".");
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "disabled" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A table that scrolls by itself. @param header texts @param rows arrays of cells; the first of each is its header */
export function table(caption, header, rows) {
  return h("div", {}, h("p.caption", {}, caption),
    h("div.wide", { tabindex: 0, role: "region", "aria-label": caption },
      h("table", {}, h("thead", {}, h("tr", {}, header.map((text) => h("th", { scope: "col" }, text)))),
        h("tbody", {}, rows.map((cells) => h("tr", {},
          cells.map((cell, i) => i === 0 ? h("th", { scope: "row" }, cell) : h("td", {}, cell))))))));
}

/** Puts new content in place of the old one, and leaves the focus where it was: an element that has an id, or a key. */
export function show(place, ...content) {
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  const name = focused && (focused.id || focused.dataset.key);
  place.replaceChildren(...content.flat(Infinity).filter(Boolean));
  if (!name) return;
  const again = [...place.querySelectorAll("[id], [data-key]")].find((one) => (one.id || one.dataset.key) === name);
  if (again) again.focus({ preventScroll: true });
}

export const state = (name) => h(`span.state.${name}`, {}, name);

/** A number as people read it: four digits. */
export function number(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "-";
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)) return value.toExponential(3);
  return String(Number(value.toPrecision(4)));
}

/** A promise may look larger than it is, never smaller. */
export function promised(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return "-";
  const shown = Number(value.toPrecision(4));
  if (shown >= value || value === 0) return number(shown);
  return number(shown + 10 ** (Math.floor(Math.log10(value)) - 3));
}

export function bytes(count) {
  if (count < 1024) return `${count} B`;
  if (count < 1024 ** 2) return `${number(count / 1024)} KiB`;
  return `${number(count / 1024 ** 2)} MiB`;
}

export function duration(ms) {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
}

export const time = (text) => text ? h("time", { datetime: text }, text.replace("T", " ").replace("Z", " UTC")) : "-";
