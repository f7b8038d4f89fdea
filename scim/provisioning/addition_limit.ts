// The limit of new resources in one refresh. A backend that is wrong, or hostile, must not fill the directory.

import type { RefreshReport } from "../pending_port.ts";
import type { Backend } from "../backend_port.ts";
import type { ResourceKind } from "../schema/resource.ts";
import type { TargetDirectory } from "../ports.ts";

/** This many resources may always be added. */
const ALWAYS_ADDABLE = 1000;
/** An empty directory may take this many, from a backend whose list ends. */
const MAX_FIRST = 100_000;

export class AdditionLimit {
  readonly #backend: Backend;
  readonly #kind: ResourceKind;
  readonly #percent: number;
  readonly #held: number;
  #limit: number;
  #added = 0;
  #isFirstAsked = false;
  #isReached = false;

  constructor(
    { directory, maxDropPercent }: { directory: TargetDirectory; maxDropPercent: number },
    { backend, kind }: { backend: Backend; kind: ResourceKind },
  ) {
    this.#backend = backend;
    this.#kind = kind;
    this.#percent = maxDropPercent;
    this.#held = directory.count(kind);
    const share = this.#percent >= 100 ? Number.POSITIVE_INFINITY : this.#held * this.#percent / 100;
    this.#limit = Math.max(ALWAYS_ADDABLE, share);
  }

  /** Whether a resource was refused. */
  get isReached(): boolean {
    return this.#isReached;
  }

  /** Counts one new resource. `false`: it is one too many. */
  async accepts(): Promise<boolean> {
    if (this.#isReached) return false;
    if (this.#added >= this.#limit && this.#held === 0 && !this.#isFirstAsked) {
      this.#isFirstAsked = true;
      this.#limit = Math.max(this.#limit, await this.#firstLimit());
    }
    if (this.#added >= this.#limit) this.#isReached = true;
    else this.#added++;
    return !this.#isReached;
  }

  /** The first refresh of an empty directory takes all that a backend says it has, unless that is too much. */
  async #firstLimit(): Promise<number> {
    if (this.#backend.size === undefined) return MAX_FIRST;
    const stated = await this.#backend.size(this.#kind);
    return stated.ok && stated.value !== null && stated.value <= MAX_FIRST ? stated.value : 0;
  }

  fault(): Omit<RefreshReport["faults"][number], "backend"> {
    const number = (value: number) => value.toLocaleString("en-US");
    return {
      kind: "addition_limit",
      detail:
        `The refresh would add more than ${number(this.#added)} ${this.#kind}s to ${
          number(this.#held)
        }. The limit is ${this.#percent} %, and at least ${
          number(ALWAYS_ADDABLE)
        }, so it stopped there and removed none. ` +
        "If the connector has them, raise max_drop_percent of the directory (100: no limit) and refresh again. Otherwise check the " +
        "search base at the connector.",
    };
  }
}
