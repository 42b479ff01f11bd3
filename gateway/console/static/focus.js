// Keeps the keyboard where it is while parts of the page are made anew.

const reachable = "a[href], button, input, select, textarea, summary";

// What had the focus and is not there yet, in which node it may come, and what has the focus
// instead.
let awaited = null;

// keepFocus changes what is in a node. If the focus was in there it goes to the same thing
// again; where that is yet to come, as soon as it is there, unless the person moved on.
export function keepFocus(node, change) {
  const active = document.activeElement;
  const waits = awaited !== null && active === awaited.instead && awaited.within.contains(node);
  const inside = node.contains(active);
  const wanted = waits ? awaited.wanted : inside && describe(node, active);
  change();
  if (!wanted) return;
  const found = find(node, wanted);
  if (found) {
    awaited = null;
    found.focus({ preventScroll: !waits });
  } else if (inside && !node.contains(document.activeElement)) {
    awaited = { wanted, within: node, instead: focusTop(node) };
  }
}

// focusTop takes those who do not see the page to the beginning of a node.
export function focusTop(node) {
  awaited = null;
  const top = node.querySelector("h1") ?? node;
  if (!top.hasAttribute("tabindex")) top.tabIndex = -1;
  top.focus({ preventScroll: true });
  return top;
}

// describe says what an element is: a heading, or a control by its name, or by its place
// and text in its row, or else in the node.
function describe(node, element) {
  if (element.matches("h1")) return { heading: true };
  const row = element.closest("[data-key]");
  const among = controls(row ?? node);
  const same = among.filter(alike(element.tagName, element.textContent));
  return { name: element.name, row: row?.dataset.key, at: among.indexOf(element), tag: element.tagName, text: element.textContent, nth: same.indexOf(element) };
}

function find(node, { heading, name, row, at, tag, text, nth }) {
  if (heading) return node.querySelector("h1");
  if (name) return node.querySelector(`[name="${CSS.escape(name)}"]`);
  if (row === undefined) return controls(node).filter(alike(tag, text))[nth];
  const again = Array.from(node.querySelectorAll("[data-key]")).find((r) => r.dataset.key === row);
  const among = again ? controls(again) : [];
  return among.find(alike(tag, text)) ?? among[Math.min(at, among.length - 1)];
}

const controls = (node) => Array.from(node.querySelectorAll(reachable)).filter((n) => n.checkVisibility());

const alike = (tag, text) => (n) => n.tagName === tag && n.textContent === text;
