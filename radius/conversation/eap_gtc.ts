// EAP-GTC (RFC 3748 §5.6): the conversation of a login inside EAP. Reads what a Response of the user's device means for the login. The State of the
// password prompt is sealed, so it needs no record, and each node can read it.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Vault } from "../../platform/vault.ts";
import { decodeText } from "../protocol/attributes.ts";
import {
  decodeEap,
  EAP_CODES,
  EAP_IDENTITY,
  EAP_METHODS,
  EAP_NAK,
  eapIdentity,
  type EapPacket,
  encodeEap,
  joinEapMessages,
} from "../protocol/eap.ts";
import { stripUserName } from "../protocol/login_input.ts";
import { MAX_PASSWORD_OCTETS, type PacketView } from "../protocol/packet.ts";
import { stepByName } from "../protocol/steps.ts";
import { nextEapIdentifier, type Request, type RequestRefusal } from "../server/request.ts";
import type { Responder } from "../server/responder.ts";

/** What the user typed, or what the gateway asks for before a login begins, or why it refuses the request. */
export type PacketInput =
  /** `begins`: a login begins although the packet has a State; `trace` joins the packets before it for the packet view, "" for none. */
  | { readonly kind: "typed"; readonly octets: Uint8Array; readonly begins: boolean; readonly trace: string }
  | { readonly kind: "asked"; readonly asked: Parameters<Responder["ask"]>[1] }
  | { readonly kind: "refused"; readonly refusal: RequestRefusal };

interface EapGtcDeps {
  readonly vault: Vault;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: Random;
  readonly logins: { readonly conversationTtlMs: number };
}

const GTC = EAP_METHODS["EAP-GTC"].type;
const NO_OCTETS = new Uint8Array(0);
/** EAP-Start is not an EAP packet, so the first Identifier is free. */
const ASK_IDENTITY = encodeEap({
  code: EAP_CODES.request,
  identifier: 1,
  type: EAP_IDENTITY,
  data: NO_OCTETS,
});
const TRACE_OCTETS = 6;
/** An Identifier, a time in seconds, and the trace. */
const PROMPT_OCTETS = 5 + TRACE_OCTETS;

export class EapGtc {
  readonly #deps: EapGtcDeps;

  constructor(deps: EapGtcDeps) {
    this.#deps = deps;
  }

  /** Reads a request of a client with `eap = "gtc"`. */
  read(request: Request, view: PacketView): PacketInput {
    const joined = joinEapMessages(view.octets, view.lengthOctets);
    if (joined === null) return refused("malformed_eap");
    if (joined.length === 0) {
      return { kind: "asked", asked: { row: "identity_asked", trace: this.#newTrace(), eap: ASK_IDENTITY } };
    }
    const eap = decodeEap(joined);
    if (eap === null || eap.code !== EAP_CODES.response) return refused("malformed_eap");
    const identity = eapIdentity(eap);
    if (identity !== null) return this.#readIdentity(identity, { request, view, identifier: eap.identifier });
    if (eap.type === EAP_NAK) return refused("eap_gtc_refused");
    return this.#readTyped(eap, { request, view });
  }

  /**
   * The device must name the user whom the client names (RFC 3579 §2.1), because the second factor of that user is asked. Both names are compared as
   * typed: they can be other names of the user.
   */
  #readIdentity(identity: Uint8Array, { request, view, identifier }: Prompted): PacketInput {
    const { client: { settings }, name } = request;
    const named = canonicalName(stripUserName(decodeText(identity), settings));
    if (named !== name.canonical) return refused("eap_names_differ");
    if (view.slots.state.count > 0) return refused("eap_unasked");
    // The flow begins with the menu. EAP-Success may only follow a method (RFC 3748 §4.2).
    if (settings.firstFactor === "none") return { kind: "typed", octets: NO_OCTETS, begins: true, trace: "" };
    const trace = this.#newTrace();
    const state = this.#sealPrompt({ request, view, identifier: nextEapIdentifier(identifier) }, trace);
    return { kind: "asked", asked: { row: "password_asked", trace, state } };
  }

  #readTyped(
    { identifier, type, data }: EapPacket,
    { request, view }: Omit<Prompted, "identifier">,
  ): PacketInput {
    const state = view.value("state");
    if (type !== GTC || state === null) return refused("eap_unasked");
    // The limit of User-Password.
    if (data.length > MAX_PASSWORD_OCTETS) return refused("malformed_eap");
    const [name = ""] = decodeText(state).split(".", 1);
    if (stepByName(name) !== null) return { kind: "typed", octets: data, begins: false, trace: "" };
    const trace = this.#openPrompt(state, { request, view, identifier });
    return trace === null ? refused("eap_unasked") : { kind: "typed", octets: data, begins: true, trace };
  }

  #newTrace(): string {
    return this.#deps.random.bytes(TRACE_OCTETS).toHex();
  }

  #sealPrompt(prompted: Prompted, trace: string): Uint8Array<ArrayBuffer> {
    const plain = new DataView(new ArrayBuffer(PROMPT_OCTETS));
    plain.setUint8(0, prompted.identifier);
    plain.setUint32(1, Math.floor(this.#deps.clock.nowMs() / 1000));
    const octets = new Uint8Array(plain.buffer);
    octets.set(Uint8Array.fromHex(trace), PROMPT_OCTETS - TRACE_OCTETS);
    return this.#deps.vault.seal(promptKey(prompted), octets);
  }

  /** The trace in the State of a password prompt with this Identifier, for this client and User-Name. `null`: it is none, or has expired. */
  #openPrompt(state: Uint8Array, prompted: Prompted): string | null {
    const plain = this.#deps.vault.open(promptKey(prompted), state);
    if (plain?.length !== PROMPT_OCTETS || plain[0] !== prompted.identifier) return null;
    const askedMs = new DataView(plain.buffer, plain.byteOffset).getUint32(1) * 1000;
    const isOver = this.#deps.clock.nowMs() >= askedMs + this.#deps.logins.conversationTtlMs;
    return isOver ? null : plain.subarray(PROMPT_OCTETS - TRACE_OCTETS).toHex();
  }
}

interface Prompted {
  readonly request: Request;
  readonly view: PacketView;
  /** Of the EAP-Request with the prompt. */
  readonly identifier: number;
}

function promptKey({ request, view }: Prompted): Deno.KvKey {
  return ["eap_gtc_prompt", request.client.name, view.value("userName") ?? NO_OCTETS];
}

function refused(refusal: RequestRefusal): PacketInput {
  return { kind: "refused", refusal };
}
