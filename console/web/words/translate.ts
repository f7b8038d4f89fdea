// Words by key in the language that is on; components that use them draw anew when it changes.

import { type ReadonlySignal, signal } from "@preact/signals";
import { PLACES } from "../places.ts";
import { type Area, type Language, LANGUAGES, type Word, type WordKey, type WordTable } from "./words.ts";

/** What `{name}` in a word stands for; `count` also chooses the plural. */
export type WordValues = Readonly<Record<string, string | number>>;

interface Spoken {
  readonly language: Language;
  readonly tables: ReadonlyMap<Area, WordTable>;
}

/** Names the files of this build's words; the build puts it in. */
declare const WORDS_HASH: string;

const KEY = "countersign-language";
const spoken = signal<Spoken>({ language: "en", tables: new Map() });
const pending = new Map<string, Promise<void>>();

/** The language that is on. */
export const language: ReadonlySignal<Spoken> = spoken;

/** The language for dates and numbers: the region of the browser where it speaks the same language. */
export function locale(): string {
  const { language } = spoken.value;
  return navigator.languages?.find((one) => one.split("-")[0] === language) ?? language;
}

/**
 * A word of an area that is loaded; the page's place names its areas.
 * A key whose area is not loaded yet gives the key itself, so a mistake is seen rather than thrown.
 *
 * @example t("frame.range", { from: 51, to: 100, count: 772 })
 */
export function t(key: WordKey, values: WordValues = {}): string {
  const { tables, language } = spoken.value;
  const dot = key.indexOf(".");
  const [area, name] = [key.slice(0, dot) as Area, key.slice(dot + 1)];
  const word = tables.get(area)?.[name] ?? (area === "frame" ? tables.get("overlays")?.[name] : undefined);
  return word === undefined ? key : wordText(word, { language, values });
}

/** What a refusal or a failure means here: the word `fail_<code>` of any area that is loaded, or `null`. */
export function failureWord(code: string): string | null {
  for (const table of spoken.value.tables.values()) {
    const word = table[`fail_${code}`];
    if (typeof word === "string") return word;
  }
  return null;
}

/** A word whose name comes from elsewhere, such as that of a deed; `null` where there is none. */
export function knownWord(area: Area, name: string): string | null {
  const table = spoken.value.tables.get(area);
  const word = table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;
  return typeof word === "string" ? word : null;
}

/** A word with its values put in; pure, for tests and for words from elsewhere. */
export function wordText(
  word: Word,
  { language, values }: { language: string; values: WordValues },
): string {
  const chosen = typeof word === "string" ? word : word[pluralForm(Number(values.count ?? 0), language)];
  return chosen.replace(/\{(\w{1,20})\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? numberText(value, language) : value;
  });
}

function pluralForm(count: number, language: string): "one" | "other" {
  return new Intl.PluralRules(language).select(count) === "one" ? "one" : "other";
}

function numberText(value: number, language: string): string {
  return new Intl.NumberFormat(language).format(value);
}

/** Loads areas in the language that is on; `null` when all are here already. */
export function loadWords(areas: readonly Area[]): Promise<void> | null {
  const { language, tables } = spoken.peek();
  const missing = areas.filter((area) => !tables.has(area));
  if (missing.length === 0) return null;
  const fresh = missing.filter((area) => !pending.has(`${language}.${area}`));
  if (fresh.length > 0) begin(fresh, language);
  return Promise.all(missing.map((area) => pending.get(`${language}.${area}`))).then(() => undefined);
}

/** Asks for several areas at once; each of them is then on its way. */
function begin(areas: readonly Area[], language: Language): void {
  const loading = fetchWords(areas, language).then((fetched) => {
    const now = spoken.peek();
    if (now.language === language) spoken.value = { language, tables: new Map([...now.tables, ...fetched]) };
  }).finally(() => {
    for (const area of areas) pending.delete(`${language}.${area}`);
  });
  for (const area of areas) pending.set(`${language}.${area}`, loading);
}

/** In one file where the build made one of just these (`wordsTogether()`), else each by itself. */
async function fetchWords(
  areas: readonly Area[],
  language: Language,
): Promise<(readonly [Area, WordTable])[]> {
  const name = areas.join("+");
  if (areas.length > 1 && !isOneFile(name)) {
    return (await Promise.all(areas.map((area) => fetchWords([area], language)))).flat();
  }
  const answer = await fetch(`/assets/words-${WORDS_HASH}-${language}-${name}.json`);
  if (!answer.ok) throw new Error(`Cannot fetch the words of ${name}: ${answer.status}`);
  return Object.entries(await answer.json() as Record<Area, WordTable>) as [Area, WordTable][];
}

function isOneFile(name: string): boolean {
  return name === "frame+access" || name === "frame+me" ||
    Object.values(PLACES).some(({ words }) =>
      [words.join("+"), ["frame", ...words].join("+")].includes(name)
    );
}

/** Changes the language once all words in use are there, and keeps the choice. */
export async function switchLanguage(next: Language): Promise<void> {
  const areas = [...spoken.peek().tables.keys()];
  const loaded = await Promise.all(areas.map((area) => fetchWords([area], next)));
  spoken.value = { language: next, tables: new Map(loaded.flat()) };
  document.documentElement.lang = next;
  try {
    localStorage.setItem(KEY, next);
  } catch (_storageIsOff) {
    // Without storage the choice lasts as long as the page.
  }
}

/** Puts on the choice of an earlier visit, or what the browser asks for. Called before anything is drawn. */
export function restoreLanguage(): void {
  const chosen = kept() ?? asked();
  spoken.value = { language: chosen, tables: new Map() };
  document.documentElement.lang = chosen;
}

function kept(): Language | null {
  try {
    return languageOf(localStorage.getItem(KEY) ?? "");
  } catch (_storageIsOff) {
    return null;
  }
}

function asked(): Language {
  for (const one of navigator.languages ?? []) {
    const known = languageOf(one.split("-")[0] ?? "");
    if (known !== null) return known;
  }
  return "en";
}

function languageOf(name: string): Language | null {
  return LANGUAGES.find((one) => one === name) ?? null;
}
