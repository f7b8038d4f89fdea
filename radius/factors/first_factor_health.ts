// Whether the servers that check passwords work: one log line when one fails, with the reason, and one when it works again. Not one per login.

import type { Log } from "../../platform/log.ts";
import type { LogFields } from "../../platform/log_line.ts";
import type { Clock } from "../../platform/runtime.ts";

export class FirstFactorHealth {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #failing = new Map<
    string,
    { readonly fields: LogFields; readonly sinceMs: number; checks: number }
  >();

  constructor({ log, clock }: { log: Log; clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  /** @param server unique among the servers @param fields names the server in the log */
  failed(server: string, fields: LogFields, fault: string): void {
    const known = this.#failing.get(server);
    if (known !== undefined) return void known.checks++;
    this.#failing.set(server, { fields, sinceMs: this.#clock.nowMs(), checks: 1 });
    this.#log.error("the first factor cannot be checked", { ...fields, fault });
  }

  works(server: string): void {
    const known = this.#failing.size === 0 ? undefined : this.#failing.get(server);
    if (known === undefined) return;
    this.#failing.delete(server);
    const seconds = Math.round((this.#clock.nowMs() - known.sinceMs) / 1000);
    this.#log.info("the first factor can be checked again", {
      ...known.fields,
      seconds,
      failedChecks: known.checks,
    });
  }
}
