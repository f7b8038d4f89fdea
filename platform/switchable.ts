// One object that stands for another, which can be replaced at run time. Its holders need not know. The members are named, so that
// the type checker finds a member that the object lacks.

interface Switchable<T extends object> {
  /** Has the named members of the object that is used now. */
  readonly facade: T;
  /** Replaces the object from the next call on. */
  use(next: T): void;
}

/** The public members of an object: a method is called, a value is read, on the object that is used at that moment. */
export type PublicMembers<T> = {
  readonly [Name in keyof T]: T[Name] extends (...given: never[]) => unknown ? "method" : "value";
};

type Method = (...given: unknown[]) => unknown;

/** Makes a facade for `first`. */
export function createSwitchable<T extends object>(first: T, members: PublicMembers<T>): Switchable<T> {
  let current = first;
  const facade = {};
  for (const [name, kind] of Object.entries(members) as [keyof T & string, "method" | "value"][]) {
    const member = kind === "value"
      ? { get: () => current[name] }
      : { value: (...given: unknown[]) => Reflect.apply(current[name] as Method, current, given) };
    Object.defineProperty(facade, name, { enumerable: true, ...member });
  }
  return {
    facade: facade as T,
    use(next) {
      current = next;
    },
  };
}
