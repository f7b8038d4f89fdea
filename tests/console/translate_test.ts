// Words: the same in every language, with values and plurals by the language's own rules.

import { assert, assertEquals } from "@std/assert";
import { shownSettings } from "../../config/shown_settings.ts";
import { readWords } from "../../console/words_files.ts";
import { wordText } from "../../console/web/words/translate.ts";
import { LANGUAGES, type Word } from "../../console/web/words/words.ts";
import { REFUSALS } from "../../radius/doing/request.ts";
import { DROP_REASONS } from "../../radius/facts/drop_reasons.ts";

type Table = Record<string, Word>;

async function tablesOf(language: string): Promise<Map<string, Table>> {
  const files = (await readWords(LANGUAGES, [])).filter((file) => file.language === language);
  return new Map(files.flatMap(({ json }) => Object.entries(JSON.parse(json) as Record<string, Table>)));
}

const partsOf = (word: Word) => typeof word === "string" ? [word] : [word.one, word.other];
const namesIn = (word: Word) => new Set(partsOf(word).flatMap((text) => text.match(/\{\w+\}/g) ?? []));

Deno.test("words have the same keys, values and kinds in every language, and none is empty", async () => {
  const english = await tablesOf("en");
  assert(english.size > 5);
  for (const language of LANGUAGES) {
    const tables = await tablesOf(language);
    assertEquals([...tables.keys()], [...english.keys()]);
    for (const [area, table] of tables) {
      // English has these sentences in the table of the settings, and the server brings them.
      if (area === "meanings") continue;
      const original = english.get(area) ?? {};
      assertEquals(Object.keys(table).toSorted(), Object.keys(original).toSorted(), `${language}.${area}`);
      for (const [key, word] of Object.entries(table)) {
        const place = `${language}.${area}.${key}`;
        assertEquals(typeof word, typeof original[key], place);
        assertEquals([...namesIn(word)].toSorted(), [...namesIn(original[key] ?? "")].toSorted(), place);
        assert(partsOf(word).every((text) => text !== ""), place);
      }
    }
  }
});

Deno.test("words say in every other language what each setting means, and of no setting that is not there", async () => {
  const keys = shownSettings({ values: new Map() }).map(({ key }) => key).toSorted();
  for (const language of LANGUAGES.filter((one) => one !== "en")) {
    const table = (await tablesOf(language)).get("meanings") ?? {};
    assertEquals(Object.keys(table).toSorted(), keys, language);
    for (const [key, word] of Object.entries(table)) {
      assert(typeof word === "string" && word !== "" && !word.endsWith("."), key);
    }
  }
});

Deno.test("words name every reason for which a packet is dropped or refused", async () => {
  const reasons = [...Object.keys(DROP_REASONS), ...Object.keys(REFUSALS)];
  assert(reasons.length > 20);
  for (const language of LANGUAGES) {
    const table = (await tablesOf(language)).get("explain") ?? {};
    assertEquals(reasons.filter((reason) => !(`title_${reason}` in table)), [], language);
  }
});

Deno.test("words call a factor the same wherever it is named", async () => {
  for (const language of LANGUAGES) {
    const tables = await tablesOf(language);
    const [live, people] = [tables.get("live") ?? {}, tables.get("people") ?? {}];
    const both = Object.keys(live).filter((key) => key.startsWith("factor_") && key in people);
    assert(both.includes("factor_totp"));
    for (const key of both) assertEquals(live[key], people[key], `${language}: ${key}`);
  }
});

/** The names that audit records have beside who, what, whom, before and after; `conversation` is a link. */
const DETAILS = {
  "a login": ["row", "because", "factor"],
  "a lock": ["hard", "failures", "locks"],
  "a pairing": ["kind", "pairing", "factor", "number", "because", "deadlineMs"],
  "the directory": ["target", "changed", "backends", "added", "removed", "count"],
  "a refresh": ["created", "updated", "unchanged", "vanished", "deleted", "faults", "tookMs"],
} as const;
for (const [what, names] of Object.entries(DETAILS)) {
  Deno.test(`words name the details of an audit record of ${what}`, async () => {
    for (const language of LANGUAGES) {
      const table = (await tablesOf(language)).get("govern") ?? {};
      assertEquals(names.filter((name) => !(`detail_${name}` in table)), [], language);
    }
  });
}

Deno.test("wordText() puts values in, as they are, and leaves what it does not know", () => {
  const text = (word: Word, values: Record<string, string | number>) =>
    wordText(word, { language: "en", values });
  assertEquals(
    text("{name} has {count}", { name: "<b>{count}</b>", count: 1234 }),
    "<b>{count}</b> has 1,234",
  );
  assertEquals(text("{a} and {b}", { a: "x" }), "x and {b}");
  assertEquals(wordText("{count}", { language: "de", values: { count: 1234 } }), "1.234");
});

Deno.test("wordText() chooses the plural by the language", () => {
  const word = { one: "{count} login", other: "{count} logins" };
  const of = (count: number) => wordText(word, { language: "en", values: { count } });
  assertEquals([0, 1, 2].map(of), ["0 logins", "1 login", "2 logins"]);
});
