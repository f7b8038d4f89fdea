// The console's words as files of JSON: one for each area and language, so that words are data to the browser, not script.

const WORDS = new URL("./web/words/", import.meta.url);

/** The words of one area in one language, as `en` and `frame`. */
export interface WordsFile {
  readonly language: string;
  readonly area: string;
  readonly json: string;
}

/** Reads every table. Throws when a language lacks an area that English has. */
export async function readWords(languages: readonly string[]): Promise<WordsFile[]> {
  const areas: string[] = [];
  for await (const { name } of Deno.readDir(new URL("en/", WORDS))) {
    if (name.endsWith(".ts")) areas.push(name.slice(0, -".ts".length));
  }
  const files = languages.flatMap((language) => areas.toSorted().map((area) => ({ language, area })));
  return await Promise.all(files.map(readOne));
}

async function readOne({ language, area }: { language: string; area: string }): Promise<WordsFile> {
  const module: { words: unknown } = await import(new URL(`${language}/${area}.ts`, WORDS).href);
  return { language, area, json: JSON.stringify(module.words) };
}

/** The file's name; one hash over all tables names them all, so that the page needs to know but one. */
export function wordsFileName(
  { language, area }: Pick<WordsFile, "language" | "area">,
  hash: string,
): string {
  return `words-${hash}-${language}-${area}.json`;
}
