// The messages of each application and of each page of the console: those whose keys their scripts name. So a page loads
// only its own texts, and no list of them needs care. A test forbids keys that this cannot find.

import type { Bundle } from "./bundle.ts";
import { baseName, outputOf, PAGE_ENTRIES, type PageEntry, reachableOutputs } from "./bundle.ts";
import { shortHash, writeAsset } from "./output.ts";
import { ERROR_CODES, type ErrorRow } from "../api/error_codes.ts";
import de from "../web/i18n/de.json" with { type: "json" };
import en from "../web/i18n/en.json" with { type: "json" };
import { type Catalogue, catalogueFile, type Language, LANGUAGES } from "../web/i18n/catalogue.ts";

/** The English messages of the error codes that have a translation. */
const ENGLISH_ERRORS: Catalogue = Object.fromEntries(
  Object.entries<ErrorRow>(ERROR_CODES).filter(([, { isDetailed }]) => !isDetailed)
    .map(([code, { message }]) => [`errors.${code}`, message]),
);
/** The messages of each language. */
export const CATALOGUES: Readonly<Record<Language, Catalogue>> = { en: { ...en, ...ENGLISH_ERRORS }, de };
const ALL_KEYS = Object.keys(CATALOGUES.en);

/** A key, or the start of a template of keys: `"users.edit"`, `` `users.status_${status}` ``. */
const KEY = /["'`]([a-z]+\.\w*)(["'`]|\$\{)/g;

/** The keys of the messages that a script can show. */
export function keysIn(script: string): Set<string> {
  const keys = new Set<string>();
  for (const [, start = "", end] of script.matchAll(KEY)) {
    const isTemplate = end === "${";
    for (const key of ALL_KEYS) if (isTemplate ? key.startsWith(start) : key === start) keys.add(key);
  }
  return keys;
}

/** The names of the written messages, see {@link catalogueFile}. */
interface MessageNames {
  /** Of the application: of the console, those that every page needs. */
  readonly all: string;
  /** Of each page, without those of the application. A page without own messages is missing. */
  readonly pages: Readonly<Record<string, string>>;
}

/** @param pages the module of each page that the application loads on demand, by the name of the page. */
export async function writeMessages(
  { outputFiles, metafile }: Bundle,
  { page, pages = {} }: { page: PageEntry; pages?: Readonly<Record<string, string>> },
): Promise<MessageNames> {
  const scripts = new Map(outputFiles.map((file) => [baseName(file.path), file]));
  const keysOf = (paths: ReadonlySet<string>) =>
    [...paths].map((path) => keysIn(scripts.get(baseName(path))?.text ?? ""))
      .reduce((all, keys) => all.union(keys), new Set<string>());
  const start = outputOf(metafile, PAGE_ENTRIES[page].script);
  const frame = reachableOutputs(metafile, { from: start, isOnDemand: false });
  const modules = new Map(Object.entries(pages).map(([name, module]) => [name, outputOf(metafile, module)]));
  // Dialogs of every page are part of the application, but its pages are not.
  const shared = reachableOutputs(metafile, { from: start, without: new Set(modules.values()) });
  const sharedKeys = keysOf(shared);
  const names: Record<string, string> = {};
  for (const [name, module] of modules) {
    const keys = keysOf(reachableOutputs(metafile, { from: module, without: frame })).difference(sharedKeys);
    if (keys.size > 0) names[name] = await writeCatalogues(`${page}-${name}`, keys);
  }
  return { all: await writeCatalogues(page, sharedKeys), pages: names };
}

/** Writes messages in each language. Returns the start of the names of the files. */
async function writeCatalogues(page: string, keys: ReadonlySet<string>): Promise<string> {
  const texts = LANGUAGES.map((language) => ({ language, json: catalogueJson(language, keys) }));
  const hash = await shortHash(new TextEncoder().encode(texts.map(({ json }) => json).join("\n")));
  const name = `messages-${page.replaceAll("_", "-")}-${hash}`;
  for (const { language, json } of texts) {
    await writeAsset(catalogueFile(name, language), new TextEncoder().encode(json));
  }
  return name;
}

function catalogueJson(language: Language, keys: ReadonlySet<string>): string {
  return JSON.stringify(
    Object.fromEntries(Object.entries(CATALOGUES[language]).filter(([key]) => keys.has(key))),
  );
}
