// The console's words as files of JSON: one for each area and language, so that words are data to the browser, not script.

const WORDS = new URL("./web/words/", import.meta.url);

/** Words of one language: of one area, or of several that a page needs at once (`frame+live`). */
export interface WordsFile {
  readonly language: string;
  readonly areas: readonly string[];
  readonly json: string;
}

/**
 * Reads every table, each by itself as `{ area: words }`, and those together that one address needs at once.
 * Throws when a language lacks an area that English has.
 *
 * @param together lists of areas.
 */
export async function readWords(
  languages: readonly string[],
  together: readonly (readonly string[])[],
): Promise<WordsFile[]> {
  const areas: string[] = [];
  for await (const { name } of Deno.readDir(new URL("en/", WORDS))) {
    if (name.endsWith(".ts")) areas.push(name.slice(0, -".ts".length));
  }
  const lists = new Map(
    [...areas.toSorted().map((area) => [area]), ...together].map((list) => [list.join("+"), list]),
  );
  const files = languages.flatMap((language) =>
    [...lists.values()].map((list) => readTogether(language, list))
  );
  return await Promise.all(files);
}

async function readTogether(language: string, areas: readonly string[]): Promise<WordsFile> {
  const tables = await Promise.all(areas.map(async (area) => {
    const module: { words: unknown } = await import(new URL(`${language}/${area}.ts`, WORDS).href);
    return [area, module.words] as const;
  }));
  return { language, areas, json: JSON.stringify(Object.fromEntries(tables)) };
}

/** The file's name; one hash over all tables names them all, so that the page needs to know but one. */
export function wordsFileName(
  { language, areas }: Pick<WordsFile, "language" | "areas">,
  hash: string,
): string {
  return `words-${hash}-${language}-${areas.join("+")}.json`;
}
