// What the browser keeps for us. Where it must keep nothing, that lasts as long as the page.

// kept is a text in an area: sessionStorage, the browser's tab, or localStorage.
export function kept(area, name) {
  let storage = null;
  let text = "";
  try {
    storage = window[area];
  } catch {
    // The browser is told to keep nothing.
  }
  return {
    get: () => (storage ? storage.getItem(name) ?? "" : text),
    set: (value) => (storage ? storage.setItem(name, value) : (text = value)),
    clear: () => (storage ? storage.removeItem(name) : (text = "")),
  };
}
