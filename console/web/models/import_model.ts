// An import on its page: the file sent, the rows looked through, put right, applied; asked for again while the server is at it.

import { type ReadonlySignal, signal } from "@preact/signals";
import type { ImportRow, ImportView, Verdict } from "../../api/users/bulk_types.ts";
import { failureText } from "../api_client.ts";
import { createImportCalls, sendFile } from "./bulk_calls.ts";
import type { Models } from "./models.ts";

export interface ImportModel {
  /** `null` until a file was sent. */
  readonly view: ReadonlySignal<ImportView | null>;
  readonly busy: ReadonlySignal<boolean>;
  readonly problem: ReadonlySignal<string | null>;
  send(file: File, options: { target: string; mayUpdate: boolean }): Promise<void>;
  /** Shows other rows. */
  show(asked: { verdict: Verdict | ""; page: number }): Promise<void>;
  /** Puts a row right or skips it; resolves to the row as it is then, `null` when that was not done. */
  change(row: ImportRow, change: { skip?: boolean; cells?: (string | null)[] }): Promise<boolean>;
  apply(): Promise<void>;
  /** Lets go of the file. */
  leave(): void;
}

interface ImportDeps {
  readonly later: (delayMs: number, task: () => void) => () => void;
  /** Sentences for a file that is not sent at all. */
  readonly words: { readonly notText: () => string; readonly tooLarge: () => string };
}

const ASK_EVERY_MS = 400;
const MOST_OCTETS = 8 * 1024 * 1024;

export function createImportModel(models: Models, { later, words }: ImportDeps): ImportModel {
  const view = signal<ImportView | null>(null);
  const busy = signal(false);
  const problem = signal<string | null>(null);
  let asked: { verdict: Verdict | ""; page: number } = { verdict: "", page: 1 };
  let cancel = () => {};

  const callsOf = (now: ImportView) => createImportCalls(models, now.id);
  const attempt = async (deed: () => Promise<void>): Promise<boolean> => {
    busy.value = true;
    problem.value = null;
    try {
      await deed();
    } catch (fault) {
      problem.value = failureText(fault);
    }
    busy.value = false;
    return problem.value === null;
  };
  const read = async (): Promise<void> => {
    const now = view.peek();
    if (now === null) return;
    const next = await callsOf(now).view({ verdict: asked.verdict, page: String(asked.page) });
    if (view.peek()?.id === now.id) follow(next);
  };
  /** Asks again while the server is at work. */
  const follow = (next: ImportView): void => {
    view.value = next;
    cancel();
    if (next.state === "checking" || next.state === "applying") {
      cancel = later(ASK_EVERY_MS, () => void attempt(read));
    }
  };
  const readText = async (file: File): Promise<string | null> => {
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch (_notUtf8) {
      return null;
    }
  };

  return {
    view,
    busy,
    problem,
    async send(file, options) {
      if (file.size > MOST_OCTETS) return void (problem.value = words.tooLarge());
      const text = await readText(file);
      if (text === null) return void (problem.value = words.notText());
      asked = { verdict: "", page: 1 };
      await attempt(async () => {
        follow(await sendFile(models, { ...options, name: file.name.slice(0, 300), text }));
        await read();
      });
    },
    async show(next) {
      asked = next;
      await attempt(read);
    },
    change: (row, change) =>
      attempt(async () => {
        const now = view.peek();
        if (now === null) return;
        await callsOf(now).change(row.line, change);
        await read();
      }),
    async apply() {
      await attempt(async () => {
        const now = view.peek();
        if (now === null) return;
        asked = { verdict: "", page: 1 };
        follow(await callsOf(now).apply());
        await read();
      });
    },
    leave() {
      cancel();
      const now = view.peek();
      view.value = null;
      problem.value = null;
      // What is not let go of is forgotten by the server after a while.
      if (now !== null) void callsOf(now).end().catch(() => undefined);
    },
  };
}
