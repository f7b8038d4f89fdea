// The other names by which users sign in: a typed name that the directory does not have is looked up with the filters of the backends. The results
// are remembered for a time, because each packet of a login has the same name.

import { canonicalName } from "../../platform/canonical_name.ts";
import { MINUTE_MS } from "../../platform/durations.ts";
import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import { Semaphore } from "../../platform/semaphore.ts";
import type { Backend } from "../backend_port.ts";
import { parseName } from "../schema/resource_name.ts";

/** The name of a user; `null`: the typed name finds no user; `several`: it finds more than one. */
type FoundName = { readonly name: string } | "several" | null;

interface RememberedName {
  readonly found: FoundName;
  readonly atMs: number;
}

const FOUND_MS = 5 * MINUTE_MS;
/** Shorter, so that a new user waits less. */
const NOT_FOUND_MS = MINUTE_MS / 2;
/** How long a user who was found stays known while the directory does not answer. */
const STALE_MS = 60 * MINUTE_MS;
const MAX_REMEMBERED = 10_000;
const MAX_CHARACTERS = 256;
/** Anyone can invent names, so their searches leave connections for the passwords of users. */
const SEARCHES = { concurrent: 2, waiting: 256 };
const MAX_WAIT_MS = 5000;

interface LoginNamesDeps {
  /** The backends of the login target that find typed names. Another list means that the settings changed. */
  readonly backends: () => readonly Pick<Backend, "name" | "findNames">[];
  readonly clock: Clock;
  readonly log: Log;
}

export class LoginNames {
  readonly #deps: LoginNamesDeps;
  readonly #searches: Semaphore;
  readonly #inProgress = new Map<string, Promise<void>>();
  #backends: readonly Pick<Backend, "name" | "findNames">[] = [];
  /** By the canonical form of the typed name. Directories ignore case, too. */
  #known = new Map<string, RememberedName>();

  constructor(deps: LoginNamesDeps) {
    this.#deps = deps;
    this.#searches = new Semaphore({ clock: deps.clock, limits: SEARCHES });
  }

  get isUsed(): boolean {
    return this.#deps.backends().length > 0;
  }

  /**
   * Finds the user of a typed name. `null`: {@link find} knows the result.
   *
   * The promise rejects if the directory does not answer: whom the name means is then not known, and no login may continue.
   */
  prepare(typed: string): Promise<void> | null {
    const searched = this.#current();
    if (searched.length === 0 || typed.length > MAX_CHARACTERS) return null;
    const key = canonicalName(typed);
    if (this.#isFresh(this.#known.get(key))) return null;
    const running = this.#inProgress.get(key);
    if (running !== undefined) return running;
    const search = this.#search(key, typed).finally(() => this.#inProgress.delete(key));
    this.#inProgress.set(key, search);
    return search;
  }

  /** Call it only after `prepare` returned `null` or its promise resolved. */
  find(typed: string): FoundName {
    return this.#known.get(canonicalName(typed))?.found ?? null;
  }

  #current(): readonly Pick<Backend, "name" | "findNames">[] {
    const now = this.#deps.backends();
    const isSame = now.length === this.#backends.length && now.every((one, at) => one === this.#backends[at]);
    if (!isSame) [this.#backends, this.#known] = [now, new Map()];
    return now;
  }

  #isFresh(known: RememberedName | undefined): boolean {
    if (known === undefined) return false;
    const ageMs = this.#deps.clock.nowMs() - known.atMs;
    return ageMs >= 0 &&
      ageMs < (typeof known.found === "object" && known.found !== null ? FOUND_MS : NOT_FOUND_MS);
  }

  async #search(key: string, typed: string): Promise<void> {
    const { clock } = this.#deps;
    const known = this.#known;
    const turn = await this.#searches.run(() => this.#ask(typed), clock.nowMs() + MAX_WAIT_MS);
    const result = turn.ran ? turn.value : `too many names wait (${turn.reason})`;
    if (typeof result === "string") {
      const stale = known.get(key);
      const isUsable = stale !== undefined && typeof stale.found === "object" && stale.found !== null &&
        clock.nowMs() - stale.atMs < STALE_MS;
      if (isUsable) return;
      throw new Error(`Cannot find the user of a typed name: ${result}`);
    }
    known.delete(key);
    const [oldest] = known.size >= MAX_REMEMBERED ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
    known.set(key, { found: result.found, atMs: clock.nowMs() });
  }

  /** Asks all backends. A text is the reason why the result is not known. */
  async #ask(typed: string): Promise<{ readonly found: FoundName } | string> {
    const names = new Map<string, string>();
    for (const backend of this.#current()) {
      const outcome = await backend.findNames?.(typed);
      if (outcome === undefined) continue;
      if (!outcome.ok) return `${backend.name}: ${outcome.fault.detail}`;
      if (outcome.value.length > 1) return this.#several(typed, [backend.name]);
      for (const name of outcome.value) {
        const read = parseName(name);
        const key = read.ok ? canonicalName(read.name) : "";
        if (read.ok && !names.has(key)) names.set(key, read.name);
      }
    }
    const [first, ...others] = names.values();
    if (others.length > 0) return this.#several(typed, this.#current().map(({ name }) => name));
    return { found: first === undefined ? null : { name: first } };
  }

  #several(user: string, backends: readonly string[]): { readonly found: "several" } {
    this.#deps.log.warn("a typed name finds several users, so it is refused", {
      user,
      backend: backends.join(", "),
    });
    return { found: "several" };
  }
}
