// Cursors (RFC 9865 §2): the place in the order where a page begins or ends. They are sealed, so a client cannot read or make one.

import { createHash } from "node:crypto";
import type { Clock } from "../../../platform/runtime.ts";
import type { Vault } from "../../../platform/vault.ts";

/** A place in an order. It stays valid when resources are created, changed or deleted. */
export interface CursorPlace {
  /** The key of the last resource before the page, or of the first one after it. */
  readonly key: string;
  readonly side: "after" | "before";
}

/** What a cursor belongs to. */
interface CursorScope {
  readonly target: string;
  /** A text that differs if the query differs. */
  readonly query: string;
}

type OpenCursorOutcome =
  | { readonly ok: true; readonly place: CursorPlace }
  | { readonly ok: false; readonly problem: "invalidCursor" | "expiredCursor"; readonly detail: string };

/** In seconds. `/ServiceProviderConfig` has it as `cursorTimeout` (RFC 9865 §4). */
export const CURSOR_TIMEOUT_SECONDS = 3600;
const MAX_CURSOR_CHARACTERS = 8000;
const URL_SAFE = { alphabet: "base64url", omitPadding: true } as const;

export interface QueryCursorDeps {
  readonly vault: Pick<Vault, "seal" | "open">;
  readonly clock: Pick<Clock, "nowMs">;
}

export class QueryCursors {
  readonly #deps: QueryCursorDeps;
  readonly #scope: CursorScope;

  constructor(deps: QueryCursorDeps, scope: CursorScope) {
    this.#deps = deps;
    this.#scope = scope;
  }

  seal({ key, side }: CursorPlace): string {
    const plain = JSON.stringify([this.#deps.clock.nowMs(), side, key]);
    return this.#deps.vault.seal(this.#recordKey(), new TextEncoder().encode(plain)).toBase64(URL_SAFE);
  }

  open(cursor: string): OpenCursorOutcome {
    const sealed = cursor.length <= MAX_CURSOR_CHARACTERS ? decode(cursor) : null;
    const plain = sealed === null ? null : this.#deps.vault.open(this.#recordKey(), sealed);
    if (plain === null) {
      return {
        ok: false,
        problem: "invalidCursor",
        detail:
          "The cursor does not belong to this query. Send the same filter and order, or start with the first page.",
      };
    }
    const [sealedMs, side, key]: [number, CursorPlace["side"], string] = JSON.parse(
      new TextDecoder().decode(plain),
    );
    if (sealedMs + CURSOR_TIMEOUT_SECONDS * 1000 < this.#deps.clock.nowMs()) {
      return {
        ok: false,
        problem: "expiredCursor",
        detail: "The cursor has expired. Start with the first page.",
      };
    }
    return { ok: true, place: { key, side } };
  }

  /** Most queries have no cursor, so the digest is made only here. */
  #recordKey(): Deno.KvKey {
    const { target, query } = this.#scope;
    return ["scim_cursor", target, createHash("sha256").update(query).digest("hex")];
  }
}

function decode(text: string): Uint8Array | null {
  try {
    return Uint8Array.fromBase64(text, { alphabet: "base64url" });
  } catch (fault) {
    if (fault instanceof SyntaxError) return null;
    throw fault;
  }
}
