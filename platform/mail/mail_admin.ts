// What administrators see and do with queued mails: the list, "Send again" and "Remove". Also the move of the mails of a renamed user, and the end of
// those of a deleted user.

import { auditEntry } from "../audit.ts";
import type { Clock } from "../runtime.ts";
import type { Mutation, Store, StoreEntry } from "../store.ts";
import type { Vault } from "../vault.ts";
import { NO_CHANGE, type PreparedRename, type PrepareRename, type Rename } from "../write_batch.ts";
import {
  aboutKey,
  contentKey,
  contentMutation,
  FAILED_PREFIX,
  failedMutation,
  headKey,
  headMutation,
  type MailContent,
  type MailHead,
  type MailIndex,
  type MailName,
  mailNameOf,
  type MailProblem,
  MAX_WAITING_MS,
  openContent,
  readHead,
  renewedContent,
  WAITING_PREFIX,
} from "./mail_records.ts";
import type { MailLanguage, MailTemplateName } from "./mail_templates.ts";

/** A mail of the list, without its text. */
export interface MailRow extends MailName {
  readonly state: "waiting" | "failed";
  readonly template: MailTemplateName;
  readonly language: MailLanguage;
  /** As given: `user:Ada`. */
  readonly subjectOf: string;
  /** `null` if the content cannot be decrypted. */
  readonly to: string | null;
  readonly queuedMs: number;
  readonly nextMs: number;
  readonly attempts: number;
  readonly problem: MailProblem | null;
  /** Whether it can be sent again: its content has not expired. */
  readonly canSend: boolean;
}

interface MailAdminDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Pick<Clock, "nowMs">;
  readonly index: MailIndex;
  /** Ends a pause of the sender. */
  readonly resume: () => void;
}

/** Who acts, for the audit log. */
interface Actor {
  readonly actor: string;
  readonly source: string;
}

type State = MailRow["state"];

interface StoredHead {
  readonly name: MailName;
  readonly head: MailHead;
  readonly state: State;
  readonly entry: StoreEntry<unknown>;
}

/** Mails of a user that move with a rename; further ones end. Each one that waits needs a check in its commit. */
const MAX_MOVED = { waiting: 2, failed: 20 } as const;
const MAX_OF_USER = 200;

export class MailAdmin {
  readonly #deps: MailAdminDeps;

  constructor(deps: MailAdminDeps) {
    this.#deps = deps;
  }

