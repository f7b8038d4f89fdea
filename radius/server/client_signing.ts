// Which requests of a RADIUS client must be signed, by its settings and by what `message_authenticator = "auto"` has learnt.

import type { ClientSettings } from "../../platform/config/config.ts";
import type { Learnt } from "./signing_clients.ts";

/** Which requests of a client must be signed. */
export interface ClientSigning {
  /** `learnt`: those from `addresses`; the others are accepted unsigned. */
  readonly required: "always" | "learnt" | "never";
  /** At most 100. */
  readonly addresses: readonly string[];
  readonly count: number;
  /** Whether unsigned requests of the client are accepted from some of its addresses. */
  readonly acceptsUnsigned: boolean;
}

const MAX_SHOWN_ADDRESSES = 100;

export function clientSigning(
  { name, address, messageAuthenticator: mode }: Pick<
    ClientSettings,
    "name" | "address" | "messageAuthenticator"
  >,
  learnt: Pick<Learnt, "addressesOf" | "names">,
): ClientSigning {
  if (mode === "require") return { required: "always", addresses: [], count: 0, acceptsUnsigned: false };
  if (mode === "off") return { required: "never", addresses: [], count: 0, acceptsUnsigned: true };
  const [only] = address;
  const isAlone = address.length === 1 && only !== undefined && !only.includes("/");
  const known = learnt.addressesOf(name);
  // A record of an earlier version has no address: it is of the only one.
  const addresses = known.length === 0 && isAlone && learnt.names.has(name) ? [only] : known;
  return {
    required: "learnt",
    addresses: addresses.slice(0, MAX_SHOWN_ADDRESSES),
    count: addresses.length,
    acceptsUnsigned: !(isAlone && addresses.includes(only)),
  };
}
