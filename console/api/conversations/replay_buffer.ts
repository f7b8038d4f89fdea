// A bounded history with ids, for streams that resume. An id is `<epoch>.<number>`: the epoch changes when numbering
// starts again, so that an id of an earlier run is never taken for one of this run.

export interface History<T> {
  add(item: T): void;
  /** The id of the newest item, or of the empty start. */
  head(): string;
  /** The id that had `back` items after it. */
  idBefore(back: number): string;
  /** What came after `id`, oldest first; `null` when that cannot be said any more. */
  after(id: string | null): T[] | null;
  /** Something was lost here: no reader can resume across this point. */
  forget(): void;
  /** Empties it and numbers from 0 in a new epoch. */
  restart(epoch: string): void;
}

/** @param limit how many items are kept. */
export function createHistory<T>(limit: number): History<T> {
  let epoch = "0";
  let head = 0;
  let floor = 0;
  let ring: T[] = [];
  return {
    add(item) {
      ring[head % limit] = item;
      head += 1;
    },
    head: () => `${epoch}.${head}`,
    idBefore: (back) => `${epoch}.${head - back}`,
    after(id) {
      const parsed = /^([0-9a-z]{1,40})\.(\d{1,15})$/.exec(id ?? "");
      const from = Number(parsed?.[2] ?? NaN);
      const oldest = Math.max(floor, head - limit);
      if (parsed?.[1] !== epoch || !(from >= oldest && from <= head)) return null;
      const items: T[] = [];
      for (let at = from; at < head; at += 1) {
        const item = ring[at % limit];
        if (item !== undefined) items.push(item);
      }
      return items;
    },
    forget() {
      floor = head;
    },
    restart(newEpoch) {
      epoch = newEpoch;
      head = 0;
      floor = 0;
      ring = [];
    },
  };
}
