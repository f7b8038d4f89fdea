// Reads of single keys: those of one turn of the event loop share calls to Deno KV.

/** Deno KV reads at most ten keys at once. */
const MAX_KEYS = 10;

interface PendingRead {
  readonly key: Deno.KvKey;
  readonly resolve: (entry: Deno.KvEntryMaybe<unknown>) => void;
  readonly reject: (fault: unknown) => void;
}

/** Reads keys. What is asked for in the same turn goes out ten at a time: a call costs several times as much as a key. */
export function createReads(kv: Deno.Kv): (key: Deno.KvKey) => Promise<Deno.KvEntryMaybe<unknown>> {
  let asked: PendingRead[] = [];

  const readAlone = ({ key, resolve, reject }: PendingRead): void => void kv.get(key).then(resolve, reject);
  const readTogether = async (readings: readonly PendingRead[]): Promise<void> => {
    try {
      const entries = await kv.getMany<unknown[]>(readings.map(({ key }) => key));
      for (const [at, { resolve, reject }] of readings.entries()) {
        const entry = entries[at];
        if (entry === undefined) reject(new Error("Cannot read the store: it left out a key"));
        else resolve(entry);
      }
    } catch (_oneOfThem) {
      // One bad key must not fail its neighbours.
      readings.forEach(readAlone);
    }
  };
  const readAll = (): void => {
    const readings = asked;
    asked = [];
    for (let at = 0; at < readings.length; at += MAX_KEYS) {
      const [first, ...others] = readings.slice(at, at + MAX_KEYS);
      if (first === undefined) return;
      if (others.length === 0) readAlone(first);
      else void readTogether([first, ...others]);
    }
  };

  return (key) =>
    new Promise((resolve, reject) => {
      asked.push({ key, resolve, reject });
      if (asked.length === 1) queueMicrotask(readAll);
    });
}
