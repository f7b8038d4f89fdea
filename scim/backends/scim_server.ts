// A target's users and groups on another SCIM 2.0 server (RFC 7644).

import type { ScimBackendSettings } from "../../config.ts";
import type { Log } from "../../log.ts";
import type { Clock, Random } from "../../runtime.ts";
import type { Backend, Mapping } from "../ports.ts";

export interface ScimBackendDeps {
  readonly settings: ScimBackendSettings;
  readonly mapping: Mapping;
  /** Opens no connection that is kept. */
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Asks nobody before it is asked for something. */
export function createScimBackend(deps: ScimBackendDeps): Backend {
  throw new Error(`Cannot open the backend "${deps.settings.name}": not built yet`);
}
