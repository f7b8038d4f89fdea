// Words: the same in every language, with values and plurals by the language's own rules.

import { assert, assertEquals } from "@std/assert";
import { readWords } from "../../console/words_files.ts";
import { wordText } from "../../console/web/words/translate.ts";
import { LANGUAGES, type Word } from "../../console/web/words/words.ts";

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
