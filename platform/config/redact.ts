// Keeps the secrets of a Config out of whatever prints it: JSON and inspection show a mask. The values themselves
// stay readable by name, because the program needs them.

const SECRET_NAMES = new Set([
  "secret",
  "consumerKey",
  "consumerSecret",
  "clientSecret",
  "authToken",
  "password",
  "keyPem",
  "bindPassword",
  "token",
]);
const INSPECTORS = [Symbol.for("Deno.customInspect"), Symbol.for("nodejs.util.inspect.custom")];

/** A copy for eyes: secrets that are set become `***`, empty ones stay empty. */
export function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) =>
      SECRET_NAMES.has(name) && inner !== "" ? [name, "***"] : [name, masked(inner)]
    ),
  );
}

function toMasked(this: unknown): unknown {
  return masked(this);
}

function inspectMasked(this: unknown): string {
  return JSON.stringify(masked(this), null, 2);
}

/** Freezes `value` and everything in it, and masks the secrets of each object when it is printed. */
export function sealed<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const inner of Object.values(value)) sealed(inner);
  if (!Array.isArray(value)) {
    Object.defineProperty(value, "toJSON", { value: toMasked });
    for (const inspector of INSPECTORS) Object.defineProperty(value, inspector, { value: inspectMasked });
  }
  return Object.freeze(value);
}
