// What unsigned requests may do with a login in progress. RFC 2865 §3 does not authenticate an Access-Request: anyone can send one.

import type { Step } from "../protocol/steps.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { Request } from "./request.ts";

const DEVICE: Step = "SECONDFACTOR_AWAIT_DEVICE_APPROVAL";
const PAIRING: Step = "SECONDFACTOR_AWAIT_PAIRING_APPROVAL";

/**
 * Whether an answer must change nothing, because it does not prove that its sender knows the secret: it has neither a Message-Authenticator nor a
 * password. Exception: some clients continue a push with such an empty answer (docs/radius-clients.md). It counts while the login waits for
 * a phone, from the address that began the login.
 */
export function mustChangeNothing(
  request: Request,
  { source, at }: Pick<Conversation, "source" | "at">,
): boolean {
  return !request.proven && (request.source !== source || (at !== DEVICE && at !== PAIRING));
}
