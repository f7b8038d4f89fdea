// The words of the pages: one word for one thing in both catalogues.

import { assertEquals } from "@std/assert";
import de from "../../console/web/i18n/de.json" with { type: "json" };
import en from "../../console/web/i18n/en.json" with { type: "json" };

type Texts = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

/** A word that is not used, and the one that is. */
const UNUSED: readonly (readonly [catalogue: "de" | "en", unused: RegExp, used: string])[] = [
  ["de", /akzept/i, "annehmen"],
  ["de", /abgewiesen|abweis/i, "ablehnen"],
  ["de", /sonstige/i, "andere"],
  ["de", /freigabe|freigeb/i, "Genehmigung"],
  ["en", /was(n['’]t| not) me/i, "This was not me"],
  ["en", /\bholds for\b/i, "applies to"],
  ["en", /\bbesides the authorities\b/i, "in addition to"],
  ["en", /\b(it|this|id) is no (sign-in|IP address)\b/i, "is not a"],
];
/** The wording itself, also within a sentence or a quotation. */
const NOT_ME = /this was not me/gi;

function textsOf(catalogue: Texts): [key: string, text: string][] {
  return Object.entries(catalogue).flatMap(([key, text]) =>
    typeof text === "string" ? [[key, text]] : Object.values(text).map((one): [string, string] => [key, one])
  );
}

for (const [catalogue, unused, used] of UNUSED) {
  Deno.test(`no ${catalogue} text has ${unused}; the word is "${used}"`, () => {
    const texts = textsOf((catalogue === "de" ? de : en) as Texts);
    assertEquals(texts.filter(([, text]) => unused.test(text.replace(NOT_ME, ""))), []);
  });
}

Deno.test("what is approved in English is not confirmed in German", () => {
  const english = new Map(textsOf(en as Texts));
  const wrong = textsOf(de as Texts).filter(([key, text]) =>
    /approv/i.test(english.get(key) ?? "") && /bestätig/i.test(text)
  );
  assertEquals(wrong, []);
});
