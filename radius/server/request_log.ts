// The log lines of a request: who sent it, and its attributes by name. In a flood they become counts.

import type { Log } from "../../platform/log.ts";
import { describeAttributes } from "../protocol/attributes.ts";
import { senderOf } from "./responder.ts";
import type { FoldedLog } from "./folded_log.ts";
import type { Request } from "./request.ts";

const ANY_ADDRESS = "any client address is accepted: configure [[radius.client]] to take only known ones";

/** Writes the lines of a request that passed the gate. */
export function logRequest({ log, folded }: { log: Log; folded: FoldedLog }, request: Request): void {
  const { client, octets, signed } = request;
  if (client.anyAddress) {
    folded.write("any_address", { level: "warn", message: ANY_ADDRESS, fields: senderOf(request) });
  }
  if (!log.enabled("info")) return;
  const { shown, unknown } = describeAttributes(octets, octets.length);
  const fields = { ...senderOf(request), id: octets[1], attributes: shown };
  // A signed request comes from a client, and each has its line.
  if (signed) log.info("Access-Request", fields);
  else folded.write("unsigned_request", { level: "info", message: "Access-Request", fields });
  for (const type of unknown) {
    const message = `attribute ${type} is unknown, skipped`;
    folded.write("unknown_attribute", { level: "info", message, fields: senderOf(request) });
  }
}
