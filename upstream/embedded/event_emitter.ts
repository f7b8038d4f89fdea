// Callbacks by topic, for the pages and the logins that wait for the embedded services.

/** Callbacks by topic. They must not throw. */
export class EventEmitter {
  readonly #maxPerTopic: number;
  readonly #topics = new Map<string, Set<() => void>>();

  constructor({ maxPerTopic }: { maxPerTopic: number }) {
    this.#maxPerTopic = maxPerTopic;
  }

  /** Returns a function that removes the callback. If the topic has its maximum, the callback is not added. */
  on(topic: string, notify: () => void): () => void {
    const known = this.#topics.get(topic) ?? new Set();
    // One function may be added twice. A wrapper tells the registrations apart.
    const own = () => notify();
    if (known.size < this.#maxPerTopic) this.#topics.set(topic, known.add(own));
    return () => this.#remove(topic, own);
  }

  emit(topic: string): void {
    for (const notify of [...this.#topics.get(topic) ?? []]) notify();
  }

  /** Like `emit`, and removes the callbacks of the topic. */
  emitLast(topic: string): void {
    const known = this.#topics.get(topic) ?? [];
    this.#topics.delete(topic);
    for (const notify of known) notify();
  }

  #remove(topic: string, notify: () => void): void {
    const known = this.#topics.get(topic);
    known?.delete(notify);
    if (known?.size === 0) this.#topics.delete(topic);
  }
}
