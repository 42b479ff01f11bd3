// Server-sent events over fetch, which, unlike EventSource, can send a token.

// events yields {id, event} for each event of a body: its id, and its JSON with its type. It
// fails when nothing came for some milliseconds, comments included.
export async function* events(body, silence) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await within(silence, reader.read());
      if (done) return;
      const blocks = (rest + value).split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) {
        const parsed = parse(block);
        if (parsed) yield parsed;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function within(ms, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("nothing was heard")), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// parse reads one event; comments, which keep the connection open, are none.
function parse(block) {
  let id = "";
  let type = "";
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = line.match(/^([^:]*):? ?(.*)$/);
    if (name === "id") id = value;
    if (name === "event") type = value;
    if (name === "data") data.push(value);
  }
  if (data.length === 0) return null;
  try {
    const event = JSON.parse(data.join("\n"));
    return { id, event: { ...event, type: event.type ?? type } };
  } catch {
    return null;
  }
}
