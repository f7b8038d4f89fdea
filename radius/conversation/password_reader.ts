// Reveals the password of a request (RFC 2865 §5.2), and makes the digests by which a re-issued packet is recognized.

import { PrefixViews } from "../../platform/prefix_views.ts";
import type { Random } from "../../platform/runtime.ts";
import {
  AUTHENTICATOR_AT,
  MAX_PASSWORD_OCTETS,
  type PacketView,
  sixteenOctetText,
} from "../protocol/packet.ts";
import { createHmacMd5, type HmacMd5, MD5_OCTETS } from "../protocol/md5.ts";
import type { Request } from "../server/request.ts";
import { type PasswordDigests, PeerDigests, type PeerNodes } from "./peers.ts";

export class PasswordReader {
  /** The key exists as long as the process. Digests under it are never stored. */
  readonly #digestKey: HmacMd5;
  readonly #peerDigests: PeerDigests;
  /** Reused for each packet, so a value that is needed after the call is copied. */
  readonly #plain = new Uint8Array(MAX_PASSWORD_OCTETS);
  readonly #plainViews = new PrefixViews(this.#plain);
  readonly #digest = new Uint8Array(MD5_OCTETS);

  constructor({ random, peers }: { random: Random; peers: PeerNodes }) {
    this.#digestKey = createHmacMd5(random.bytes(32));
    this.#peerDigests = new PeerDigests(peers);
  }

  /**
   * The password without its padding, as a view that is valid until the next call. `null`: the hidden one has an impossible length. Empty: there
   * is none. Use {@link typedOctets} for what the user typed.
   */
  reveal({ client, octets }: Request, view: PacketView): Uint8Array | null {
    const hidden = view.value("userPassword");
    if (hidden === null) return this.#plainViews.of(0);
    const length = client.secret.revealPasswordInto(this.#plain, hidden, {
      authenticator: octets,
      at: AUTHENTICATOR_AT,
    });
    return length < 0 ? null : this.#plainViews.of(length);
  }

  /** @param context the tuple of the packet */
  digests(password: Uint8Array, context: string): PasswordDigests {
    this.#digestKey.signInto(password, 0, password.length, this.#digest, 0);
    return {
      digest: sixteenOctetText(this.#digest, 0),
      peerDigests: this.#peerDigests.of(password, context),
    };
  }
}
