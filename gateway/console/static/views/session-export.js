// Exports: fetched with the token, then saved as a file.

import { t } from "../i18n.js";
import { item, menu } from "../menu.js";

const formats = [["jsonl", "JSONL", "jsonl"], ["markdown", "Markdown", "md"], ["html", "HTML", "html"]];

export function exportMenu({ api, session, signal }) {
  return menu(t("Export"), formats.map(([format, label, extension]) => item(label, async () => {
    const response = await api.fetch("export", { query: { format }, signal, endless: true });
    save(`${session.key.replace(/[^A-Za-z0-9._-]+/g, "_")}.${extension}`, await response.blob());
    return t("The export is saved.");
  })));
}

// save offers a blob as a download.
export function save(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
