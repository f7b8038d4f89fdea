// Waits until the code under test has no more work: no call of a tracked store is pending, and the event loop has
// turned.

import { setImmediate } from "node:timers";

/** A store answers on another thread; its answer needs a few turns to reach the code that waits for it. */
const IDLE_TURNS = 8;
/** Calls of open stores that have no answer yet. */
const pendingCalls = new Set<symbol>();

/** One turn of the event loop. Much shorter than a timer of 0 ms, which takes up to 4 ms. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** Resolves when no call of a tracked store is pending and nothing is queued. Timers do not count. */
export async function settle(): Promise<void> {
  for (let idleTurns = 0; idleTurns < IDLE_TURNS;) {
    await nextTurn();
    idleTurns = pendingCalls.size === 0 ? idleTurns + 1 : 0;
  }
}

/** The same store; {@link settle} waits for its calls. A closed store answers no call, so closing forgets them. */
export function trackCalls(kv: Deno.Kv): Deno.Kv {
  const tracker = new CallTracker();
  return new Proxy(kv, {
    get(_target, name) {
      if (name === "atomic") return () => tracker.wrap(kv.atomic(), "commit");
      if (name === "list") {
        return (...args: Parameters<Deno.Kv["list"]>) => tracker.wrap(kv.list(...args), "next");
      }
      if (name === "close") tracker.close();
      const member: unknown = Reflect.get(kv, name, kv);
      return typeof member === "function" ? tracker.tracked(member.bind(kv)) : member;
    },
  });
}

class CallTracker {
  readonly #calls = new Set<symbol>();
  #isClosed = false;

  close(): void {
    this.#isClosed = true;
    for (const call of this.#calls) pendingCalls.delete(call);
  }

  /** The function; while a promise that it returned is pending, so is its call. */
  tracked<A extends unknown[]>(method: (...args: A) => unknown): (...args: A) => unknown {
    return (...args) => {
      const result = method(...args);
      if (!(result instanceof Promise) || this.#isClosed) return result;
      const call = Symbol();
      this.#calls.add(call);
      pendingCalls.add(call);
      return result.finally(() => {
        this.#calls.delete(call);
        pendingCalls.delete(call);
      });
    };
  }

  /** The object, with one of its methods tracked. */
  wrap<T extends object>(object: T, method: keyof T): T {
    const original = object[method];
    if (typeof original !== "function") {
      throw new TypeError(`Cannot track ${String(method)}: it is no method`);
    }
    return Object.assign(object, { [method]: this.tracked(original.bind(object)) });
  }
}
