// The words of the approval page in the language that a browser asks for (RFC 9110 §12.5.4).

import { words as de } from "../web/words/de/approve.ts";
import { words as en } from "../web/words/en/approve.ts";
import type { SameWords } from "../web/words/words.ts";

export type ApproveKey = keyof typeof en;

/** A word of the page. */
export interface Speaker {
  readonly language: "en" | "de";
  /** @param values what `{name}` stands for; `count` also chooses the plural. */
  say(key: ApproveKey, values?: Readonly<Record<string, string | number>>): string;
}

const TABLES: Readonly<Record<Speaker["language"], SameWords<typeof en>>> = { en, de };
const MOST_ASKED = 20;

/** @param accepted the Accept-Language header, or "". */
export function speakerFor(accepted: string): Speaker {
  const language = languageOf(accepted);
  const rules = new Intl.PluralRules(language);
  return {
    language,
    say(key, values = {}) {
      const word = TABLES[language][key];
      const text = typeof word === "string"
        ? word
        : word[rules.select(Number(values.count ?? 0)) === "one" ? "one" : "other"];
      return text.replace(/\{(\w{1,20})\}/g, (whole, name: string) => String(values[name] ?? whole));
    },
  };
}

/** The language that is wanted most among those there are. */
function languageOf(accepted: string): Speaker["language"] {
  const asked = accepted.split(",").slice(0, MOST_ASKED).map((part) => {
    const [tag = "", ...parameters] = part.trim().toLowerCase().split(";");
    const quality = parameters.map((one) => /^\s*q=([01](?:\.\d{0,3})?)\s*$/.exec(one)?.[1]).find((q) => q);
    return { language: tag.split("-")[0] ?? "", quality: quality === undefined ? 1 : Number(quality) };
  });
  const known = asked.filter(({ language, quality }) => quality > 0 && Object.hasOwn(TABLES, language));
  const best = known.toSorted((a, b) => b.quality - a.quality)[0];
  return best?.language === "de" ? "de" : "en";
}
