// Who signs in with a relayed request. An attacker who has Alice's password must not be able to name Bob: the second factor is asked of the user
// whose password or certificate the first-factor server checked. Pure functions.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { RequestSettings } from "../../platform/client_settings.ts";
import { decodeText } from "../protocol/attributes.ts";
import {
  EAP_METHODS,
  EAP_MSCHAPV2_OPCODES,
  eapIdentity,
  eapMsChapName,
  eapMsChapOpCode,
  type EapPacket,
  isEapMethod,
  isIdentityBound,
} from "../protocol/eap.ts";
import { isRefusedUserName, stripUserName } from "../protocol/login_input.ts";
import type { RequestRefusal } from "../server/request.ts";
import type { RelayRound } from "./relay_state.ts";

type NameSettings = Pick<RequestSettings, "stripDomains" | "stripRealms">;

/** The name of a user, as typed and without the domain and realm that the client strips, and its canonical form. */
export interface BoundUser {
  readonly shown: string;
  readonly canonical: string;
}

/** The parts of a round that say who the user is. */
type Known = Pick<RelayRound, "method" | "identity" | "isMixed">;

/** What is known after a Response of the peer. `before`: the round that it answers. */
export function noteResponse(
  eap: EapPacket | null,
  before: Known,
  { userName, settings }: { readonly userName: string; readonly settings: NameSettings },
): Known {
  const identity = eap === null ? null : eapIdentity(eap);
  if (identity === null || before.identity === "different") return before;
  const isEqual = nameOf(identity, settings).canonical === canonicalName(userName);
  return { ...before, identity: isEqual ? "equal" : "different" };
}

/** What is known after a Request of the server. A change of the method is only usual after a Nak (RFC 3748 §5.3.1). */
export function noteRequest(request: EapPacket | null, response: EapPacket | null, before: Known): Known {
  if (request === null || !isEapMethod(request.type)) return before;
  const { type } = request;
  const isChanged = isEapMethod(before.method) && before.method !== type && response?.type === before.method;
  return { ...before, method: type, isMixed: before.isMixed || isChanged };
}

/** Why a Response is refused before the server sees it; `null`: it is not. */
export function refusalOfResponse(
  eap: EapPacket | null,
  known: Known,
  { userName, settings }: {
    readonly userName: string;
    readonly settings: NameSettings & Pick<RequestSettings, "eapOuterIdentity">;
  },
): RequestRefusal | null {
  if (eap === null || !isEapMethod(eap.type)) return null;
  const isUnbound = !isIdentityBound(eap.type);
  if (isUnbound && settings.eapOuterIdentity === "refuse") return "eap_outer_identity";
  // RFC 3748 §4.1. A server that checks such a password would check one that is not counted.
  if (eap.type !== known.method) return "malformed_eap";
  if (isUnbound) return null;
  if (known.identity !== "equal") return "eap_names_differ";
  if (eap.type !== EAP_METHODS["EAP-MSCHAPv2"].type) return null;
  if (eapMsChapOpCode(eap) !== EAP_MSCHAPV2_OPCODES.response) return null;
  const name = eapMsChapName(eap);
  if (name === null) return "malformed_eap";
  return nameOf(name, settings).canonical === canonicalName(userName) ? null : "eap_names_differ";
}

/** Whether a Response contains a password or its hash, and not only the end of a conversation. */
export function isNamedProof(eap: EapPacket | null): boolean {
  if (eap === null || !isIdentityBound(eap.type)) return false;
  return eap.type !== EAP_METHODS["EAP-MSCHAPv2"].type ||
    eapMsChapOpCode(eap) === EAP_MSCHAPV2_OPCODES.response;
}

/** Whether the last Response proves the name in User-Name. */
export function isBound(eap: EapPacket | null, { method, identity, isMixed }: Known): boolean {
  return eap !== null && eap.type === method && isIdentityBound(method) && identity === "equal" && !isMixed;
}

/**
 * The user whom an Access-Accept lets in, or why it is refused.
 *
 * @param accept.isBound whether the proof is of `user`, the name of the request
 * @param accept.names the User-Names of the Access-Accept
 */
export function userOfAccept(
  { isBound, user, names, settings }: {
    readonly isBound: boolean;
    readonly user: BoundUser;
    readonly names: readonly Uint8Array[];
    readonly settings: NameSettings & Pick<RequestSettings, "eapOuterIdentity">;
  },
): BoundUser | RequestRefusal {
  if (isBound || settings.eapOuterIdentity === "trust") return user;
  if (settings.eapOuterIdentity === "refuse") return "eap_outer_identity";
  const [name] = names;
  if (name === undefined || names.length > 1) return "eap_user_unnamed";
  const named = nameOf(name, settings);
  return isRefusedUserName(named.shown) ? "eap_user_unnamed" : named;
}

function nameOf(octets: Uint8Array, settings: NameSettings): BoundUser {
  const shown = stripUserName(decodeText(octets), settings);
  return { shown, canonical: canonicalName(shown) };
}
