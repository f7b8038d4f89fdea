// The log lines of a request: who sent it, and its attributes by name.

import type { Log } from "../../log.ts";
import { describeAttributes } from "../pure/attributes.ts";
import { senderOf } from "./answers.ts";
import type { Request } from "./request.ts";

/** Writes the lines of a request that passed the gate. */
export function logRequest(log: Log, request: Request): void {
  const { client, octets } = request;
  if (client.anyAddress) {
    log.warn(
      "any client address is accepted: configure [[radius.client]] to take only known ones",
      senderOf(request),
    );
  }
  if (!log.enabled("info")) return;
  const { shown, unknown } = describeAttributes(octets, octets.length);
  log.info("Access-Request", { ...senderOf(request), id: octets[1], attributes: shown });
  for (const type of unknown) log.info(`attribute ${type} is unknown, skipped`, senderOf(request));
}
