// Limits for each source address of requests without Message-Authenticator: anyone can send them, from any address.

import type { Clock } from "../../platform/runtime.ts";
import type { PacketView } from "../protocol/packet.ts";
import type { Request } from "./request.ts";
import { SourceRateLimit } from "./source_rate_limit.ts";

export interface UnsignedLimits {
  /** Requests that do not prove that their sender knows the secret. Where any address is accepted, the server counts them on arrival. */
  readonly unproven: SourceRateLimit;
  /** Whether a request may begin a login now. */
  mayBegin(request: Request, view: PacketView): boolean;
  /** Whether a Reject that needs no conversation may be sent now. */
  mayReject(request: Request): boolean;
}

/** Requests that prove nothing, of one source: as many as a small site sends. */
const UNPROVEN_RATE = { burst: 100, perSecond: 50 };
/** Logins that begin with a request that proves nothing, of all sources: invented addresses must not fill the table of conversations. */
const UNPROVEN_LOGIN_RATE = { burst: 2000, perSecond: 80, maxSources: 1 };
/** Logins that begin with an unsigned request whose password is readable. */
const LOGIN_RATE = { burst: 1000, perSecond: 500 };

export function createUnsignedLimits(clock: Pick<Clock, "nowMs">): UnsignedLimits {
  const unproven = new SourceRateLimit(clock, UNPROVEN_RATE);
  const unprovenLogins = new SourceRateLimit(clock, UNPROVEN_LOGIN_RATE);
  const logins = new SourceRateLimit(clock, LOGIN_RATE);
  const wasCounted = ({ client, proven }: Request) => client.anyAddress && !proven;
  return {
    unproven,
    mayBegin(request, view) {
      if (request.signed || view.slots.state.count > 0) return true;
      if (request.proven) return logins.take(request.source);
      if (!wasCounted(request) && !unproven.take(request.source)) return false;
      return unprovenLogins.take("all sources");
    },
    mayReject: (request) => request.signed || wasCounted(request) || unproven.take(request.source),
  };
}