  /** The mails of one state, in the order of their objects, after the mail `after`. */
  async list(state: State, { after, limit }: { after: MailName | null; limit: number }): Promise<MailRow[]> {
    const { store } = this.#deps;
    const prefix = prefixOf(state);
    const start = after === null ? prefix : headKey(state, { ...after, id: `${after.id}\u0000` });
    const end = [...prefix.slice(0, -1), `${String(prefix.at(-1))}\u0000`];
    const rows: MailRow[] = [];
    for await (const entry of store.range<unknown>({ start, end }, { limit })) {
      const head = readHead(entry.value);
      if (head !== null) rows.push(await this.#row({ name: mailNameOf(entry.key), head, state, entry }));
    }
    return rows;
  }

  /** Puts failed mails back into the queue. Those whose content expired stay. Returns how many it moved. */
  async sendAgain(names: readonly MailName[], by: Actor): Promise<number> {
    const { store, clock, index, resume } = this.#deps;
    let moved = 0;
    for (const name of names) {
      const found = await this.#read("failed", name);
      const sealed = await store.get<unknown>(contentKey(name));
      const nowMs = clock.nowMs();
      if (found === null || sealed.value === null || isExpired(found.head, nowMs)) continue;
      const { head } = found;
      const again: MailHead = {
        ...head,
        ...{ attempts: 0, nextMs: nowMs, problem: null },
        untilMs: Math.min(nowMs + MAX_WAITING_MS, head.expiresMs ?? Infinity),
      };
      const done = await store.commit({
        checks: [found.entry, sealed].map(({ key, versionstamp }) => ({ key, versionstamp })),
        mutations: [
          { type: "delete", key: found.entry.key },
          headMutation(name, again),
          // With a new lifetime.
          renewedContent(name, sealed.value),
          auditEntry({ action: "mail.send_again", ...by, object: head.about, template: head.template }),
        ],
      });
      if (!done.ok) continue;
      moved++;
      index.add(name, again);
    }
    resume();
    return moved;
  }

  /** Removes mails. Returns how many there were. */
  async remove(state: State, names: readonly MailName[], by: Actor): Promise<number> {
    const { store } = this.#deps;
    let removed = 0;
    for (const name of names) {
      const found = await this.#read(state, name);
      if (found === null) continue;
      const { about, template } = found.head;
      const { key, versionstamp } = found.entry;
      const audit = auditEntry({ action: "mail.remove", ...by, object: about, template });
      const done = await store.commit({
        checks: [{ key, versionstamp }],
        mutations: [...removalOf(found), audit],
      });
      if (!done.ok) continue;
      removed++;
      this.#forget(found);
    }
    return removed;
  }

  /** Removes all mails about an object (canonical), such as a deleted user. */
  async removeAbout(about: string): Promise<void> {
    if (!this.#deps.index.hasAbout(about)) return;
    const found = await this.#readAbout(about);
    await this.#deps.store.commit({ mutations: found.flatMap(removalOf) });
    for (const one of found) this.#forget(one);
  }

  /** Prepares the move of a user's mails. Their texts get the new name. */
  readonly prepareRename: PrepareRename = async (rename) =>
    rename.kind === "user" ? await this.#renamed(rename) : NO_CHANGE;

  async #renamed({ from, to, name: newName }: Rename): Promise<PreparedRename> {
    const found = await this.#readAbout(`user:${from}`);
    const counts = { waiting: 0, failed: 0 };
    const kept = found.filter(({ state }) => ++counts[state] <= MAX_MOVED[state]);
    const moves = await Promise.all(kept.map((one) => this.#moved(one, { to, newName })));
    return {
      mutations: [...found.flatMap(removalOf), ...moves.flatMap(({ mutations }) => mutations)],
      checks: kept.filter(({ state }) => state === "waiting")
        .map(({ entry: { key, versionstamp } }) => ({ key, versionstamp })),
      done: () => {
        for (const one of found) this.#forget(one);
        for (const { done } of moves) done();
      },
      undo: () => undefined,
    };
  }

  async #moved(
    { name, head, state }: StoredHead,
    { to, newName }: { to: string; newName: string },
  ): Promise<{ mutations: Mutation[]; done: () => void }> {
    const { store, vault, index } = this.#deps;
    const sealed = await store.get<unknown>(contentKey(name));
    const content = openContent(vault, name, sealed.value);
    if (content === null) return { mutations: [], done: () => undefined };
    const moved: MailHead = { ...head, about: `user:${newName}` };
    const next: MailName = { about: `user:${to}`, id: name.id };
    const mutations = [
      state === "waiting" ? headMutation(next, moved) : failedMutation(next, moved),
      contentMutation(vault, next, renamedContent(content, newName)),
    ];
    return { mutations, done: () => state === "waiting" ? index.add(next, moved) : index.addFailed(next) };
  }

  async #row({ name, head, state }: StoredHead): Promise<MailRow> {
    const { store, vault, clock } = this.#deps;
    const sealed = await store.get<unknown>(contentKey(name));
    const { template, language, about, queuedMs, nextMs, attempts, problem } = head;
    return {
      ...{ ...name, state, template, language, subjectOf: about, queuedMs, nextMs, attempts, problem },
      to: openContent(vault, name, sealed.value)?.to ?? null,
      canSend: sealed.value !== null && !isExpired(head, clock.nowMs()),
    };
  }

  async #read(state: State, name: MailName): Promise<StoredHead | null> {
    const entry = await this.#deps.store.get<unknown>(headKey(state, name));
    const head = readHead(entry.value);
    return head === null ? null : { name, head, state, entry };
  }

  async #readAbout(about: string): Promise<StoredHead[]> {
    const found: StoredHead[] = [];
    for (const state of ["waiting", "failed"] as const) {
      for await (
        const entry of this.#deps.store.list<unknown>(aboutKey(state, about), { limit: MAX_OF_USER })
      ) {
        const head = readHead(entry.value);
        if (head !== null) found.push({ name: mailNameOf(entry.key), head, state, entry });
      }
    }
    return found;
  }

  #forget({ name, state }: StoredHead): void {
    const { index } = this.#deps;
    if (state === "waiting") index.remove(name);
    else index.removeFailed(name);
  }
}

function prefixOf(state: State): Deno.KvKey {
  return state === "waiting" ? WAITING_PREFIX : FAILED_PREFIX;
}

function removalOf({ name, state }: StoredHead): Mutation[] {
  return [headKey(state, name), contentKey(name)].map((key) => ({ type: "delete", key }));
}

function isExpired({ expiresMs }: MailHead, nowMs: number): boolean {
  return expiresMs !== null && nowMs >= expiresMs;
}

function renamedContent(content: MailContent, userName: string): MailContent {
  if (content.values.userName === undefined) return content;
  return { ...content, values: { ...content.values, userName } };
}
