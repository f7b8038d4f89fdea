// A value of every type that Deno KV stores.

export const STORED_VALUES: Readonly<Record<string, unknown>> = {
  "undefined": undefined,
  "null": null,
  "booleans": [true, false],
  "whole numbers": [0, 1, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, Number.MAX_SAFE_INTEGER],
  "other numbers": [-0, 0.5, NaN, Infinity, -Infinity, Number.MIN_VALUE],
  "texts": ["", "a", "ä\u0000😀", "x".repeat(40), "y".repeat(5000)],
  "a text with a lone surrogate": "\ud800x",
  "bigints": [0n, -1n, 2n ** 200n, -(2n ** 63n)],
  "octets": new Uint8Array([0, 1, 255]),
  "the largest octets": new Uint8Array(65_000).fill(7),
  "octets of a larger buffer": new Uint8Array([9, 8, 7, 6]).subarray(1, 3),
  "lists": [[], [1, [2, [3]]], ["a", null, undefined]],
  // deno-lint-ignore no-sparse-arrays
  "a sparse list": [1, , 3],
  "objects": { a: 1, nested: { b: [new Uint8Array(2)], c: undefined }, "": "no name" },
  "maps": new Map<unknown, unknown>([["k", new Map([[1, new Set([2])]])], [{ a: 1 }, null]]),
  "sets": new Set([1, "a", 2n]),
  "dates": [new Date(0), new Date(-1), new Date(8.64e15)],
  "a regular expression": /a+b/giu,
  "an error": new RangeError("too far"),
  "other typed arrays": [new Float64Array([1.5, -0]), new BigInt64Array([-5n]), new Int16Array(3)],
  "an array buffer": new Uint8Array([1, 2]).buffer,
  "a counter": new Deno.KvU64(2n ** 64n - 1n),
};
