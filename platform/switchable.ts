// One object that stands for another, which can be replaced at run time. Its holders need not know.

export interface Switchable<T extends object> {
  /** Has the properties and methods of the object that is used now. */
  readonly facade: T;
  /** Replaces the object from the next call on. */
  use(next: T): void;
}

/** Makes a facade for `first`. Methods are called on the real object, so it may have private members. */
export function createSwitchable<T extends object>(first: T): Switchable<T> {
  let current = first;
  let bound = new Map<PropertyKey, unknown>();
  const facade = new Proxy(first, {
    get(_first, name) {
      const known = bound.get(name);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(current, name, current);
      if (typeof value !== "function") return value;
      const method: unknown = value.bind(current);
      bound.set(name, method);
      return method;
    },
    set: (_first, name, value) => Reflect.set(current, name, value, current),
    has: (_first, name) => Reflect.has(current, name),
  });
  return {
    facade,
    use(next) {
      current = next;
      bound = new Map();
    },
  };
}
