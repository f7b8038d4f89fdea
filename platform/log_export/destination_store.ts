// The destinations of the log export in the store, each with its position.

import { SealedRows, type SealedRowsDeps } from "../sealed_rows.ts";
import {
  cursorKey,
  DESTINATION_ROWS,
  type DestinationCursor,
  type DestinationSecrets,
} from "./destination.ts";
import type { DestinationSettings, RecordKind } from "./destination_choices.ts";
import { type NodeMark, positionAt } from "./export_position.ts";

export interface DestinationStoreDeps extends SealedRowsDeps {
  readonly marks: () => readonly NodeMark[];
}

export class DestinationStore extends SealedRows<DestinationSettings, DestinationSecrets> {
  readonly #deps: DestinationStoreDeps;

  constructor(deps: DestinationStoreDeps) {
    super(deps, DESTINATION_ROWS);
    this.#deps = deps;
  }

  /** Whether any destination wants records of a kind. */
  wants(kind: RecordKind): boolean {
    return this.all.values().some(({ settings }) => settings.records.includes(kind));
  }

  async cursorOf(name: string): Promise<DestinationCursor | null> {
    return (await this.#deps.store.get<DestinationCursor>(cursorKey(name))).value;
  }

  /** The position of a new destination that receives the records from `fromMs` on; part of its commit. */
  firstPosition(name: string, fromMs: number): { type: "set"; key: Deno.KvKey; value: DestinationCursor } {
    const { clock, marks } = this.#deps;
    const position = positionAt(Math.min(fromMs, clock.nowMs()), marks());
    const value: DestinationCursor = {
      ...{ position, sent: 0, skipped: 0, lastSentMs: null, problem: null },
      backlog: { count: 0, position, oldestMs: null },
    };
    return { type: "set", key: cursorKey(name), value };
  }

  /** Removes a position that a delivery wrote while its destination was removed. */
  async removeCursor(name: string): Promise<void> {
    await this.#deps.store.commit({
      checks: [{ key: [...DESTINATION_ROWS.prefix, name], versionstamp: null }],
      mutations: [{ type: "delete", key: cursorKey(name) }],
    });
  }
}
