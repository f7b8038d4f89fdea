// A packet as the input of its conversation.

import type { LoginAttempt } from "../server/request.ts";
import type { PasswordDigests } from "./peers.ts";
import type { PacketWork } from "./work_queue.ts";

export interface RunInput extends Pick<PacketWork, "state" | "hasPassword"> {
  readonly typed: PasswordDigests;
  readonly attempt: LoginAttempt;
  /** The older login that this one replaces, by its ordered id. */
  readonly replaces: string | null;
}

/** The first packet of a login, as the input of its conversation. */
export function loginInput(
  attempt: LoginAttempt,
  { typed, replaces }: { typed: PasswordDigests; replaces: string | null },
): RunInput {
  return { attempt, state: null, typed, hasPassword: attempt.password.length > 0, replaces };
}
