// The model of the import page: uploads a file, shows and corrects its rows, applies them, and polls while the server works.

import { signal } from "@preact/signals";
import type { ImportRow, ImportView, Verdict } from "../../../api/api_types.ts";
import { escapeParams, failureText, take } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";

interface ImportDeps {
  readonly later: (delayMs: number, task: () => void) => () => void;
  /** Messages for a file that cannot be uploaded. */
  readonly words: { readonly notText: () => string; readonly tooLarge: () => string };
}

const POLL_INTERVAL_MS = 400;
const RETRY_INTERVAL_MS = 3000;
const MAX_FILE_OCTETS = 8 * 1024 * 1024;

/** Which rows the page shows. */
interface RowQuery {
  readonly verdict: Verdict | "";
  readonly page: number;
}

interface RowChange {
  readonly skip?: boolean;
  readonly cells?: (string | null)[];
}

export class ImportModel {
  /** `null` until a file is uploaded. */
  readonly view = signal<ImportView | null>(null);
  readonly busy = signal(false);
  readonly problem = signal<string | null>(null);
  readonly #models: Models;
  readonly #deps: ImportDeps;
  #query: RowQuery = { verdict: "", page: 1 };
  #cancelPoll = () => {};

  constructor(models: Models, deps: ImportDeps) {
    this.#models = models;
    this.#deps = deps;
  }

  async send(file: File, options: { target: string; mayUpdate: boolean }): Promise<void> {
    const { words } = this.#deps;
    if (file.size > MAX_FILE_OCTETS) return void (this.problem.value = words.tooLarge());
    const text = await readText(file);
    if (text === null) return void (this.problem.value = words.notText());
    this.#query = { verdict: "", page: 1 };
    await this.#attempt(async () => {
      this.#follow(await sendFile(this.#models, { ...options, name: file.name.slice(0, 300), text }));
      await this.#read();
    });
  }

  /** Checks all rows again, with or without updates. Corrected and skipped rows stay. */
  async recheck(mayUpdate: boolean): Promise<void> {
    await this.#attempt(async () => {
      const now = this.view.peek();
      if (now === null) return;
      this.#follow(await this.#callsOf(now).check({ mayUpdate }));
      await this.#read();
    });
  }

  async show(query: RowQuery): Promise<void> {
    this.#query = query;
    await this.#attempt(() => this.#read());
  }

  /** Corrects or skips a row. Resolves to `false` if the server did not accept the change. */
  change(row: ImportRow, change: RowChange): Promise<boolean> {
    return this.#attempt(async () => {
      const now = this.view.peek();
      if (now === null) return;
      await this.#callsOf(now).change(row.line, change);
      await this.#read();
    });
  }

  async apply(): Promise<void> {
    await this.#attempt(async () => {
      const now = this.view.peek();
      if (now === null) return;
      this.#query = { verdict: "", page: 1 };
      this.#follow(await this.#callsOf(now).apply());
      await this.#read();
    });
  }

  /** Discards the import. */
  leave(): void {
    this.#cancelPoll();
    const now = this.view.peek();
    this.view.value = null;
    this.problem.value = null;
    // If this call fails, the server discards the import after its time limit.
    if (now !== null) void this.#callsOf(now).end().catch(() => undefined);
  }

  #callsOf(now: ImportView) {
    return createImportCalls(this.#models, now.id);
  }

  async #attempt(action: () => Promise<void>): Promise<boolean> {
    this.busy.value = true;
    this.problem.value = null;
    try {
      await action();
    } catch (fault) {
      this.problem.value = failureText(fault);
    }
    this.busy.value = false;
    return this.problem.value === null;
  }

  async #read(): Promise<void> {
    const now = this.view.peek();
    if (now === null) return;
    const { verdict, page } = this.#query;
    const next = await this.#callsOf(now).view({ verdict, page: String(page) });
    if (this.view.peek()?.id === now.id) this.#follow(next);
  }

  #follow(next: ImportView): void {
    this.view.value = next;
    this.#cancelPoll();
    if (next.state === "checking" || next.state === "applying") this.#poll(POLL_INTERVAL_MS);
  }

  /** A failed poll shows its error and is repeated, because the server continues its work. */
  #poll(delayMs: number): void {
    this.#cancelPoll = this.#deps.later(delayMs, async () => {
      if (!await this.#attempt(() => this.#read()) && this.view.peek() !== null) {
        this.#poll(RETRY_INTERVAL_MS);
      }
    });
  }
}

/** The text of a file; `null` if it is not UTF-8. */
async function readText(file: File): Promise<string | null> {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch (_notUtf8) {
    return null;
  }
}

const PIECE_CHARACTERS = 200_000;

/** Uploads a file in pieces and starts the check of its rows. */
async function sendFile(
  models: Models,
  file: { name: string; text: string; target: string; mayUpdate: boolean },
): Promise<ImportView> {
  const { imports } = models.api;
  const ask = models.session.whileSignedIn;
  const json = { file: file.name, ...(file.target === "" ? {} : { target: file.target }) };
  const { id } = await ask(() => take(imports.$post({ json })));
  for (let from = 0; from < file.text.length; from += PIECE_CHARACTERS) {
    const text = file.text.slice(from, from + PIECE_CHARACTERS);
    await ask(() => take(imports[":id"].text.$post({ param: escapeParams({ id }), json: { text } })));
  }
  return await createImportCalls(models, id).check({ mayUpdate: file.mayUpdate });
}

function createImportCalls({ api, session }: Models, id: string) {
  const one = api.imports[":id"];
  const param = escapeParams({ id });
  const ask = session.whileSignedIn;
  return {
    view: ({ verdict, page }: { verdict: Verdict | ""; page: string }): Promise<ImportView> =>
      ask(() => take(one.$get({ param, query: { verdict, page } }))),
    check: (json: { mayUpdate: boolean; backends?: string[] }): Promise<ImportView> =>
      ask(() => take(one.check.$post({ param, json }))),
    change: (line: number, json: { skip?: boolean; cells?: (string | null)[] }): Promise<ImportView> =>
      ask(() => take(one.rows[":line"].$put({ param: { ...param, line: String(line) }, json }))),
    apply: (): Promise<ImportView> => ask(() => take(one.apply.$post({ param, json: {} }))),
    end: () => ask(() => take(one.$delete({ param, json: {} }))),
  };
}
