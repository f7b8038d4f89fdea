// The target whose users log in. It follows the setting radius.directory, but changes only when the gateway has loaded what it stores for
// the new target.

import type { ResourceChange, Target, Targets } from "./ports.ts";

type Observer = (change: ResourceChange) => void;

export class LoginTarget {
  /** Its properties are those of the target that is used now. */
  readonly target: Pick<Target, "name" | "directory">;
  readonly #observers: Observer[] = [];
  #name: string;
  #targets: Pick<Targets, "get"> | null = null;

  constructor(name: string) {
    this.#name = name;
    const current = (): Target => this.#current;
    this.target = {
      get name() {
        return current().name;
      },
      get directory() {
        return current().directory;
      },
    };
  }

  get name(): string {
    return this.#name;
  }

  /** @throws Error if the login target is not among the targets */
  use(targets: Pick<Targets, "get">): void {
    this.#targets = targets;
    void this.#current;
  }

  /** Users log in from this target from now on. */
  change(name: string): void {
    this.#name = name;
  }

  observe(observer: Observer): void {
    this.#observers.push(observer);
  }

  notify(target: string, change: ResourceChange): void {
    if (target !== this.#name) return;
    for (const observer of this.#observers) observer(change);
  }

  get #current(): Target {
    const target = this.#targets?.get(this.#name) ?? null;
    if (target === null) throw new Error(`Cannot find the target "${this.#name}"`);
    return target;
  }
}
