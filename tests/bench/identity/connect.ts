// Creates a connection in a seeded data directory, and prints its token: connect.ts <data directory>.

import { openIdentity } from "./open_identity.ts";

export interface BenchConnection {
  readonly token: string;
}

const NAME = "bench";
/** Far above what one node answers. */
const REQUESTS_PER_MINUTE = 600_000;

if (import.meta.main) {
  const [dataDir = ""] = Deno.args;
  await using opened = await openIdentity(dataDir);
  const { identity } = opened;
  const created = await identity.connections.administration.create({
    name: NAME,
    kind: "other",
    target: identity.logins.name,
    // The people were seeded without it.
    adoption: "automatic",
    requestsPerMinute: REQUESTS_PER_MINUTE,
    secret: { kind: "token", lifeMs: null },
  }, { name: "command", source: "" });
  if (!created.ok || created.secret === null) {
    throw new Error(`Cannot create the connection: ${created.ok ? "no token" : created.reason}`);
  }
  const connection: BenchConnection = { token: created.secret.text };
  console.log(JSON.stringify(connection));
}
