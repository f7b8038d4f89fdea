// Who wants to be told about what: callbacks by topic, with a cap per topic.

/** Callbacks by topic. They must not throw. */
export interface Listeners {
  /** Returns what stops it. Beyond the cap of a topic the callback is not taken. */
  add(topic: string, notify: () => void): () => void;
  notify(topic: string): void;
  /** Like `notify`, and removes all listeners afterwards. */
  notifyLast(topic: string): void;
}

export function createListeners({ perTopic }: { perTopic: number }): Listeners {
  const topics = new Map<string, Set<() => void>>();
  const remove = (topic: string, notify: () => void): void => {
    const known = topics.get(topic);
    known?.delete(notify);
    if (known?.size === 0) topics.delete(topic);
  };
  return {
    add(topic, notify) {
      const known = topics.get(topic) ?? new Set();
      // One function may listen twice; each registration stands for itself.
      const own = () => notify();
      if (known.size < perTopic) topics.set(topic, known.add(own));
      return () => remove(topic, own);
    },
    notify(topic) {
      for (const notify of [...topics.get(topic) ?? []]) notify();
    },
    notifyLast(topic) {
      const known = topics.get(topic) ?? [];
      topics.delete(topic);
      for (const notify of known) notify();
    },
  };
}
