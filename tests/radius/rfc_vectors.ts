// The packets of the RFCs (2865 §7, 5997 §6), and packets that no server may answer, as data.

/** One packet. `hex` has no padding unless its note mentions it. */
export interface RfcVector {
  readonly id: string;
  readonly hex: string;
  readonly secret?: string;
  readonly expect?: "accept-parse" | "discard";
  readonly user?: string;
  readonly password?: string;
  readonly state_hex?: string;
  readonly chap_password?: string;
  readonly chap_id?: number;
  readonly reply_to?: string;
  readonly response_authenticator?: "valid" | "INVALID";
  readonly message_authenticator?: "valid";
  readonly note?: string;
}

export const RFC_VECTORS: readonly RfcVector[] = JSON.parse(
  await Deno.readTextFile(new URL("../vectors/radius-rfc.json", import.meta.url)),
);

/** Finds the vector of an id. */
export function rfcVector(id: string): RfcVector {
  const found = RFC_VECTORS.find((one) => one.id === id);
  if (found === undefined) throw new Error(`There is no vector "${id}"`);
  return found;
}
