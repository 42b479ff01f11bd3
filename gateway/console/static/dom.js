// Elements of the page. Whatever is shown passes through here, as text: there is no way
// to put markup in.

// Set as properties: their attributes are only what a control starts with.
const properties = new Set(["checked", "disabled", "indeterminate", "value"]);

// h makes an element. Children that are not nodes become text; null and false are left out.
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  const rest = [];
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (properties.has(name)) rest.push([name, value]);
    else if (name === "href" && !String(value).startsWith("#")) throw new Error("a link may lead within the console only");
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  for (const [name, value] of rest) element[name] = value; // a select knows its value once it has options
  return element;
}

let lastId = 0;

// freshId returns an id for what labels refer to.
export function freshId() {
  lastId += 1;
  return `id-${lastId}`;
}
