// The messages of the interface in the selected language. Components that use them render again when the language changes.

import { computed, type ReadonlySignal, signal } from "@preact/signals";
import {
  type Catalogue,
  catalogueFile,
  formatMessage,
  type Language,
  LANGUAGES,
  type Message,
  type MessageKey,
  type MessageValues,
} from "./catalogue.ts";

const STORAGE_KEY = "countersign-language";
const active = signal<{ readonly language: Language; readonly catalogue: Record<string, Message> }>({
  language: "en",
  catalogue: {},
});

/** The selected language. */
export const language: ReadonlySignal<Language> = computed(() => active.value.language);

/** The locale for dates and numbers: the browser's regional variant of the selected language, if it has one. */
export function locale(): string {
  return navigator.languages?.find((one) => one.split("-")[0] === language.value) ?? language.value;
}

/**
 * The message of a key. Without a catalogue, the key itself: a page with keys is better than no page.
 *
 * @example t("common.range", { from: 51, to: 100, count: 772 })
 */
export function t(key: MessageKey, values: MessageValues = {}): string {
  const { language, catalogue } = active.value;
  const message = catalogue[key];
  return message === undefined ? key : formatMessage(message, { language, values });
}

/** The message of a key that contains a name from the server, or `null`: the server may be newer than this page. */
export function findMessage(key: string): string | null {
  const { catalogue } = active.value;
  const message = Object.hasOwn(catalogue, key) ? catalogue[key] : undefined;
  return typeof message === "string" ? message : null;
}

/** The ends of the keys that begin with a text: the names that have such a message. */
export function namesWithMessage(front: string): string[] {
  return Object.keys(active.value.catalogue).flatMap((key) =>
    key.startsWith(front) ? [key.slice(front.length)] : []
  );
}

/** The message for an error code, or `null`. */
export function errorMessage(code: string): string | null {
  return findMessage(`errors.${code}`);
}

/** The names of the messages that are in use: those of the application, and those of the pages that were opened. */
const used = new Set<string>();

/** Loads the messages of the application in the selected language. The HTML has their name (`console/html_shell.ts`). */
export async function loadCatalogue(): Promise<void> {
  await loadMessages(document.getElementById("app")?.dataset.messages ?? "");
}

/** Adds messages in the selected language, before the components that show them are rendered. */
export async function loadMessages(name: string): Promise<void> {
  used.add(name);
  const selected = language.peek();
  const messages = await fetchMessages(name, selected);
  // The user selected another language meanwhile.
  if (selected !== language.peek()) return await loadMessages(name);
  Object.assign(active.peek().catalogue, messages);
}

async function fetchMessages(name: string, language: Language): Promise<Catalogue> {
  const address = `/assets/${catalogueFile(name, language)}`;
  // The browser aborts its requests when the network changes, such as when a VPN connects.
  const response = await fetch(address).catch(() => fetch(address));
  if (!response.ok) throw new Error(`Cannot load the messages in ${language}: status ${response.status}`);
  return await response.json();
}

/** Replaces all messages. Every component renders again. */
export function activateCatalogue(language: Language, catalogue: Catalogue): void {
  active.value = { language, catalogue: { ...catalogue } };
}

/** Changes the language as soon as all its messages are loaded, and stores the choice. */
export async function switchLanguage(next: Language): Promise<void> {
  const catalogue: Record<string, Message> = {};
  // Also the messages of a page that is opened meanwhile: the loop visits what is added during it.
  for (const name of used) Object.assign(catalogue, await fetchMessages(name, next));
  activateCatalogue(next, catalogue);
  document.documentElement.lang = next;
  try {
    localStorage.setItem(STORAGE_KEY, next);
  } catch (_storageIsOff) {
    // Without storage, the choice lasts as long as the page.
  }
}

/** Selects the stored language, or the one that the browser prefers. Call it before the first render. */
export function restoreLanguage(): void {
  const selected = storedLanguage() ?? browserLanguage();
  activateCatalogue(selected, {});
  document.documentElement.lang = selected;
}

function storedLanguage(): Language | null {
  try {
    return languageOf(localStorage.getItem(STORAGE_KEY) ?? "");
  } catch (_storageIsOff) {
    return null;
  }
}

function browserLanguage(): Language {
  for (const one of navigator.languages ?? []) {
    const known = languageOf(one.split("-")[0] ?? "");
    if (known !== null) return known;
  }
  return "en";
}

function languageOf(name: string): Language | null {
  return LANGUAGES.find((one) => one === name) ?? null;
}
