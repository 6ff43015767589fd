import { h, show } from "/pages/dom.js";

/** Where each value of a JSON text begins, by JSON pointer, as far as the text can be read; and what the cursor is in.
 * @param until stops there, and says the path that the place is in */
export function places(text, until = text.length) {
  const found = new Map();
  const stack = [];  // {pointer, key, index, array}
  let i = 0;
  const here = () => {
    const top = stack[stack.length - 1];
    if (!top) return "";
    return `${top.pointer}/${top.array ? top.index : String(top.key ?? "").replaceAll("~", "~0").replaceAll("/", "~1")}`;
  };
  const word = () => {
    const begin = i;
    if (text[i] === '"') {
      ++i;
      while (i < text.length && text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
      ++i;
    } else {
      while (i < text.length && !/[\s,:[\]{}"]/.test(text[i])) ++i;
    }
    return text.slice(begin, i);
  };
  let expectsKey = false;
  while (i < until) {
    const c = text[i];
    if (c === "{" || c === "[") {
      found.set(here(), i);
      stack.push({ pointer: here(), key: null, index: 0, array: c === "[" });
      expectsKey = c === "{";
      ++i;
    } else if (c === "}" || c === "]") {
      stack.pop();
      expectsKey = false;
      ++i;
    } else if (c === ",") {
      const top = stack[stack.length - 1];
      if (top?.array) ++top.index;
      expectsKey = Boolean(top) && !top.array;
      ++i;
    } else if (c === ":" || /\s/.test(c)) {
      ++i;
    } else {
      const begin = i;
      const read = word();
      if (i === begin) ++i;
      if (expectsKey && stack.length > 0) {
        try {
          stack[stack.length - 1].key = JSON.parse(read);
        } catch {
          stack[stack.length - 1].key = read;
        }
        found.set(here(), begin);
        expectsKey = false;
      } else {
        found.set(here(), found.get(here()) ?? begin);
      }
    }
  }
  const top = stack[stack.length - 1];
  return { found, inside: top ? top.pointer : "", key: top && !top.array ? top.key : null };
}

/** "job: /cohort/0/silo: ..." or "... at line 2, column 6: ...": the line, from 0. @param found as `places` says
 * @return nothing where none is named */
export function lineOf(problem, text, found) {
  const told = /at line (\d+), column/.exec(problem);
  if (told) return Number(told[1]) - 1;
  const pointer = /^[^:]*: (\/[^:]*):/.exec(problem);
  if (!pointer) return null;
  let sought = pointer[1];
  while (sought && !found.has(sought)) sought = sought.slice(0, sought.lastIndexOf("/"));
  return found.has(sought) ? text.slice(0, found.get(sought)).split("\n").length - 1 : null;
}

/** The text with other numbers at these pointers, and not a byte else changed.
 * @param numbers by JSON pointer, of members of objects */
export function withNumbers(text, numbers) {
  const { found } = places(text);
  const cuts = [...numbers].filter(([pointer]) => found.has(pointer))
    .map(([pointer, value]) => [found.get(pointer), value]).sort((one, other) => other[0] - one[0]);
  let out = text;
  for (const [begin, value] of cuts) {
    const key = /"(?:[^"\\]|\\.)*"\s*:\s*/y;
    key.lastIndex = begin;
    if (!key.test(out)) continue;
    const number = /-?[0-9][0-9.eE+-]*/y;
    number.lastIndex = key.lastIndex;
    const old = number.exec(out);
    if (old) out = out.slice(0, key.lastIndex) + String(value) + out.slice(key.lastIndex + old[0].length);
  }
  return out;
}

/** The schema of what stands at a pointer. @return nothing where the schema says nothing of it */
export function schemaAt(root, pointer) {
  const resolve = (node) => {
    for (let i = 0; node?.$ref && i < 20; ++i)
      node = node.$ref.slice(2).split("/").reduce((at, part) => at?.[part.replaceAll("~1", "/").replaceAll("~0", "~")], root);
    return node;
  };
  const choices = (node) => [node, ...(node?.oneOf || []), ...(node?.anyOf || []), ...(node?.allOf || [])].map(resolve)
    .filter(Boolean);
  let node = resolve(root);
  for (const part of pointer.split("/").slice(1).map((one) => one.replaceAll("~1", "/").replaceAll("~0", "~"))) {
    const next = choices(node).flatMap(choices).map((one) => /^\d+$/.test(part) && one.items ? one.items
      : one.properties?.[part]).find(Boolean);
    if (!next) return null;
    node = resolve(next);
  }
  const properties = {};
  for (const one of choices(node).flatMap(choices)) Object.assign(properties, one.properties || {});
  return { node, properties, resolve };
}

/** A text with numbers of lines, problems that lead to their lines, and the keys that may stand where the cursor is. */
export function editor(schema, changed) {
  const lines = h("pre", { "aria-hidden": "true" });
  const area = h("textarea", { id: "job-text", spellcheck: "false", "aria-label": "The job", wrap: "off",
    "aria-describedby": "problems",
    oninput: () => {
      bytes = null;
      changed();
      number();
      hint();
    },
    onscroll: () => { lines.scrollTop = area.scrollTop; }, onkeyup: () => hint(), onclick: () => hint() });
  const hints = h("section", { "aria-label": "What may stand here" });
  const problems = h("section", { id: "problems", "aria-live": "polite" });
  let wrong = new Set();
  let bytes = null;  // of a file, as long as nobody has changed its text: a job is its exact bytes

  function number() {
    const count = area.value.split("\n").length;
    lines.replaceChildren(...Array.from({ length: count }, (_, i) =>
      [wrong.has(i) ? h("b", {}, String(i + 1)) : String(i + 1), "\n"]).flat());
    lines.scrollTop = area.scrollTop;
  }
  function hint() {
    const { inside } = places(area.value, area.selectionStart);
    const found = schemaAt(schema(), inside);
    const keys = Object.entries(found?.properties || {}).slice(0, 60);
    show(hints, keys.length === 0 ? null : [h("h3", {}, inside ? `Keys of ${inside}` : "Keys of a job"),
      h("div.hints", { tabindex: 0, role: "group", "aria-label": "Keys" }, h("dl", {}, keys.map(([key, about]) => [
        h("dt", {}, h("button", { type: "button", "data-key": `key-${key}`, onclick: () => insert(`"${key}": `) }, key)),
        h("dd", {}, about.description || found.resolve(about)?.description || "")])))]);
  }
  function insert(text) {
    area.focus();
    area.setRangeText(text, area.selectionStart, area.selectionEnd, "end");
    bytes = null;
    changed();
    number();
  }
  function goTo(line) {
    const begin = area.value.split("\n").slice(0, line).join("\n").length + (line > 0 ? 1 : 0);
    const end = area.value.indexOf("\n", begin);
    area.focus();
    area.setSelectionRange(begin, end < 0 ? area.value.length : end);
    area.scrollTop = Math.max(0, line * parseFloat(getComputedStyle(area).lineHeight) - area.clientHeight / 2);
    hint();
  }
  return {
    element: h("div.editor", {}, lines, area), hints, problems,
    get text() { return area.value; },
    /** What is sent: a file's own bytes, until somebody types. */
    get payload() { return bytes ?? area.value; },
    /** @param content a text, or the bytes of a file */
    load(content) {
      bytes = typeof content === "string" ? null : content;
      area.value = typeof content === "string" ? content : new TextDecoder().decode(content);
      number();
      hint();
    },
    /** @param said a sentence a line, as `undertone validate` says it */
    refuse(said) {
      const { found } = said ? places(area.value) : { found: new Map() };
      const all = said.split("\n").filter(Boolean).slice(0, 50)
        .map((one) => ({ one, line: lineOf(one, area.value, found) }));
      wrong = new Set(all.map(({ line }) => line).filter((line) => line !== null));
      number();
      show(problems, all.length === 0 ? null : [h("h3", {}, all.length === 1 ? "One thing is wrong" :
        `${all.length} things are wrong`), h("ul.problems", {}, all.map(({ one, line }) => h("li", {}, line === null ? one
        : h("button", { type: "button", onclick: () => goTo(line) }, `line ${line + 1}: ${one.replace(/^job: /, "")}`))))]);
    },
  };
}
