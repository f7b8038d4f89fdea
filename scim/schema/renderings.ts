// The JSON texts of a resource in memory: the next response with the same resource inserts the text instead of rendering it again.

import type { Stored } from "./resource.ts";

/** Each interface has a text of its own. */
type InterfaceName = "idm" | "v2";

interface Rendering {
  /** The values that the text depends on besides the resource. */
  readonly on: readonly unknown[];
  readonly text: string;
}

interface Renderings {
  readonly byInterface: Map<InterfaceName, Rendering>;
  readonly onGrowth: (octets: number) => void;
}

/** By the object, so that a changed copy of a resource has no text. */
const renderingsOf = new WeakMap<Stored, Renderings>();

/** The texts of `stored` are kept from now on, as long as the object lives. @param onGrowth gets the octets that a text takes, negative for a text that goes */
export function keepRenderings(stored: Stored, onGrowth: (octets: number) => void): void {
  renderingsOf.set(stored, { byInterface: new Map(), onGrowth });
}

/** The text of a resource in a response. @param on all that the text depends on besides the resource; compared one by one, objects by identity */
export function renderOnce(
  stored: Stored,
  { name, on }: { readonly name: InterfaceName; readonly on: readonly unknown[] },
  render: () => string,
): string {
  const renderings = renderingsOf.get(stored);
  if (renderings === undefined) return render();
  const { byInterface, onGrowth } = renderings;
  const known = byInterface.get(name);
  if (known !== undefined && isSame(known.on, on)) return known.text;
  const text = render();
  byInterface.set(name, { on, text });
  onGrowth(octetsOf(text) - (known === undefined ? 0 : octetsOf(known.text)));
  return text;
}

function isSame(before: readonly unknown[], now: readonly unknown[]): boolean {
  return before.length === now.length && before.every((value, at) => value === now[at]);
}

/** A character takes one octet in memory, or two if any character of the text needs two. */
function octetsOf(text: string): number {
  return WIDE.test(text) ? text.length * 2 : text.length;
}
const WIDE = /[^\0-\xff]/;
