// HTML as a template in which every value is text, unless it is HTML that was made here too.

/** Markup that may stand in a page as it is. */
export interface Html {
  readonly markup: string;
}

type Value = string | number | Html | readonly Html[] | null;

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** @example html`<p>${name}</p>` */
export function html(parts: TemplateStringsArray, ...values: readonly Value[]): Html {
  let markup = parts[0] ?? "";
  values.forEach((value, at) => {
    markup += markupOf(value) + (parts[at + 1] ?? "");
  });
  return { markup };
}

function markupOf(value: Value): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return value.replace(/[&<>"']/g, (one) => ENTITIES[one] ?? "");
  return "markup" in value ? value.markup : value.map(({ markup }) => markup).join("");
}
