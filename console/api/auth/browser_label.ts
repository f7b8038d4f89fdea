// The browser and device of a request, as a short label for the audit log: "Firefox on Windows".

import type { Context } from "hono";
import { proposedName } from "../../device/proposed_name.ts";

/** A longer header names no browser. */
const MAX_AGENT_CHARACTERS = 512;

/** @returns "" for a program that names no known browser. */
export function browserLabel(c: Pick<Context, "req">): string {
  return proposedName({ userAgent: (c.req.header("user-agent") ?? "").slice(0, MAX_AGENT_CHARACTERS) });
}
