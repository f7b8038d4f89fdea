// Rows of the conformance suites: requests and the expected answers, as data.

/** One request and what its answer must be. `{name}` in texts is a variable; `{row}` is unique for each row. */
export interface Step {
  /** Method and path below the base URL: `GET /Users/{ada}`. */
  readonly send: string;
  /** Added to the path, encoded. */
  readonly query?: Readonly<Record<string, string>>;
  /** A text is sent unchanged, anything else as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Instead of the token of the suite; `null` for no credential. */
  readonly authorization?: string | null;
  readonly status: number | readonly number[];
  /** The expected `scimType` of an error. Left out: not checked. */
  readonly scimType?: string;
  /** Expected values by path in the body, with `/` between names: a JSON value or a {@link Matcher}. */
  readonly json?: Readonly<Record<string, unknown>>;
  /** Expected headers. */
  readonly header?: Readonly<Record<string, string | Matcher>>;
  /** The longest time until the answer, in milliseconds. */
  readonly maxMs?: number;
  /** Variables from the answer, by name: a path in the body, or `header:<name>`. */
  readonly save?: Readonly<Record<string, string>>;
}

/** One requirement. */
export interface SuiteRow {
  /** The section, such as `RFC 7644 §3.5.2.1`, or the name of a published test. */
  readonly ref: string;
  /** What the server must do, in our own words. */
  readonly must: string;
  readonly steps: readonly Step[];
}

/** An answer, as far as rows use it. */
export interface SuiteAnswer {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly elapsedMs: number;
  /** `undefined` if the body is empty or no JSON. */
  readonly json: unknown;
}

/** A check of one value. */
export class Matcher {
  constructor(
    readonly text: string,
    readonly isMet: (value: unknown, fill: (text: string) => string) => boolean,
  ) {}
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const PRESENT = new Matcher("a value", (value) => value !== undefined && value !== null);
/** RFC 7643 §2.5: unassigned, `null` and an empty list are the same. */
export const ABSENT = new Matcher(
  "no value",
  (value) => value === undefined || value === null || (Array.isArray(value) && value.length === 0),
);
export const NUMBER = new Matcher("a number", (value) => typeof value === "number");
export const BOOLEAN = new Matcher("a boolean", (value) => typeof value === "boolean");
export const TEXT = new Matcher(
  "a text that is not empty",
  (value) => typeof value === "string" && value !== "",
);
export const LIST = new Matcher("a list", Array.isArray);
export const FILLED_LIST = new Matcher(
  "a list that is not empty",
  (value) => Array.isArray(value) && value.length > 0,
);
/** RFC 7643 §2.3.5. */
export const DATE_TIME = new Matcher(
  "a date and time",
  (value) =>
    typeof value === "string" &&
    /^-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value) &&
    !Number.isNaN(Date.parse(value)),
);

/** Also of elements of a list: `contains(x)` on `Resources/*`. */
export function contains(wanted: unknown): Matcher {
  return new Matcher(
    `something with ${JSON.stringify(wanted)}`,
    (value, fill) => listOf(value, fill, wanted).some((one) => covers(one, fillAll(wanted, fill))),
  );
}

export function lacks(unwanted: unknown): Matcher {
  return new Matcher(
    `nothing with ${JSON.stringify(unwanted)}`,
    (value, fill) => !listOf(value, fill, unwanted).some((one) => covers(one, fillAll(unwanted, fill))),
  );
}

function listOf(value: unknown, fill: (text: string) => string, wanted: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value === "string" && typeof wanted === "string") {
    return value.includes(fill(wanted)) ? [fill(wanted)] : [];
  }
  return [value];
}

/** The same elements in any order, and no other. */
export function sameSet(...wanted: readonly unknown[]): Matcher {
  return new Matcher(`exactly ${JSON.stringify(wanted)} in any order`, (value, fill) => {
    if (!Array.isArray(value)) return wanted.length === 0 && value === undefined;
    return value.length === wanted.length &&
      wanted.every((one) => value.some((given) => covers(given, fillAll(one, fill))));
  });
}

export function size(count: number): Matcher {
  return new Matcher(
    `${count} elements`,
    (value) => (Array.isArray(value) ? value.length : value === undefined ? 0 : -1) === count,
  );
}

export function atMost(count: number): Matcher {
  return new Matcher(
    `at most ${count}`,
    (value) => (Array.isArray(value) ? value.length : Number(value)) <= count,
  );
}

export function atLeast(count: number): Matcher {
  return new Matcher(
    `at least ${count}`,
    (value) => (Array.isArray(value) ? value.length : Number(value)) >= count,
  );
}

export function oneOf(...values: readonly unknown[]): Matcher {
  return new Matcher(
    `one of ${JSON.stringify(values)}`,
    (value, fill) => values.some((one) => isEqual(value, fillAll(one, fill))),
  );
}

export function not(unwanted: unknown): Matcher {
  return new Matcher(
    `not ${JSON.stringify(unwanted)}`,
    (value, fill) => !isEqual(value, fillAll(unwanted, fill)),
  );
}

export function like(pattern: RegExp): Matcher {
  return new Matcher(`like ${pattern}`, (value) => typeof value === "string" && pattern.test(value));
}

/** Each value of a list is at least as large as the one before it, in the order of `compare`. */
export function ordered(compare: (left: string, right: string) => number): Matcher {
  return new Matcher("a list in order", (value) => {
    if (!Array.isArray(value)) return false;
    const texts = value.map(String);
    return texts.every((text, index) => index === 0 || compare(texts[index - 1] ?? "", text) <= 0);
  });
}

/** `given` has everything that `wanted` has; objects may have more. */
export function covers(given: unknown, wanted: unknown): boolean {
  if (!isObject(wanted) || !isObject(given)) return isEqual(given, wanted);
  return Object.entries(wanted).every(([name, value]) => covers(given[name], value));
}

export function isEqual(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((one, index) => isEqual(one, right[index]));
  }
  if (isObject(left) && isObject(right)) {
    const names = new Set([...Object.keys(left), ...Object.keys(right)]);
    return [...names].every((name) => isEqual(left[name], right[name]));
  }
  return left === right;
}

/** `value` with its variables filled in, also those in names and inside lists and objects. */
export function fillAll(value: unknown, fill: (text: string) => string): unknown {
  if (typeof value === "string") return fill(value);
  if (Array.isArray(value)) return value.map((one) => fillAll(one, fill));
  if (!isObject(value) || value instanceof Matcher) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fillAll(one, fill)]));
}

/** The value at a path: names with `/` between them. `*` is every element of a list. An empty path is the whole. */
export function valueAt(value: unknown, path: string): unknown {
  if (path === "") return value;
  const [first = "", ...rest] = path.split("/");
  const below = rest.join("/");
  if (Array.isArray(value)) {
    return first === "*" ? value.map((one) => valueAt(one, below)) : valueAt(value[Number(first)], below);
  }
  return isObject(value) ? valueAt(value[first], below) : undefined;
}
