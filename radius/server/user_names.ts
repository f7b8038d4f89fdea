// User-Names as text, with the names that the gateway derives from them. The last results are remembered, because the same users log in again,
// and every packet of a login has the same name.

import { canonicalName } from "../../platform/canonical_name.ts";
import type { RequestSettings } from "../../platform/config/config.ts";
import { decodeText, isUtf8 } from "../protocol/attributes.ts";
import { isRefusedUserName, stripUserName } from "../protocol/login_input.ts";
import type { PacketView } from "../protocol/packet.ts";

/** A User-Name without the domain and the realm that its client strips. */
export interface UserName {
  /** As typed. Empty if the packet has no User-Name. */
  readonly shown: string;
  readonly canonical: string;
  /** Whether an Access-Request with this name is rejected. */
  readonly isRefused: boolean;
  /** Whether the octets are UTF-8. Others are read as Windows-1252. */
  readonly isUtf8: boolean;
  /** The hexadecimal digits of a name that is a MAC address, otherwise "". */
  readonly mac: string;
  /** Whether the client's settings list the name as that of a health check. */
  readonly isHealthCheck: boolean;
}

interface RememberedName extends UserName {
  /** They decide what is stripped. */
  readonly settings: RequestSettings;
}

/** A power of two. */
const SLOTS = 8192;
/** A place of the table of names: the length, then the octets. Longer names are not remembered. */
const PLACE_OCTETS = 32;

export class UserNames {
  readonly #names: (RememberedName | undefined)[] = new Array(SLOTS).fill(undefined);
  /** The octets of the names side by side, so that a comparison reads one line of the processor's cache. */
  readonly #octets = new Uint8Array(SLOTS * PLACE_OCTETS);

  /** The User-Name of a packet. */
  read(view: PacketView, settings: RequestSettings): UserName {
    const { octets, slots: { userName: { at, count, lengthOctets } } } = view;
    const length = count === 0 ? 0 : lengthOctets;
    if (length >= PLACE_OCTETS) return nameOf(octets.subarray(at, at + length), settings);
    let hash = length;
    for (let i = 0; i < length; i++) {
      hash = Math.imul(hash ^ (octets[at + i] as number), 0x5bd1e995);
      hash ^= hash >>> 15;
    }
    const slot = hash & (SLOTS - 1);
    const place = slot * PLACE_OCTETS;
    const known = this.#names[slot];
    if (known !== undefined && known.settings === settings && this.#octets[place] === length) {
      let i = 0;
      while (i < length && this.#octets[place + 1 + i] === octets[at + i]) i++;
      if (i === length) return known;
    }
    const name = nameOf(octets.subarray(at, at + length), settings);
    this.#names[slot] = name;
    this.#octets[place] = length;
    for (let i = 0; i < length; i++) this.#octets[place + 1 + i] = octets[at + i] as number;
    return name;
  }
}

/** The hexadecimal digits of a MAC address, in lower case; "" if a text is none. */
export function macOf(text: string): string {
  const digits = text.length > MAX_MAC_CHARACTERS ? "" : text.toLowerCase().replace(/[-:. ]/g, "");
  return /^[0-9a-f]{12}$/.test(digits) ? digits : "";
}

const MAX_MAC_CHARACTERS = 17;

function nameOf(octets: Uint8Array, settings: RequestSettings): RememberedName {
  const shown = stripUserName(decodeText(octets), settings);
  const canonical = canonicalName(shown);
  return {
    shown,
    canonical,
    isRefused: isRefusedUserName(shown),
    isUtf8: isUtf8(octets),
    mac: macOf(shown),
    isHealthCheck: settings.healthCheckUsers.some((name) => canonicalName(name) === canonical),
    settings,
  };
}
