// Layouts of the store: each key with its variable parts replaced by their kinds, and the fields of its values.

/** The names that a scenario uses, by their kind. */
export type ScenarioNames = Readonly<Record<string, readonly string[]>>;

/** The kind of a name. */
export type NameKinds = ReadonlyMap<string, string>;

/** A key with its variable parts replaced by their kinds. */
export function keyPattern([root, ...parts]: Deno.KvKey, kinds: NameKinds): string {
  const shown = parts.map((part, at) => {
    // The words of the search index come from names and texts of the resources.
    if (root === "word" && at === 2) return "<word>";
    if (root === "audit_names" && /^\d+$/.test(String(part))) return "<number>";
    // The value index has the values of resources.
    const isOfValues = root === "value" || (root === "fence" && String(parts[1]).endsWith(" values"));
    if (isOfValues && at === 3) return "<value>";
    return typeof part === "string" ? textPattern(part, kinds) : `<${typeof part}>`;
  });
  return [String(root), ...shown].join(" / ");
}

/** The first pattern that matches counts. `$1`: a part that has a kind of its own. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, "<uuid>"],
  [/^[0-9a-f]{64}$/, "<64 hex digits>"],
  [/^[0-9a-f]{32}$/, "<32 hex digits>"],
  [/^[0-9a-f]{16}$/, "<16 hex digits>"],
  [/^[0-9a-f]{8}$/, "<8 hex digits>"],
  [/^000[0-9a-z]{8}(.+)$/, "<time>$1"],
  [/^0[0-9a-z]{10}[0-9a-f]{6,8}$/, "<ordered id>"],
  [/^[0-9a-z]{10}-[0-9a-f]{8}$/, "<set id>"],
  [/^(?:sms|voice|totp)-([0-9a-f]{16})$/, "<factor>-$1"],
  [/^(?:sm|ca)([0-9a-f]{32})$/, "<message>$1"],
  [/^\d{16}$/, "<16 digits>"],
  [/^\d{5}$/, "<day>"],
  [/^\+\d{8,15}$/, "<phone number>"],
  [/^\d+\.\d+\.\d+\.\d+$/, "<address>"],
  [/^[\w-]{22}$/, "<22 base64url characters>"],
  [/^[\w-]{16}$/, "<16 base64url characters>"],
];

function textPattern(text: string, kinds: NameKinds): string {
  const kind = kinds.get(text);
  if (kind !== undefined) return `<${kind}>`;
  for (const [pattern, name] of PATTERNS) {
    const match = pattern.exec(text);
    if (match !== null) return name.replace("$1", () => textPattern(match[1] ?? "", kinds));
  }
  const [, scope, separator, name] = /^(\w+)([:/ ])(.+)$/.exec(text) ?? [];
  if (scope === undefined || name === undefined) return text;
  return `${textPattern(scope, kinds)}${separator}${textPattern(name, kinds)}`;
}

/** The kind of each name. */
export function nameKinds(names: ScenarioNames): NameKinds {
  return new Map(Object.entries(names).flatMap(([kind, all]) => all.map((name) => [name, kind])));
}

/** Collects the keys and values of a store; `render()` has one line for each layout. */
export class LayoutCollector {
  readonly #layouts = new Map<string, Set<string>>();
  readonly #kinds: NameKinds;

  constructor(names: ScenarioNames = {}) {
    this.#kinds = nameKinds(names);
  }

  add({ key, value }: { key: Deno.KvKey; value: unknown }): void {
    const pattern = keyPattern(key, this.#kinds);
    const fields = this.#layouts.get(pattern) ?? new Set();
    for (const field of key[0] === "audit_names" ? ["(ids by name)"] : fieldsOf(value)) fields.add(field);
    this.#layouts.set(pattern, fields);
  }

  render(): string {
    const lines = [...this.#layouts].map(([pattern, fields]) =>
      `${pattern} = ${[...fields].sort().join(", ")}`
    );
    return `${lines.sort().join("\n")}\n`;
  }
}

/** The names of the fields of an object, or the type of any other value. */
function fieldsOf(value: unknown): string[] {
  if (value instanceof Uint8Array) return ["(bytes)"];
  if (Array.isArray(value)) return ["(list)"];
  if (typeof value !== "object" || value === null) return [`(${typeof value})`];
  return Object.keys(value);
}
