// The verdict of the first-factor server about a relayed request, as the input of a login, and what the login stores of it.

import type { RelayedSignIn } from "../conversation/login_record.ts";
import type { FirstFactorReply } from "../ports.ts";
import type { ClearAttribute } from "../protocol/clear_attributes.ts";
import type { ReplyName } from "../protocol/packet.ts";

/** An answer of the server that is passed on. `clear` includes the State of the next round. */
export interface RelayedReply {
  readonly name: ReplyName;
  readonly clear: readonly ClearAttribute[];
  /** Joins the packets of one conversation for the packet view. */
  readonly trace: string;
}

/** What a login stores: by it, a packet finds its login, and a page says how the user signed in. */
export interface RelayedLogin extends RelayedSignIn {
  /** The keyed hash of the packet that the server accepted; "" if no other packet can be the same. */
  readonly key: string;
}

export interface RelayedVerdict extends RelayedLogin {
  /** `unavailable`: the server was not asked, because the user is locked. */
  readonly firstFactor: "right" | "wrong" | "unavailable";
  /** Whether the server compared a password of this user, so that a wrong one is a failure of the user. */
  readonly passwordChecked: boolean;
  /** Which server answered: `host:port`. */
  readonly server: string;
  /** The Access-Accept; `null` after a wrong password. */
  readonly answer: FirstFactorReply | null;
  /** The answer to a wrong password, which is passed on. */
  readonly reply: RelayedReply | null;
  readonly trace: string;
}
