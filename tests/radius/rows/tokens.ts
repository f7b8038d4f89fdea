// Hardware tokens of a test: added to the gateway, and their codes, computed independently of the gateway's code.

import { createHmac } from "node:crypto";
import type { Store } from "../../../platform/store.ts";
import type { HardwareTokens } from "../../../radius/tokens/hardware_tokens.ts";
import type { NewToken } from "../../../radius/tokens/token.ts";
import type { InProcess } from "./in_process.ts";

export const TOKEN_SEED = new TextEncoder().encode("12345678901234567890");

const TOKEN: NewToken = {
  serial: "T-1",
  kind: "hotp",
  algorithm: "SHA1",
  digits: 6,
  periodS: 0,
  counter: 0,
  drift: 0,
  seed: TOKEN_SEED,
  manufacturer: "Vendor",
  model: "",
  validFromMs: null,
  validToMs: null,
};

/** Adds a token and assigns it, by default an HOTP token of six digits. */
export function giveToken(
  { radius: { hardwareTokens }, store }: Pick<InProcess, "radius" | "store">,
  owner: string | null,
  token: Partial<NewToken> = {},
): Promise<void> {
  return addToken({ hardwareTokens, store }, owner, token);
}

/** The same without a gateway. */
export async function addToken(
  { hardwareTokens, store }: { hardwareTokens: HardwareTokens; store: Store },
  owner: string | null,
  token: Partial<NewToken> = {},
): Promise<void> {
  const added = hardwareTokens.prepareNew([{ token: { ...TOKEN, ...token }, owner }]);
  const { ok } = await store.commit(added);
  if (!ok) throw new Error("The token exists already");
  added.done();
}

/** The code of a counter or time step (RFC 4226 §5.3). */
export function tokenCode(
  at: number,
  { seed = TOKEN_SEED, digits = 6, algorithm = "sha1" }: {
    seed?: Uint8Array;
    digits?: number;
    algorithm?: string;
  } = {},
): string {
  const counter = new DataView(new ArrayBuffer(8));
  counter.setBigUint64(0, BigInt(at));
  const digest = createHmac(algorithm, seed).update(new Uint8Array(counter.buffer)).digest();
  const offset = (digest.at(-1) ?? 0) & 0x0f;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 10 ** digits).padStart(digits, "0");
}
