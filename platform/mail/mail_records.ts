// The records of queued mails in the store: a small head, which the sender keeps in memory, and the sealed content.

import { canonicalName } from "../canonical_name.ts";
import type { KvMutation } from "../commit_batch.ts";
import { DAY_MS } from "../durations.ts";
import type { Random } from "../runtime.ts";
import type { Vault } from "../vault.ts";
import type { MailProblem } from "./mail_problems.ts";
import { MAIL_TEMPLATES, type MailLanguage, type MailTemplateName } from "./mail_templates.ts";

/** A mail that was not accepted within this time is listed as failed. */
export const MAX_WAITING_MS = 7 * DAY_MS;
/** A failed mail is removed after this time. */
export const FAILED_RETENTION_MS = 30 * DAY_MS;
/** So that nothing remains if no node sends. */
const RETENTION_MS = MAX_WAITING_MS + FAILED_RETENTION_MS;

export const WAITING_PREFIX: Deno.KvKey = ["mail", "waiting"];
export const FAILED_PREFIX: Deno.KvKey = ["mail", "failed"];

/** Names a mail: what it is about, canonical, and an id. */
export interface MailName {
  readonly about: string;
  readonly id: string;
}

/** The value under ["mail", "waiting" | "failed", kind, name, id]. */
export interface MailHead {
  readonly template: MailTemplateName;
  readonly language: MailLanguage;
  /** As given, for the list and the audit log. */
  readonly about: string;
  readonly queuedMs: number;
  /** The mail fails at this time. */
  readonly untilMs: number;
  /** The end of its content, such as an invitation. It cannot be sent again after it. */
  readonly expiresMs: number | null;
  readonly attempts: number;
  readonly nextMs: number;
  readonly problem: MailProblem | null;
}

/** The sealed part. */
export interface MailContent {
  readonly to: string;
  readonly values: Readonly<Record<string, string>>;
  /** Without angle brackets. The same for each attempt, so that a mail server can recognise a second copy. */
  readonly messageId: string;
}

const ID_CHARACTERS = 32;
const MAX_ABOUT_CHARACTERS = 300;
const CANONICAL_KINDS = /^(?:user|group):/;

/** The part of a key that says what a mail is about. */
function canonicalAbout(about: string): string {
  return CANONICAL_KINDS.test(about) ? canonicalName(about) : about;
}

/** The name of a new mail. With a key, it is always the same for one object. */
export function newMailName(
  { about, key }: { readonly about: string; readonly key?: string | undefined },
  { vault, random }: { readonly vault: Vault; readonly random: Random },
): MailName {
  const id = key === undefined
    ? random.bytes(ID_CHARACTERS / 2).toHex()
    : vault.digest("mail key", key).slice(0, ID_CHARACTERS);
  return { about: canonicalAbout(about.slice(0, MAX_ABOUT_CHARACTERS)), id };
}

/** Remove a mail, whatever its state. */
export function removalMutations(name: MailName): KvMutation[] {
  return [headKey("waiting", name), headKey("failed", name), contentKey(name)]
    .map((key) => ({ type: "delete", key }));
}

export function headKey(state: "waiting" | "failed", { about, id }: MailName): Deno.KvKey {
  return [...aboutKey(state, about), id];
}

/** The prefix of the mails about an object (canonical). */
export function aboutKey(state: "waiting" | "failed" | "content", about: string): Deno.KvKey {
  const [, kind = "", name = ""] = /^([^:]*):?(.*)$/s.exec(about) ?? [];
  return ["mail", state, kind, name];
}

export function contentKey({ about, id }: MailName): Deno.KvKey {
  return [...aboutKey("content", about), id];
}

/** The name in a head's key. */
export function mailNameOf([, , kind, name, id]: Deno.KvKey): MailName {
  return { about: name === "" ? String(kind) : `${String(kind)}:${String(name)}`, id: String(id) };
}

/** One text for each mail, for maps. */
export function mailNameText({ about, id }: MailName): string {
  return `${id} ${about}`;
}

export function headMutation(name: MailName, head: MailHead): KvMutation {
  return { type: "set", key: headKey("waiting", name), value: head, expireInMs: RETENTION_MS };
}

export function failedMutation(name: MailName, head: MailHead): KvMutation {
  return { type: "set", key: headKey("failed", name), value: head, expireInMs: FAILED_RETENTION_MS };
}

export function contentMutation(vault: Vault, name: MailName, content: MailContent): KvMutation {
  const key = contentKey(name);
  const plain = new TextEncoder().encode(JSON.stringify(content));
  return { type: "set", key, value: vault.seal(key, plain), expireInMs: RETENTION_MS };
}

/** The content as it is, with a new lifetime. */
export function renewedContent(name: MailName, sealed: unknown): KvMutation {
  return { type: "set", key: contentKey(name), value: sealed, expireInMs: RETENTION_MS };
}

/** The content of a mail, or `null` if it cannot be read. */
export function openContent(vault: Vault, name: MailName, sealed: unknown): MailContent | null {
  if (!(sealed instanceof Uint8Array)) return null;
  const plain = vault.open(contentKey(name), sealed);
  return plain === null ? null : JSON.parse(new TextDecoder().decode(plain)) as MailContent;
}

/** A head as stored; `null` if it is not one of this version. */
export function readHead(value: unknown): MailHead | null {
  if (typeof value !== "object" || value === null) return null;
  const head = value as MailHead;
  return Object.hasOwn(MAIL_TEMPLATES, head.template) && typeof head.nextMs === "number" ? head : null;
}
