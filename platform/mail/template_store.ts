// The templates that administrators changed, in memory and in the store. A template that is not changed has the text of the table.

import type { Store, StoreEntry } from "../store.ts";
import type { KvMutation } from "../commit_batch.ts";
import {
  MAIL_LANGUAGES,
  MAIL_TEMPLATES,
  type MailLanguage,
  type MailTemplateName,
  mailTemplateRow,
  type MailText,
} from "./mail_templates.ts";

/** A changed text. */
export interface StoredTemplate extends MailText {
  readonly atMs: number;
  readonly by: string;
}

const PREFIX: Deno.KvKey = ["mail_template"];

export class MailTemplateStore {
  readonly #store: Pick<Store, "follow" | "load">;
  readonly #changed = new Map<string, StoredTemplate>();

  constructor(store: Pick<Store, "follow" | "load">) {
    this.#store = store;
    store.follow(PREFIX, (entry) => this.#apply(entry));
  }

  async load(): Promise<void> {
    await this.#store.load(PREFIX, (entry) => this.#apply(entry));
  }

  /** The changed text, or `null` if the default is used. */
  changed(name: MailTemplateName, language: MailLanguage): StoredTemplate | null {
    return this.#changed.get(`${name}/${language}`) ?? null;
  }

  textOf(name: MailTemplateName, language: MailLanguage): MailText {
    return this.changed(name, language) ?? mailTemplateRow(name).texts[language];
  }

  /** The mutation of a change, and its update in memory for after the commit. `null` restores the default. */
  prepareChange(
    name: MailTemplateName,
    language: MailLanguage,
    text: StoredTemplate | null,
  ): { mutation: KvMutation; done: () => void } {
    const key = [...PREFIX, name, language];
    const mutation: KvMutation = text === null ? { type: "delete", key } : { type: "set", key, value: text };
    return { mutation, done: () => this.#remember(`${name}/${language}`, text) };
  }

  #apply({ key, value }: StoreEntry<unknown>): void {
    const [, name, language] = key.map(String);
    if (!Object.hasOwn(MAIL_TEMPLATES, name ?? "") || !MAIL_LANGUAGES.some((one) => one === language)) return;
    this.#remember(`${name}/${language}`, isTemplate(value) ? value : null);
  }

  #remember(key: string, text: StoredTemplate | null): void {
    if (text === null) this.#changed.delete(key);
    else this.#changed.set(key, text);
  }
}

function isTemplate(value: unknown): value is StoredTemplate {
  if (typeof value !== "object" || value === null) return false;
  return typeof Reflect.get(value, "subject") === "string" && typeof Reflect.get(value, "body") === "string";
}
